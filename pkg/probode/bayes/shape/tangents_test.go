package shape_test

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/shape"
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
	dp := probode.RungeKutta{Tableau: probode.DormandPrince}
	for _, name := range []string{"lynx-hare", "influenza", "fitzhugh-nagumo", "pk-mm", "boluses"} {
		c, err := cases.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Posterior()
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
			s := shape.NewSurface(e)
			var both [2][]shape.Datum
			for i := range both {
				s.Exact = i == 0
				at := shape.Point{X: u}
				if !s.Expand(&at) {
					t.Fatalf("%s, %s: no expansion", name, what)
				}
				both[i] = s.Data()
			}
			for k := range u {
				top := 0.0
				for _, o := range both[1] {
					top = math.Max(top, math.Abs(o.Jacobian[k]))
				}
				for i, o := range both[1] {
					if got := both[0][i].Jacobian[k]; math.Abs(got-o.Jacobian[k]) > tol*top+1e-9 {
						t.Fatalf("%s, %s: derivative of value %d in %s: %g, by differences %g", name, what, i, p.Params[k].Name, got, o.Jacobian[k])
					}
				}
			}
		}
	}
}
