package assess

import (
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode"
)

// certify makes the certificate of each step, at the modes that the ladder has.
func (a *assessor) certify() error {
	a.say("certificate")
	c, err := newCertifier(a.ctx, a.p, a.reference())
	if err != nil {
		return err
	}
	for i := a.finest(); i >= 0; i-- {
		for _, m := range a.starts(i) {
			c.climb(m)
		}
	}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if st.Certificate, err = c.certify(Solver{StepSize: st.StepSize}); err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Certificate = nil
		}
	}
	return nil
}

// certified returns what the certificates say, of the largest step that is
// certified, or else of the smallest.
func (a *Report) certified() string {
	at := len(a.Steps) - 1
	for i := at; i >= 0; i-- {
		if c := a.Steps[i].Certificate; c == nil || !c.Certified(a.Threshold) {
			break
		}
		at = i
	}
	c := a.Steps[at].Certificate
	if c == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("Without sampling: " + c.Answer(a.Threshold))
	var all []string
	for _, st := range a.Steps {
		if c := st.Certificate; c != nil && len(c.Modes) > 0 {
			all = append(all, fmt.Sprintf("%s at h = %.4g", number("%.2g", c.Modes[c.Worst()].D), st.StepSize))
		}
	}
	fmt.Fprintf(&b, "D is %s.\n\nBy sampling: ", strings.Join(all, ", "))
	return b.String()
}

// nearest returns the index of the step that h was made.
func (a *Report) nearest(h float64) int {
	at, least := 0, math.Inf(1)
	for i, st := range a.Steps {
		if d := math.Abs(math.Log(st.StepSize / h)); d < least {
			at, least = i, d
		}
	}
	return at
}

// reference is the accurate solver.
func (a *assessor) reference() Solver {
	if by := a.s.Accurate; by.StepSize > 0 {
		return Solver{Method: by.Method, StepSize: by.StepSize}
	}
	return Solver{Accurate: true, Tolerance: probode.Tolerance{Relative: a.s.Accurate.Tolerance}}
}

// starts are the points from which the certificate climbs to modes.
func (a *assessor) starts(i int) [][]float64 {
	if m := a.modes[i]; m != nil {
		return [][]float64{m.Theta}
	}
	return nil
}
