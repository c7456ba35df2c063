package plots

import (
	"fmt"
	"html"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/viz"
)

// AssessmentHTML returns the body of an HTML page with the contents of a report: the
// answer, the figures, the warnings, and the tables.
func AssessmentHTML(a *assess.Report, title string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>Does the solver's error matter for the posterior of %s?</h1>\n", html.EscapeString(title))
	paragraphs := func(class, text string) {
		for line := range strings.Lines(text) {
			fmt.Fprintf(&b, "<p%s>%s</p>\n", class, html.EscapeString(strings.TrimSpace(line)))
		}
	}
	paragraphs(" class=answer", a.Answer())
	if a.Drawn != "" {
		figure, err := viz.HTML(Assessment(a))
		if err != nil {
			return "", err
		}
		b.WriteString(figure)
	}
	paragraphs("", a.Details())
	if a.Profile != nil {
		along, err := viz.HTML(LogLikelihoodProfile(a.Profile))
		if err != nil {
			return "", err
		}
		b.WriteString(along)
	}
	if warnings := a.Warnings(); warnings != nil {
		b.WriteString("<h2>Warnings</h2>\n<ul>\n")
		for _, w := range warnings {
			fmt.Fprintf(&b, "<li>%s</li>\n", html.EscapeString(w))
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("<h2>The numbers</h2>\n")
	for _, t := range a.Tables() {
		notes := t.Notes
		if t.Notes = nil; t.Header != nil {
			fmt.Fprintf(&b, "<pre>%s</pre>\n", html.EscapeString(t.String()))
		}
		for _, note := range notes { // long lines, which a phone breaks
			fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(note))
		}
	}
	return b.String(), nil
}
