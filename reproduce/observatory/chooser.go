package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"math"

	"github.com/probode/probode/pkg/viz/plots"
	"github.com/probode/probode/reproduce/internal/page"
)

// The interactive part of the page: a form, and a script that ranks methods and draws
// diagrams for problems like the reader's. Script and data are in the page.

//go:embed chooser.js
var chooserScript string

// summary returns a cell for each method, problem and size, with the verdicts on the
// recommended rule and on the rule of the paper.
func summary(rows []row) plots.Observatory {
	var out plots.Observatory
	at := map[[3]string]int{}
	for i := range rows {
		r := &rows[i]
		key := [3]string{r.problem, r.method, r.size}
		if r.rule == "none" {
			at[key] = len(out)
			c := plots.Cell{Problem: r.problem, Kind: r.kind, Dimension: r.dimension, Method: r.method, Size: r.size,
				Evaluations: r.evaluations, Jacobians: r.jacobians, Seconds: r.seconds, Error: r.error, Status: r.status, Alpha: math.NaN()}
			if r.status != "ok" { // an error that is not finite
				c.Seconds, c.Error = math.NaN(), math.NaN()
			}
			c.Spread, c.Paper = r.spread(), r.spread()
			out = append(out, c)
			continue
		}
		k, ok := at[key]
		if !ok {
			continue
		}
		switch c := &out[k]; r.rule {
		case recommended:
			c.Alpha, c.Spread, c.Status = r.alpha, r.spread(), r.status
		case asInPaper:
			c.Paper = r.spread()
		}
	}
	return out
}

// asInPaper is the rule of the paper with the noise of the paper.
const asInPaper = "paper"

// spread returns the verdict of a row, NaN if there is none.
func (r *row) spread() plots.Spread {
	if r.judged() {
		return plots.Spread{MeanSquare: r.meanSquare, Within: r.within, Coverage: r.inside}
	}
	nan := math.NaN()
	return plots.Spread{MeanSquare: nan, Within: [2]float64{nan, nan}, Coverage: [4]float64{nan, nan, nan, nan}}
}

// chooser writes the form, the elements that the script fills, and the script with its data.
func (o *observatory) chooser(p *page.Page, rows []row, answers []answer) error {
	cells := summary(rows)
	type table = map[string]any
	number := func(v float64) any {
		if math.IsNaN(v) {
			return nil
		}
		return min(v, 1e9) // a stated sd of zero makes a mean square infinite
	}
	data := struct {
		Methods []string  `json:"methods"`
		Levels  []float64 `json:"levels"`
		Cells   []table   `json:"cells"`
		Answers []table   `json:"answers"`
	}{cells.Methods(), levels, []table{}, []table{}}
	for _, c := range cells {
		t := table{"problem": c.Problem, "kind": c.Kind, "dimension": c.Dimension, "method": c.Method, "size": c.Size,
			"evaluations": c.Evaluations, "jacobians": c.Jacobians, "seconds": number(c.Seconds), "error": number(c.Error), "alpha": number(c.Alpha),
			"within_2sd": number(c.Spread.Within[1])}
		for name, s := range map[string]plots.Spread{"": c.Spread, "paper_": c.Paper} {
			t[name+"mean_square"] = number(s.MeanSquare)
			for k, l := range levels {
				t[fmt.Sprintf("%scoverage_%.0f", name, 100*l)] = number(s.Coverage[k])
			}
		}
		data.Cells = append(data.Cells, t)
	}
	for _, a := range answers {
		data.Answers = append(data.Answers, table{"posterior": a.question, "remedy": a.remedy, "status": a.status, "step": a.step, "bias": number(a.bias), "bias_se": number(a.biasSE),
			"least": number(a.narrowest), "most": number(a.widest), "khat": number(a.khat), "rhat": number(a.rhat), "seconds": number(a.seconds), "work": number(a.work)})
	}
	text, err := json.Marshal(data) // with < and > escaped
	if err != nil {
		return err
	}
	p.WriteString("<h2>What should I use for a problem like mine?</h2>\n<form id=\"ask\">\n")
	choice := func(label, name string, options ...string) { // value, text in turn
		fmt.Fprintf(p, "<label>%s <select name=%q>", label, name)
		for i := 0; i < len(options); i += 2 {
			fmt.Fprintf(p, "<option value=%q>%s</option>", options[i], html.EscapeString(options[i+1]))
		}
		p.WriteString("</select></label>\n")
	}
	list := []string{"", "any", "not stiff", "not stiff, any of"}
	for _, k := range kinds {
		list = append(list, k, k)
	}
	choice("My problem is", "kind", list...)
	choice("with a state of dimension", "dimension", "1-1000000", "any", "1-3", "1 to 3", "4-7", "4 to 7", "8-1000000", "8 and more")
	choice("I want", "want", "path", "a path", "spread", "a path with its spread", "posterior", "a posterior")
	choice("to a relative error of", "error", "0.01", "0.01", "0.1", "0.1", "0.001", "0.001", "0.0001", "10⁻⁴", "0.000001", "10⁻⁶")
	choice("and count", "cost", "time", "time", "evaluations", "evaluations")
	p.WriteString(`</form>
<p id="answer" aria-live="polite">The answer needs JavaScript; the tables below do not.</p>
<div id="ranking" class="scroll"></div>
<p class="small">The methods are sorted by cost, relative to the cheapest method on the same problem, as a geometric mean. A method that does not reach the error with any step that was tried counts as 30 times the cheapest. For a spread, methods whose calibrated spread is within a factor of 3 in 80 % of the cells come first.</p>
<p class="small" id="matching"></p>
<h3>What accuracy costs on them</h3>
<p class="small">The error is that of the classical solution: root mean square over times and components, relative to the size of each component. Point at a mark to see its numbers; click a name to hide its method. Each Jacobian stands for one factorisation of an implicit step; Radau IIA needs a real and a complex one.</p>
<div id="methods" class="legend"></div>
<div id="work" class="panels"></div>
<h3>How honest the calibrated spread is on them</h3>
<div id="rules" class="legend"></div>
<div id="honest" class="panels"></div>
<div id="tip" role="status"></div>
`)
	fmt.Fprintf(p, "<script type=\"application/json\" id=\"data\">%s</script>\n", text)
	return nil
}
