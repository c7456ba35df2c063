package assess

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

// A ladder is one of step sizes, or one of tolerances. With tolerances classical
// inference is what users of an adaptive solver have: the steps are chosen again at
// every θ, and the likelihood jumps where one is taken or rejected. Noise needs
// grids that stay: the noisy inference has those of the mode, frozen. Classical
// inference on them is a remedy for the jumps.

// Size returns the step size, or the relative tolerance, the largest absolute one if
// that is zero: what the ladder is ordered by.
func (st Step) Size() float64 {
	if st.StepSize > 0 {
		return st.StepSize
	}
	return sizeOf(st.Tolerance)
}

func sizeOf(t probode.Tolerance) float64 {
	if t.Relative == 0 && len(t.Absolute) > 0 {
		return slices.Max(t.Absolute)
	}
	return t.Relative
}

// String returns the setting of the step, such as h = 0.5 or rtol = 1e-05.
func (st Step) String() string {
	if st.StepSize > 0 {
		return fmt.Sprintf("h = %.4g", st.StepSize)
	}
	return st.Tolerance.String()
}

// solver is that of classical inference, with the method of the posterior.
func (st *Step) solver() certify.Solver {
	return certify.Solver{StepSize: st.StepSize, Tolerance: st.Tolerance}
}

// controlled reports whether the ladder is one of tolerances.
func (a *Report) controlled() bool { return len(a.Steps) > 0 && a.Steps[0].StepSize == 0 }

// sizeName is what the ladder is one of.
func (a *Report) sizeName() string {
	switch {
	case !a.controlled():
		return "h"
	case a.Steps[0].Tolerance.Relative > 0:
		return "rtol"
	}
	return "atol"
}

// SizeName says in words what the sizes of Steps are, as for the axis of a figure.
func (a *Report) SizeName() string {
	switch a.sizeName() {
	case "rtol":
		return "relative tolerance"
	case "atol":
		return "absolute tolerance"
	}
	return "step h"
}

// sized writes a size of the ladder with its name.
func (a *Report) sized(size float64) string { return fmt.Sprintf("%s = %.4g", a.sizeName(), size) }

// smaller is the kind of remedy that going down the ladder is.
func (a *Report) smaller() string {
	if a.controlled() {
		return "smaller tolerance"
	}
	return "smaller step"
}

// of returns the posterior of classical inference at step i.
func (a *assessor) of(i int) *bayes.Posterior {
	st := &a.out.Steps[i]
	if st.StepSize > 0 {
		return a.at(st.StepSize)
	}
	q := *a.p
	q.Mesh, q.GridAt = probode.Adaptive{Tolerance: st.Tolerance}, nil
	return &q
}

// frozen is of, with steps that stay as they are at the mode.
func (a *assessor) frozen(i int) *bayes.Posterior {
	st, q := &a.out.Steps[i], a.of(i)
	if st.StepSize == 0 {
		q.Mesh, q.GridAt = probode.Frozen{Tolerance: st.Tolerance}, st.Mode
	}
	return q
}

// setting says how p is solved.
func setting(p *bayes.Posterior) string {
	if h := p.StepSize(); h > 0 {
		return fmt.Sprintf("h = %.4g", h)
	}
	return p.Mesh.String()
}

// finer returns posteriors by solvers that are likely to be nearer to the accurate
// one than that of the last step, the cheap ones first.
func (a *assessor) finer() []*bayes.Posterior {
	var out []*bayes.Posterior
	dp := probode.Method(probode.RungeKutta{Tableau: probode.DormandPrince})
	f := a.finest()
	st := &a.out.Steps[f]
	if h := st.StepSize; h > 0 {
		for _, by := range []certify.Solver{{Method: dp, StepSize: h}, {Method: dp, StepSize: h / 4}, {Method: a.p.Method, StepSize: h / 4}, {Method: a.p.Method, StepSize: h / 16}} {
			q := a.at(by.StepSize)
			q.Method = by.Method
			out = append(out, q)
		}
		return out
	}
	for _, by := range []float64{1e-2, 1e-4, 1e-6} {
		q := a.frozen(f)
		tol := certify.Solver{Tolerance: st.Tolerance}.Sized(math.Max(by*st.Size(), 1e-13)).Tolerance
		q.Mesh = probode.Frozen{Tolerance: tol}
		out = append(out, q)
	}
	return out
}
