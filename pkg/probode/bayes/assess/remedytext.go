package assess

import (
	"fmt"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
)

// Advice returns the recommended remedy in one line, and in another that noise in the
// model does harm where it does; empty if no remedies were measured.
func (a *Report) Advice() string {
	if len(a.Remedies) == 0 {
		return ""
	}
	var b strings.Builder
	if r := a.Remedies[0]; r.Recommended {
		fmt.Fprintf(&b, "Recommended: %s, the cheapest that reaches the threshold, %.2g s for 1000 effective draws.\n", r.Name, r.Seconds)
	} else {
		b.WriteString("None of the remedies that were measured is known to reach the threshold.\n")
	}
	bad := 0
	for _, r := range a.Remedies {
		if strings.HasPrefix(r.Note, worseThanNothing) && r.Kind == "noise in the model" {
			bad++
		}
	}
	if bad > 0 {
		fmt.Fprintf(&b, "Noise in the model is worse here than ignoring the error, at %d of the steps.\n", bad)
	}
	return b.String()
}

// remedyText returns the advice and the table of remedies.
func (a *Report) remedyText() string {
	if len(a.Remedies) == 0 {
		return ""
	}
	rows := [][]string{{"remedy", "bias/sd", "sd ratio", "s per 1000", "to reach", "reaches", "note"}}
	for _, r := range a.Remedies {
		rows = append(rows, []string{r.Name, number("%+.2g", r.Bias), number("%.3g", r.Ratio), number("%.2g", r.Seconds), number("%.2g", r.Reach), map[bool]string{true: "yes", false: "no"}[r.Reaches], r.Note})
	}
	return a.Advice() + "\n" + text.Table(rows, func(i int) bool { return i == 0 || i == 6 })
}
