package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes"
)

// A Certificate bounds, to first order and without sampling, what the solver's
// error does to the posterior at one mode. It says nothing of modes that the
// solver makes or loses, nor of the width, and above D = ½ it certifies nothing.
type Certificate struct {
	Theta []float64 // the mode of the reference posterior
	Mass  float64   // its share

	// D and Shift are those of bayes.Shift: no parameter is moved by more than
	// Bound posterior standard deviations, D or √2 D.
	D, Bound float64
	Shift    []float64 // of each parameter, in posterior standard deviations

	// TotalVariation is that between what both solvers predict for the data,
	// 2Φ(D/2) − 1.
	TotalVariation float64

	// ReferenceD is the D between the reference solver and one of a tolerance a
	// hundred times as large, or of twice the step: an upper estimate of the
	// reference's own error, that would have to be far below the threshold.
	ReferenceD float64
}

// Certify compares p's method with the accurate solver at the modes of the
// reference posterior, which it looks for if modes is nil.
func Certify(ctx context.Context, p *bayes.Posterior, by bayes.AccurateSolver, modes *bayes.Modes) ([]Certificate, error) {
	if ctx == nil || p == nil {
		return nil, errors.New("assess: Certify wants a context and a Posterior, not nil")
	}
	if modes == nil {
		coarse, err := p.FindModes(ctx, bayes.ModeSearch{Workers: by.Workers})
		if err != nil {
			return nil, err
		}
		search := bayes.ModeSearch{Workers: by.Workers, Solver: &by, Points: -1}
		for _, m := range coarse.Modes {
			search.From = append(search.From, m.Theta)
		}
		if modes, err = p.FindModes(ctx, search); err != nil {
			return nil, err
		}
	}
	coarse, err := bayes.NewDensity(p)
	if err != nil {
		return nil, err
	}
	defer coarse.Bind(ctx)()
	fine, err := by.Density(p)
	if err != nil {
		return nil, err
	}
	defer fine.Bind(ctx)()
	looser := by
	if by.StepSize > 0 {
		looser.StepSize *= 2
	} else if looser.Tolerance = 100 * by.Tolerance; by.Tolerance == 0 {
		looser.Tolerance = 1e-8
	}
	rough, err := looser.Density(p)
	if err != nil {
		return nil, err
	}
	defer rough.Bind(ctx)()
	var out []Certificate
	for k, m := range modes.Modes {
		if k > 0 && m.Mass <= spoken {
			continue
		}
		s, err := fine.Shift(coarse, m.U)
		if err != nil {
			return out, fmt.Errorf("certificate at %.4g: %w", m.Theta, err)
		}
		c := Certificate{Theta: m.Theta, Mass: m.Mass, D: s.D, Bound: s.D, Shift: s.Delta,
			TotalVariation: math.Erf(s.D / (2 * math.Sqrt2)), ReferenceD: math.Inf(1)}
		if s.Unknown {
			c.Bound *= math.Sqrt2
		}
		if own, err := fine.Shift(rough, m.U); err == nil {
			c.ReferenceD = own.D
		}
		out = append(out, c)
	}
	return out, nil
}

// String says in a line what is certified.
func (c Certificate) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "D = %.3g at %.4g (%.3g of the mass): ", c.D, c.Theta, c.Mass)
	if c.D > 0.5 {
		b.WriteString("above ½ nothing is certified")
	} else {
		fmt.Fprintf(&b, "to first order no parameter is moved by more than %.3g posterior sd, the most by %.3g; predictions differ by at most %.3g in total variation", c.Bound, most(c.Shift), c.TotalVariation)
	}
	return b.String()
}

// most returns the element of the largest size.
func most(x []float64) float64 {
	best := 0.0
	for _, v := range x {
		if math.Abs(v) > math.Abs(best) {
			best = v
		}
	}
	return best
}

// certify sets the certificates of all steps, at the modes of the reference
// posterior, and what they say of the reference's own error.
func (a *assessor) certify() error {
	if a.reference == nil {
		return nil
	}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		// Where it cannot be had there is none; the draws say the rest.
		st.Certificates, _ = Certify(a.ctx, a.at(st.StepSize), a.s.Accurate, a.reference)
		if err := a.ctx.Err(); err != nil {
			return err
		}
		for _, c := range st.Certificates {
			a.out.ReferenceD = max(a.out.ReferenceD, c.ReferenceD)
		}
	}
	return nil
}

// trusted reports whether the reference's own error is small enough for a verdict:
// a tenth of the threshold.
func (a *Report) trusted() bool { return !(a.ReferenceD > a.Threshold/10) }

// certificates returns the lines of the certificates.
func (a *Report) certificates() string {
	var b strings.Builder
	for _, st := range a.Steps {
		for _, c := range st.Certificates {
			fmt.Fprintf(&b, "certificate, h = %.4g: %v\n", st.StepSize, c)
		}
	}
	if b.Len() > 0 {
		b.WriteString("(from two solves at a mode; other modes and the width are not covered)\n\n")
	}
	return b.String()
}
