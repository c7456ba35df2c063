package certify_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

// standardLaplace is Laplace's distribution of scale 1 around m.
type standardLaplace struct{}

func (standardLaplace) Own() []bayes.Value { return nil }
func (standardLaplace) LogProb(y, m float64, _ []float64) float64 {
	return -math.Abs(y-m) - math.Ln2
}
func (standardLaplace) Rand(m float64, _ []float64, rng *rand.Rand) float64 {
	return distuv.Laplace{Mu: m, Scale: 1, Src: rng}.Rand()
}
func (standardLaplace) Describe() bayes.Description {
	return bayes.Description{Of: standardLaplace{}, Y: "a number"}
}
func (standardLaplace) Information(dst []float64, _ float64, _ []float64) bool {
	dst[0] = 1
	return true
}
func (standardLaplace) Kink(y, m float64, _ []float64) (r, slope, weight float64, ok bool) {
	return y - m, -1, 1, true
}

// A location with Laplace errors, and a solver that is off where the data are the
// closest: Euler's method through a tent of the rate between 1 and 3, of which the error
// is gone behind it. The mean of the posterior, by quadrature, moves by more than D; the
// bound holds it. The mode is the median, which no smooth optimiser can tell from
// a point on the way, and both a climb and a look at the place do.
func TestCertifyKinks(t *testing.T) {
	tent := func(t float64) float64 { return max(0, 1-math.Abs(t-2)) }
	area := func(t float64) float64 { // of the tent
		switch {
		case t < 1:
			return 0
		case t < 2:
			return (t - 1) * (t - 1) / 2
		case t < 3:
			return 1 - (3-t)*(3-t)/2
		}
		return 1
	}
	problem := &probode.Problem{Name: "tent", X0: []float64{0}, Theta: []float64{1}, Params: []string{"scale"}, States: []string{"x"}, Span: [2]float64{0, 10.1},
		F: func(f []float64, t float64, _, th []float64) { f[0] = th[0] * tent(t) }}
	const n, h = 101, 0.1
	errors := make([]float64, n) // quantiles of Laplace's distribution, the least first
	for i := range errors {
		errors[i] = distuv.Laplace{Scale: 1}.Quantile((float64(i) + 0.5) / n)
	}
	slices.SortStableFunc(errors, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	order := make([]int, n) // of the data by their distance from the peak of the tent
	for i := range order {
		order[i] = i
	}
	at := func(i int) float64 { return h * float64(i+1) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(at(a)-2), math.Abs(at(b)-2)) })
	d := &bayes.Data{}
	for i := range n {
		d.T, d.Y = append(d.T, at(i)), append(d.Y, []float64{5 + area(at(i))})
	}
	for k, i := range order {
		d.Y[i][0] += errors[k]
	}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "x0", Prior: distuv.Normal{Mu: 5, Sigma: 50}}},
			Experiments: []bayes.Experiment{{Problem: problem.UnknownStart(), Data: d, Errors: []bayes.Likelihood{standardLaplace{}},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] }}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(h)},
	}
	mean := func(path func(t float64) float64) (mean, sd float64) {
		var w, m, v float64
		for x := 4.; x < 6; x += 1e-4 {
			f := 0.0
			for i, row := range d.Y {
				f += math.Abs(row[0] - x - path(d.T[i]))
			}
			f = math.Exp(100 - f)
			w, m, v = w+f, m+f*x, v+f*x*x
		}
		return m / w, math.Sqrt(v/w - m*m/w/w)
	}
	right, sd := mean(area)
	wrong, _ := mean(func(t float64) (x float64) {
		for s := range int(math.Round(t / h)) {
			x += h * tent(h*float64(s))
		}
		return x
	})
	shift := (wrong - right) / sd
	median := slices.SortedFunc(slices.Values(d.T), func(a, b float64) int {
		return cmp.Compare(d.Y[int(math.Round(a/h))-1][0]-area(a), d.Y[int(math.Round(b/h))-1][0]-area(b))
	})[n/2]
	want := d.Y[int(math.Round(median/h))-1][0] - area(median)
	for _, stay := range []bool{false, true} {
		from := []float64{4.2}
		if stay {
			from[0] = want
		}
		c, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{from}, NoClimb: stay})
		if err != nil {
			t.Fatal(err)
		}
		m := c.Modes[0]
		// A hundredth of a standard deviation is asked for, which is a tenth.
		if !m.Found || m.Err != "" || math.Abs(m.Theta[0]-want) > 1e-3 {
			t.Errorf("stay %v: %+v: want the median %v", stay, m, want)
		}
		if !(shift > 1.2*m.D) {
			t.Errorf("stay %v: the mean moves by %v sd: want more than D = %v", stay, shift, m.D)
		}
		// The posterior is no Gaussian, whose density at the data the bound is by: of
		// forty samples of a hundred the largest shift was 1.14 times the bound.
		if !(shift < 1.15*m.Bound) || m.Bound > 4*m.D {
			t.Errorf("stay %v: the mean moves by %v sd: want less than the bound %v, D = %v", stay, shift, m.Bound, m.D)
		}
		if math.Abs(m.Shift[0]-shift) > 0.15*shift { // as the bound
			t.Errorf("stay %v: the mean moves by %v sd: want %v", stay, m.Shift[0], shift)
		}
		t.Logf("stay %v: shift %v, D %v, bound %v, shift to first order %v", stay, shift, m.D, m.Bound, m.Shift)
	}
}
