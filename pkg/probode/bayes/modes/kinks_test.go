package modes_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/methods"
)

// doubleExponential is Laplace's distribution with the scale s, of which the information
// is estimated from draws.
type doubleExponential struct{ s bayes.Value }

func (l doubleExponential) Own() []bayes.Value { return []bayes.Value{l.s} }

func (l doubleExponential) LogProb(y, m float64, own []float64) float64 {
	if !(own[0] > 0) {
		return math.Inf(-1)
	}
	return -math.Abs(y-m)/own[0] - math.Log(2*own[0])
}

func (l doubleExponential) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	return distuv.Laplace{Mu: m, Scale: own[0], Src: rng}.Rand()
}

func (l doubleExponential) Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool) {
	return y - m, -1, 1 / own[0], own[0] > 0
}

// A line with Laplace errors of known scale and wide priors has its mode where it goes
// through two of the data: of all such lines the best is what every search finds, and
// all of them come to the one mode.
func TestModeOfLeastAbsoluteDeviations(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	line := &probode.Problem{Name: "line", Span: [2]float64{0, 6}, Theta: []float64{1}, Params: []string{"b"}, X0: []float64{1}, Autonomous: true,
		F: func(f []float64, _ float64, _, th []float64) { f[0] = th[0] }}
	rng := rand.New(rand.NewPCG(9, 9))
	for try := range 6 {
		d := &bayes.Data{}
		for i := range 12 {
			at := 0.5 * float64(i+1)
			d.T, d.Y = append(d.T, at), append(d.Y, []float64{2 + 0.7*at + 0.3*math.Pow(rng.NormFloat64(), 3)})
		}
		scale := bayes.Known(0.3)
		params := []bayes.Param{{Name: "a", Prior: distuv.Uniform{Min: -20, Max: 20}}, {Name: "b", Prior: distuv.Normal{Sigma: 5}}}
		if try >= 3 {
			scale = bayes.Unknown("s")
			params = append(params, bayes.Param{Name: "s", Prior: distuv.LogNormal{Mu: -1, Sigma: 1}})
		}
		p := &bayes.Posterior{
			Model: bayes.Model{
				Params: params,
				Experiments: []bayes.Experiment{{Problem: line, Data: d, Errors: []bayes.Likelihood{doubleExponential{scale}},
					Observe: func(dst []float64, _ float64, x, th []float64) { dst[0] = x[0] + th[0] - 1 }}},
			},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)},
		}
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]float64, len(params))
		want, kinks := math.Inf(-1), 0
		for i := range d.T {
			for j := range i {
				b := (d.Y[i][0] - d.Y[j][0]) / (d.T[i] - d.T[j])
				theta := []float64{d.Y[i][0] - b*d.T[i], b, 0.3}[:len(u)]
				// Of the scale there is one best, by golden section on its logarithm.
				f := func(log float64) float64 {
					if len(theta) == 3 {
						theta[2] = math.Exp(log)
					}
					if err := e.Unconstrain(u, theta); err != nil {
						return math.Inf(-1)
					}
					v, _ := e.LogPosterior(u, nil)
					return v
				}
				low, high := -6., 3.
				for range 60 {
					x, y := high-(high-low)*0.618034, low+(high-low)*0.618034
					if f(x) > f(y) {
						high = y
					} else {
						low = x
					}
				}
				want = max(want, f((low+high)/2))
			}
		}
		for seed := range 3 {
			m, err := modes.Find(context.Background(), p, modes.Settings{Seed: uint64(seed)})
			if err != nil {
				t.Fatal(err)
			}
			best := m.Modes[0]
			for i := range d.T {
				if math.Abs(best.Theta[0]+best.Theta[1]*d.T[i]-d.Y[i][0]) < 1e-7 {
					kinks++
				}
			}
			// A search ends when 5e-8 are promised; the golden section is as good. One that
			// is far below and slow is given up.
			if len(m.Modes) != 1 || 10*best.Found < 9*m.Searches || math.Abs(best.LogP-want) > 2e-7 {
				t.Errorf("%d, seed %d: %d modes, %d of %d searches in that of %.9f: want all in that of %.9f", try, seed, len(m.Modes), best.Found, m.Searches, best.LogP, want)
			}
			// The covariance is the inverse of the Fisher information n/s², here by its
			// 256 draws exact, for |∂ log p/∂m| is the same at each; with that of the
			// prior.
			if try < 3 {
				var tt, sum float64
				for _, at := range d.T {
					sum += at
					tt += at * at
				}
				q := 1 / (0.3 * 0.3)
				n := float64(len(d.T))
				p := (best.Theta[0] + 20) / 40
				da := 40 * p * (1 - p) // dθ/du
				h00, h01, h11 := q*n*da*da+2*p*(1-p), q*sum*da, q*tt+1./25
				det := h00*h11 - h01*h01
				// Differences of the prior's and of a straight line.
				if best.Cov == nil || math.Abs(best.Cov.At(0, 0)*det/h11-1) > 1e-3 || math.Abs(best.Cov.At(1, 1)*det/h00-1) > 1e-3 {
					t.Errorf("%d: covariance %v: want %v and %v", try, best.Cov, h11/det, h00/det)
				}
			}
		}
		if kinks != 6 {
			t.Errorf("%d: %d data met in three searches: want 2 in each", try, kinks)
		}
	}
}
