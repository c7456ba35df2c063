package nb

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/viz"
)

// Table shows rows under a header. Floating-point numbers are rounded to four significant
// digits; other values are formatted as by fmt.Print. Columns of numbers are
// right-aligned. A row may be shorter than the header but not longer.
func Table(header []string, rows ...[]any) {
	cells := make([][]string, len(rows))
	right := make([]bool, len(header))
	for j := range right {
		right[j] = len(rows) > 0
	}
	for i, row := range rows {
		if len(row) > len(header) {
			panic(fmt.Sprintf("nb: row %d of a table has %d cells: want at most %d, the number of headings", i, len(row), len(header)))
		}
		cells[i] = make([]string, len(header))
		for j, v := range row {
			var numeric bool
			cells[i][j], numeric = format(v)
			right[j] = right[j] && (numeric || cells[i][j] == "")
		}
	}
	display(bundle{
		protocol.MIMETextHTML: viz.HTMLTable(header, cells, func(_, j int) string {
			if right[j] {
				return `style="text-align:right"`
			}
			return `style="text-align:left"` // JupyterLab aligns cells right
		}),
		protocol.MIMETextPlain: strings.TrimSuffix(text.Table(append([][]string{header}, cells...), func(j int) bool { return !right[j] }), "\n"),
	})
}

func format(v any) (s string, numeric bool) {
	if v == nil {
		return "", false
	}
	_, named := v.(fmt.Stringer)
	r := reflect.ValueOf(v)
	if r.CanFloat() && !named {
		return number(r.Float()), true
	}
	return fmt.Sprint(v), (r.CanInt() || r.CanUint()) && !named
}

// number has four significant digits.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'g', 4, 64)
	if i := strings.IndexByte(s, 'e'); i >= 0 {
		e, _ := strconv.Atoi(s[i+1:])
		if 0 <= e && e < 7 {
			return strconv.FormatFloat(x, 'f', 0, 64)
		}
		s = s[:i] + "·10" + superscript.Replace(strconv.Itoa(e))
	}
	return strings.Replace(s, "-", "−", 1)
}

var superscript = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
	"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
