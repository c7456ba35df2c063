// Package page writes text, figures and tables for the HTML pages of the commands under
// reproduce.
package page

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/viz"
)

// Style is the style sheet of the HTML pages written by the commands in the folder
// `reproduce`.
const Style = `:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1120px; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #8886; }
p { max-width: 50rem; } figure { margin: 1.5rem 0; } figcaption { opacity: .8; max-width: 50rem; }
.scroll { overflow: auto; }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; }
th, td { padding: .2rem .45rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8884; }
th { border-bottom: 2px solid #888; position: sticky; top: 0; background: Canvas; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.good { color: light-dark(#00704f, #3fcf9f); } .bad { color: light-dark(#b34700, #ff8a3d); }
`

// A Page is an HTML page that is written from top to bottom. Err is the first error.
type Page struct {
	strings.Builder
	Err error
}

// Text writes a paragraph of HTML.
func (p *Page) Text(format string, args ...any) { fmt.Fprintf(p, "<p>"+format+"</p>\n", args...) }

// Figure writes a figure with its caption.
func (p *Page) Figure(g viz.Graphic, caption string) {
	h, err := viz.HTML(g)
	if p.Err == nil {
		p.Err = err
	}
	fmt.Fprintf(p, "<figure>\n%s<figcaption>%s</figcaption></figure>\n", h, html.EscapeString(caption))
}

// Table writes a table inside a div with the given attributes. Numbers are aligned right.
// A number in a cell is marked as good if the cell begins with +, and as bad if the cell
// begins with !.
func (p *Page) Table(attributes string, header []string, rows [][]string) {
	marks := map[byte]string{'+': "good", '!': "bad"}
	shown := make([][]string, len(rows))
	for i, row := range rows {
		shown[i] = slices.Clone(row)
		for j, c := range row {
			if c != "" && marks[c[0]] != "" {
				shown[i][j] = c[1:]
			}
		}
	}
	fmt.Fprintf(p, "<div %s>%s</div>\n", attributes, viz.HTMLTable(header, shown, func(i, j int) string {
		if i < 0 || rows[i][j] == "" {
			return ""
		}
		c := rows[i][j]
		if mark := marks[c[0]]; mark != "" {
			return fmt.Sprintf(`class="n %s"`, mark)
		}
		if strings.ContainsRune("0123456789-–", []rune(c)[0]) || c == "NaN" {
			return `class="n"`
		}
		return ""
	}))
}
