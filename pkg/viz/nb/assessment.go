package nb

import (
	"html"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/viz/plots"
)

// report leaves out computing times, so that the output stays the same.
func report(a *assess.Report) {
	words(a.Answer(), a.Warnings())
	if a.Drawn != "" {
		graphic(plots.Assessment(a))
	}
	for _, t := range a.Tables() {
		if t.Name != "median" && t.Name != "reference" {
			continue
		}
		var rows [][]any
		for _, row := range t.Rows {
			var cells []any
			for _, c := range row {
				cells = append(cells, strings.NewReplacer(" ± ", "\u00a0±\u00a0", "-", "−").Replace(c))
			}
			rows = append(rows, cells)
		}
		var header []string
		for _, c := range t.Header {
			header = append(header, strings.ReplaceAll(c, " = ", "\u00a0=\u00a0"))
		}
		Table(header, rows...)
	}
}

// words is HTML, because JupyterLab breaks printed lines in the middle of words.
func words(text string, points []string) {
	text = strings.TrimSpace(text)
	page := "<p>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br>") + "</p>"
	if points != nil {
		list, lines := bullets(points)
		page, text = page+list, text+lines
	}
	display(bundle{protocol.MIMETextHTML: page, protocol.MIMETextPlain: text})
}

func folded(title string, points []string) {
	list, lines := bullets(points)
	display(bundle{
		protocol.MIMETextHTML:  "<details><summary>" + html.EscapeString(title) + "</summary>" + list + "</details>",
		protocol.MIMETextPlain: title + ":" + lines,
	})
}

func bullets(points []string) (page, text string) {
	for _, p := range points {
		page += "<li>" + html.EscapeString(p) + "</li>"
		text += "\n• " + p
	}
	return "<ul>" + page + "</ul>", text
}
