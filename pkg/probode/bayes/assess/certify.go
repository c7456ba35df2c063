package assess

import (
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/reference"
)

// certify makes the certificate of each step, at the modes of the reference posterior
// and those of the step.
func (a *assessor) certify() error {
	a.say("certificate")
	c, err := certify.New(a.ctx, a.p, a.solver())
	if err != nil {
		return err
	}
	if a.reference != nil {
		for _, m := range a.reference.Modes {
			if m.Mass > spoken {
				c.AddMode(m.Theta)
			}
		}
	}
	a.certifier = c
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		// A climb by the reference from a phantom of the step ends far away.
		var own [][]float64
		for _, m := range st.Modes {
			if m.Mass > spoken {
				own = append(own, m.Theta)
			}
		}
		if st.Certificate, err = c.Compare(st.solver(), own); err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Certificate = nil
		}
	}
	return a.ctx.Err()
}

// trusted reports whether the reference's own error is small enough for a verdict.
func (a *Report) trusted() bool { return a.Reference.enough(a.Threshold) }

// WithoutSampling returns what the certificates say, of the largest step that is
// certified, or else of the smallest; nothing if there are none.
func (a *Report) WithoutSampling() string {
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
			all = append(all, fmt.Sprintf("%s at %v", number("%.2g", c.Modes[c.Worst()].D), st))
		}
	}
	fmt.Fprintf(&b, "D is %s.\n\nBy sampling: ", strings.Join(all, ", "))
	return b.String()
}

// nearest returns the index of the step that the size asked for was made.
func (a *Report) nearest(size float64) int {
	at, least := 0, math.Inf(1)
	for i, st := range a.Steps {
		if d := math.Abs(math.Log(st.Size() / size)); d < least {
			at, least = i, d
		}
	}
	return at
}

// solver is the accurate one.
func (a *assessor) solver() certify.Solver {
	if by := a.s.Accurate; by.StepSize() > 0 {
		return certify.Solver{Method: by.Method, StepSize: by.StepSize()}
	}
	by, _ := a.s.Accurate.Mesh.(reference.Accurate)
	return certify.Solver{Accurate: true, Tolerance: by.Tolerance}
}
