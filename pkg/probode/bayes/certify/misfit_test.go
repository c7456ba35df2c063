package certify_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

// x′ = θ + (θ − 1) cos 2πt is x = θt at the half integers but for (θ − 1) sin 2πt/2π,
// which is zero there, and Euler's method with h = ½ adds (θ − 1) h or nothing, in turn.
// At θ = 1 it expects what the exact solution does, so that D is next to nothing. Both
// posteriors are Gaussian: with data that are right the second moves by little, with
// such as are off by five of their errors, in the same turn, it is more than a sd away.
func TestCertificateWithAMisfit(t *testing.T) {
	const sigma, h = 0.1, 0.5
	for _, off := range []float64{0, 1} {
		var times, y, e []float64
		for i := range 8 {
			times = append(times, h*float64(i+1))
			e = append(e, h*float64((i+1)%2))
		}
		// ± ½ in turn, at right angles to t, so that θ = 1 stays where it is.
		c := (floats.Dot(times, e) - h/2*floats.Sum(times)) / floats.Dot(times, times)
		for i, at := range times {
			y = append(y, at+2*off*(e[i]-h/2-c*at))
		}
		p := plane(distuv.Normal{Mu: 1, Sigma: 1}, func(f []float64, t float64, _, th []float64) {
			f[0] = th[0] + (th[0]-1)*math.Cos(2*math.Pi*t)
		}, []float64{0}, times, y, bayes.Gaussian{Sigma: bayes.Known(sigma)}, adams.Bashforth{}, h)
		p.Experiments[0].Problem.Autonomous = false
		// What is expected is θt, or θ(t + e) − e.
		mode := func(coarse float64) (mean, precision float64) {
			precision = 1
			var sum float64
			for i, at := range times {
				g := at + coarse*e[i]
				sum += g * (y[i] + coarse*e[i]) / (sigma * sigma)
				precision += g * g / (sigma * sigma)
			}
			return (sum + 1) / precision, precision
		}
		right, precision := mode(0)
		wrong, _ := mode(1)
		moved := math.Abs(wrong-right) * math.Sqrt(precision)
		one, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{{1}}})
		if err != nil {
			t.Fatal(err)
		}
		m := one.Modes[0]
		t.Logf("off by %g: moved by %g sd, D %g, bound %g, misfit %g", off, moved, m.D, m.Bound, m.Misfit)
		if !(m.Bound > 0.8*moved) || one.Certified(0.1) != (off == 0) || (m.Misfit > 0) != (off > 0) {
			t.Errorf("off by %g: moved by %g sd, %+v", off, moved, m)
		}
		if said := strings.Contains(one.Answer(0.1), "residuals are larger"); said != (off > 0) {
			t.Errorf("off by %g: %s", off, one.Answer(0.1))
		}
	}
}
