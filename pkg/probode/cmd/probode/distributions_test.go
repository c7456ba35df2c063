package main

import (
	"math"
	"strings"
	"testing"
)

// Whatever is typed for a prior or for errors is refused in one short line, or is a
// distribution with a median at which it has a density.
func FuzzDistributions(f *testing.F) {
	for _, seed := range []string{
		"", "normal(0,1)", "positive(1,0.5)", "positive(-1e9,1)", "halfnormal(2)", "lognormal(0,1)", "exponential(3)", "gamma(0.5,2)",
		"invgamma(3,1)", "beta(0.5,0.5)", "uniform(-1,1)", "uniform(1,1)", "normal(1e308,1e-308)", "gamma(1e-300,1e300)", "lognormal(800,1)",
		"normal(1", "normal(1,2))", "(1)", "normal(,)", " Normal ( 1 , 2 ) ", "normal(NaN,1)", "normal(1,inf)", "normal(0x1p3,1)",
		"gaussian(sigma)", "gaussian(0.1),poisson", "student(4,s),negbin(phi)", "student(4,s),negbin(", "\x1b[2J(1)", strings.Repeat("(", 1000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		fine := func(err error) {
			message := brief(err, []string{typed}).Error()
			if len(message) > 4100 || strings.ContainsAny(message, "\n\x1b\r\a") { // 1000 characters, of up to four bytes
				t.Errorf("%q: %d bytes: %q", typed, len(message), message)
			}
		}
		if d, err := parsePrior(typed, families); err != nil {
			fine(err)
		} else if m := d.Quantile(0.5); math.IsInf(m, 0) || !(math.Abs(d.LogProb(m)) <= math.MaxFloat64) {
			t.Errorf("%q: %v has the median %g and there the log density %g", typed, d, m, d.LogProb(m))
		}
		if errors, own, err := parseErrors(typed, 2); err != nil {
			fine(err)
		} else if len(errors) == 0 || len(errors) > 2 || len(own) > 2*len(errors) {
			t.Errorf("%q: %d distributions with %d parameters", typed, len(errors), len(own))
		}
	})
}
