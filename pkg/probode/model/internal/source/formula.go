package source

import (
	"math"
	"regexp"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// Formula parses a formula, which may contain s.Names.
func (s *File) Formula(line int, what, text string, functions ...string) *expr.Node {
	n, err := expr.Parse(s.Names, text, functions...)
	if err != nil {
		s.FailMath(line, what, err)
	}
	if n.Boolean() {
		s.Failf(line, "%s %q is a condition: want a number", what, text)
	}
	return n
}

// NumberOrID reads a finite number or an ID.
func (s *File) NumberOrID(line int, what, v string) *expr.Node {
	if x, err := ParseNumber(v); err == nil && !math.IsInf(x, 0) {
		return expr.Num(x)
	}
	if !expr.IsName(v) || expr.Reserved(v) {
		s.Failf(line, "%s is %q: want a finite number or the ID of a parameter", what, v)
	}
	return expr.Sym(v)
}

// atLine is a line number that FailMath removes, because Failf adds one.
var atLine = regexp.MustCompile(`^line \d+, (column \d+: )`)

// FailMath reports the mistake err in a formula, and stops reading. If the formula uses
// the unsupported function delay or rateOf, Feature of the resulting error names this
// function. The argument `what` describes the formula in the error message, and may be
// empty.
func (s *File) FailMath(line int, what string, err error) {
	msg := atLine.ReplaceAllString(err.Error(), "$1")
	if what != "" {
		what += ": "
	}
	for _, feature := range []string{"delay", "rateOf"} {
		if strings.Contains(msg, feature) {
			panic(s.fault(line, feature, what+msg))
		}
	}
	s.Failf(line, "%s%s", what, msg)
}
