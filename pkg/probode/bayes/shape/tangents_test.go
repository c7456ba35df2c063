package shape_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// Derivatives along the path are those of differences: with what is observed by name, by a
// function of state and parameters, and on steps that are chosen again at every θ and held;
// and so are those that another method lends to the accurate solver. Differences of half
// width 1e-5 are good to 1e-5 of the largest derivative, their error being h²/6 times the
// third one; those of the accurate solver, of a relative error of 1e-10, to 1e-5 as well.
// What is lent has the tolerance 1e-6 in the states, and its derivatives grow with them: a
// hundredth is what a D of .01 between the two would be.
func TestDerivativesAlongThePath(t *testing.T) {
	dp := methods.RungeKutta{Tableau: methods.DormandPrince}
	for _, name := range []string{"lynx-hare", "influenza", "fitzhugh-nagumo", "pk-mm", "boluses"} {
		c, err := cases.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		p := sloped(c.Posterior())
		q := *p
		q.Method, q.Mesh = dp, probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-4}}
		fixed, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		adaptive, err := bayes.NewDensity(context.Background(), &q)
		if err != nil {
			t.Fatal(err)
		}
		accurate, err := bayes.NewDensity(context.Background(), p.SolvedBy(probode.Setup{Mesh: reference.Accurate{}}))
		if err != nil {
			t.Fatal(err)
		}
		for what, e := range map[string]*bayes.Density{"a fixed grid": fixed, "chosen steps": adaptive, "the accurate solver": accurate} {
			tol := 1e-5
			if e == accurate {
				tol = 1e-2
			}
			theta, u := make([]float64, e.Dim()), make([]float64, e.Dim())
			for k := range theta {
				theta[k] = p.Params[k].Prior.Quantile(0.5)
			}
			if err := e.Unconstrain(u, theta); err != nil {
				t.Fatal(err)
			}
			at := shape.Point{X: u}
			s := shape.NewSurface(e)
			if !s.Expand(&at) {
				t.Fatalf("%s, %s: no expansion", name, what)
			}
			release := e.Hold(theta)
			for k := range u {
				h := 1e-5 * math.Abs(e.PriorQuantile(k, 0.75)-e.PriorQuantile(k, 0.25))
				var want []float64
				for _, by := range []float64{-h, h} {
					v := slices.Clone(u)
					if v[k] += by; math.IsInf(s.Value(v), 0) {
						t.Fatalf("%s, %s: no solution", name, what)
					}
					for i, m := range e.Expected() {
						if by < 0 {
							want = append(want, -m/(2*h))
						} else {
							want[i] += m / (2 * h)
						}
					}
				}
				for i, o := range s.Data() {
					if got := o.Jacobian[k]; math.Abs(got-want[o.At]) > tol*floats.Norm(want, math.Inf(1))+1e-9 {
						t.Fatalf("%s, %s: derivative of value %d in %s: %g, by differences %g", name, what, i, p.Params[k].Name, got, want[o.At])
					}
				}
			}
			release()
		}
	}
}

// sloped returns p with ∂f/∂θ by differences.
func sloped(p *bayes.Posterior) *bayes.Posterior {
	q := *p
	q.Experiments = slices.Clone(p.Experiments)
	for i := range q.Experiments {
		problem := *q.Experiments[i].Problem
		f := problem.F
		problem.FTheta = func(dst []float64, t float64, x, theta []float64) {
			up, down, at := make([]float64, len(x)), make([]float64, len(x)), slices.Clone(theta)
			for j, v := range theta {
				h := 1e-6 * max(math.Abs(v), 1e-3)
				at[j] = v + h
				f(up, t, x, at)
				at[j] = v - h
				f(down, t, x, at)
				at[j] = v
				for k := range x {
					dst[k*len(theta)+j] = (up[k] - down[k]) / (2 * h)
				}
			}
		}
		q.Experiments[i].Problem = &problem
	}
	return &q
}
