package viz

import (
	"fmt"
	"html"
	"strings"
)

// HTMLTable returns a table as HTML. The function `attribute` returns the HTML attribute
// of a cell, such as class="n", or "" if the cell has none. The header is row −1. The
// cells are text.
func HTMLTable(header []string, rows [][]string, attribute func(row, column int) string) string {
	var b strings.Builder
	line := func(tag string, i int, cells []string) {
		b.WriteString("<tr>")
		for j, text := range cells {
			a := attribute(i, j)
			if a != "" {
				a = " " + a
			}
			fmt.Fprintf(&b, "<%s%s>%s</%[1]s>", tag, a, html.EscapeString(text))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("<table>\n<thead>")
	line("th", -1, header)
	b.WriteString("</thead>\n<tbody>\n")
	for i, row := range rows {
		line("td", i, row)
	}
	b.WriteString("</tbody>\n</table>")
	return b.String()
}
