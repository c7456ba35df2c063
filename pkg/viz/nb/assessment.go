package nb

import (
	"fmt"
	"html"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/viz/plots"
)

func report(a *assess.Report) {
	words(a.WithoutSampling()+a.Answer(), a.Warnings)
	graphic(plots.Assessment(a))

	header := []string{"bias, in sd", "accurate"}
	for _, st := range a.Steps {
		header = append(header, strings.ReplaceAll(st.String(), " ", "\u00a0"), "with noise")
	}
	header = append(header, "largest "+strings.TrimPrefix(a.SizeName(), "step "))
	var rows [][]any
	for j, q := range a.Params {
		row := []any{q.Name, fmt.Sprintf("%.3g\u00a0±\u00a0%.2g", q.Mean, q.SD)}
		for _, st := range a.Steps {
			for _, inf := range []*assess.Inference{st.Deterministic, st.Probabilistic} {
				if inf == nil {
					row = append(row, "–")
					continue
				}
				e := inf.Effects[j]
				row = append(row, strings.Replace(fmt.Sprintf("%+.2f", e.Bias), "-", "−", 1))
			}
		}
		row = append(row, q.LargestStep())
		rows = append(rows, row)
	}
	Table(header, rows...)

	header, rows = []string{"calibrated α*"}, [][]any{{"at the mode"}, {"at three draws"}}
	known := false
	for _, st := range a.Steps {
		header = append(header, strings.ReplaceAll(st.String(), " ", "\u00a0"))
		var at []string
		for _, v := range st.AlphaAt {
			at = append(at, fmt.Sprintf("%.3g", v))
		}
		known = known || at != nil
		rows[0] = append(rows[0], fmt.Sprintf("%.3g", st.AlphaStar))
		rows[1] = append(rows[1], strings.Join(at, ", "))
	}
	if known {
		Table(header, rows...)
	}
}

// words shows lines and, below them, points as paragraphs: printed, they would be
// broken in the middle of words.
func words(text string, points []string) {
	text = strings.TrimSpace(text)
	page := "<p>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br>") + "</p>"
	if points != nil {
		page += "<ul>"
		for _, p := range points {
			page += "<li>" + html.EscapeString(p) + "</li>"
			text += "\n• " + p
		}
		page += "</ul>"
	}
	pause()
	send(bundle{protocol.MIMETextHTML: page, protocol.MIMETextPlain: text}, "")
	synchronise()
}

// folded shows points that a reader opens to see.
func folded(title string, points []string) {
	page, text := "<details><summary>"+html.EscapeString(title)+"</summary><ul>", title+":"
	for _, p := range points {
		page += "<li>" + html.EscapeString(p) + "</li>"
		text += "\n• " + p
	}
	pause()
	send(bundle{protocol.MIMETextHTML: page + "</ul></details>", protocol.MIMETextPlain: text}, "")
	synchronise()
}
