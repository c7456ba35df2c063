package bayes_test

import (
	"errors"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
)

// Derivatives of what is expected of the data are those of differences: with what
// is observed by name, by a function of state and parameters, and on steps that are
// chosen again at every θ and held. Differences of half width 1e-5 are good to 1e-5
// of the largest derivative, their error being h²/6 times the third one.
func TestDensityTangents(t *testing.T) {
	dp := probode.RungeKutta{Tableau: probode.DormandPrince}
	for _, name := range []string{"lynx-hare", "influenza", "fitzhugh-nagumo", "pk-mm", "boluses"} {
		c, err := cases.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Posterior()
		q := *p
		q.Method, q.Mesh = dp, probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-4}}
		for _, p := range []*bayes.Posterior{p, &q} {
			e, err := bayes.NewDensity(p)
			if err != nil {
				t.Fatal(err)
			}
			theta := make([]float64, e.Dim())
			for k := range theta {
				theta[k] = p.Params[k].Prior.Quantile(0.5)
			}
			d, n := len(theta), len(e.Expected())
			dtheta, got := make([]float64, d*d), make([]float64, d*n)
			for k := range d {
				dtheta[k*d+k] = 1
			}
			if p == &q {
				if err := e.Tangents(got, theta, dtheta); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s: error %v on steps that change", name, err)
				}
			}
			release := e.Hold(theta)
			if err := e.Tangents(got, theta, dtheta); err != nil {
				t.Fatal(err)
			}
			for k := range d {
				h := 1e-5 * math.Abs(theta[k])
				var side [2][]float64
				for i, sign := range []float64{1, -1} {
					at := append([]float64(nil), theta...)
					at[k] += sign * h
					if _, err := e.LogLikelihood(at, nil); err != nil {
						t.Fatal(err)
					}
					side[i] = append(side[i], e.Expected()...)
				}
				top := 0.0
				for i := range n {
					top = math.Max(top, math.Abs(side[0][i]-side[1][i])/(2*h))
				}
				for i := range n {
					if want := (side[0][i] - side[1][i]) / (2 * h); math.Abs(got[i*d+k]-want) > 1e-5*top+1e-9 {
						t.Fatalf("%s, %v: derivative of value %d in %s: %g, by differences %g", name, p.Mesh, i, p.Params[k].Name, got[i*d+k], want)
					}
				}
			}
			release()
		}
		accurate, err := bayes.AccurateSolver{}.Density(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := accurate.Tangents(nil, make([]float64, accurate.Dim()), nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: error %v of the accurate solver", name, err)
		}
	}
}
