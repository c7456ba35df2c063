package model

import (
	"regexp"
	"strconv"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

var placeholderRE = regexp.MustCompile(`^(observable|noise)Parameter[1-9][0-9]*_`)

// isPlaceholder reports whether a name stands for a value in each row of the data.
// Placeholders of other observables are ordinary names.
func isPlaceholder(name, observable string) bool {
	at := placeholderRE.FindStringIndex(name)
	return at != nil && name[at[1]:] == observable
}

func placeholder(prefix string, n int, id string) string { return prefix + strconv.Itoa(n) + "_" + id }

func placeholders(by map[string]*expr.Node, prefix, id string, values []*expr.Node) {
	for i, v := range values {
		by[placeholder(prefix, i+1, id)] = v
	}
}

func (l *lowering) placeholdersFit(d *Observation, o *observable, by map[string]*expr.Node) {
	asked := map[string]bool{}
	for _, name := range o.symbols() {
		if isPlaceholder(name, o.id) {
			asked[name] = true
			if by[name] == nil {
				d.where.Failf("the row has no value for the placeholder %s", name)
			}
		}
	}
	for name := range by {
		if !asked[name] {
			d.where.Failf("the row gives a value for %s, which the formulas of %s do not contain", name, o.id)
		}
	}
}
