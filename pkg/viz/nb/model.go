package nb

import (
	"fmt"
	"math"
	"slices"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	modelfile "github.com/probode/probode/pkg/probode/model"
)

// showModel lets JupyterLab typeset the equations.
func showModel(p *modelfile.File) {
	for _, m := range p.Models {
		tex := m.LaTeX()
		display(bundle{"text/latex": "$$" + tex + "$$", protocol.MIMETextPlain: tex})
	}
	var rows [][]any
	for _, q := range p.Params {
		row := []any{q.ID, q.Nominal, "known", "", ""}
		if q.Estimate {
			row[2] = string(q.Scale)
			row[3] = fmt.Sprintf("%.4g to %.4g", q.Lower, q.Upper)
			if q.Prior.Type != "" {
				row[4] = fmt.Sprintf("%s(%.4g, %.4g)", q.Prior.Type, q.Prior.A, q.Prior.B)
			}
		}
		rows = append(rows, row)
	}
	Table([]string{"parameter", "nominal", "estimated on scale", "bounds", "prior"}, rows...)
	rows = nil
	type key struct{ model, pre, condition, observable string }
	at := map[key]int{}
	var points []int
	for _, m := range p.Models {
		for _, d := range m.Data {
			k := key{m.Name, d.Preequilibration, d.Condition, d.Observable}
			i, ok := at[k]
			if !ok {
				condition := d.Condition
				if d.Preequilibration != "" {
					condition += " after " + d.Preequilibration
				}
				i = len(rows)
				at[k] = i
				rows, points = append(rows, []any{condition, d.Observable, 0, d.Time, d.Time}), append(points, 0)
			}
			points[i]++
			rows[i][2] = points[i]
			rows[i][3], rows[i][4] = math.Min(rows[i][3].(float64), d.Time), math.Max(rows[i][4].(float64), d.Time)
		}
	}
	if len(rows) > 0 {
		const most = 20
		more := len(rows) - most
		rows = slices.Clip(rows[:min(len(rows), most)])
		if more > 0 {
			rows = append(rows, []any{fmt.Sprintf("and %d more", more)})
		}
		Table([]string{"condition", "observable", "points", "from time", "to"}, rows...)
	}
}
