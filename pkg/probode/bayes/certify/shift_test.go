package certify_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

// contradicting has two columns of data that contradict each other, and each has a σ of its
// own that takes the contradiction: of the mean m the profile log likelihood of a column with
// scatter s about c is −n/2 log(s² + b²), b = m − c, whose curvature in b is
// −n (s² − b²)/(s² + b²)². b₁ = 1.5 s₁, s₁ = 1/ratio, and b₂ is from equal slopes, so that theta
// is stationary. With the ratio 1.053 the curvatures nearly cancel: .014 n where Fisher's
// informations are .34 n and .62 n, and a mean error e of the second column alone moves m by
// −e f₂/(f₁ + f₂), ten times itself. With 1.06 the sum is negative, and theta is a saddle.
func contradicting(ratio float64) (p *bayes.Posterior, theta []float64, b2 float64) {
	const n, b1 = 400, 1.5
	s1 := 1 / ratio
	half := (b1 + 1/b1) / ratio / 2 // b + 1/b of the second column, halved
	b2 = half - math.Sqrt(half*half-1)
	problem := &probode.Problem{
		Name: "still", X0: []float64{0}, States: []string{"x"}, Params: []string{"m"}, Theta: []float64{0}, Span: [2]float64{0, 2},
		F: func(f []float64, t float64, _, th []float64) { f[0] = 1e-3 * math.Cos(t) },
	}
	d := &bayes.Data{}
	for i := range n {
		at, sign := 2*float64(i+1)/n, float64(1-i%2*2)
		d.T = append(d.T, at)
		d.Y = append(d.Y, []float64{b1*s1 + s1*sign, -b2 + sign + 1e-3*math.Sin(at)})
	}
	p = &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "m", Prior: distuv.Normal{Sigma: 100}},
				{Name: "sigma1", Prior: distuv.Uniform{Min: 0.01, Max: 1e4}}, {Name: "sigma2", Prior: distuv.Uniform{Min: 0.01, Max: 1e4}}},
			Experiments: []bayes.Experiment{{Problem: problem, Data: d,
				Observe: func(dst []float64, _ float64, x, th []float64) { dst[0], dst[1] = th[0], th[0]+x[0] },
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma1")}, bayes.Gaussian{Sigma: bayes.Unknown("sigma2")}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(2. / n)},
	}
	return p, []float64{0, s1 * math.Hypot(1, b1), math.Hypot(1, b2)}, b2
}

// The shift of contradicting is that of its closed form, and below the bound.
func TestBoundHoldsShift(t *testing.T) {
	const ratio, b1 = 1.053, 1.5
	p, theta, b2 := contradicting(ratio)
	d := p.Experiments[0].Data
	n := len(d.T)
	c, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{theta}, NoClimb: true})
	if err != nil {
		t.Fatal(err)
	}
	curvature := func(b float64) float64 { return (1 - b*b) / math.Pow(1+b*b, 2) }
	e, x := 0.0, 0.0 // mean error of Euler's method
	turns := 0.0     // the same with the signs of the residuals, which alternate about −b₂
	for i := range n {
		x += p.StepSize() * 1e-3 * math.Cos(float64(i)*p.StepSize())
		off := (x - 1e-3*math.Sin(d.T[i])) / float64(n)
		e, turns = e+off, turns+off*float64(1-i%2*2)
	}
	// The score of sigma2 changes by Σ (b₂ − sign) e, and moves m by way of sigma2.
	left := ratio*ratio*curvature(b1) + curvature(b2)
	want := -(e*curvature(b2) + turns*2*b2/math.Pow(1+b2*b2, 2)) / left
	m := c.Modes[0]
	// The curvature that is left is a seventieth of those that cancel. These are known to
	// 1e-6, from differences.
	if got := m.Shift[0] * m.SD[0]; math.Abs(got/want-1) > 3e-4 {
		t.Errorf("m is shifted by %.4g: want %.4g", got, want)
	}
	if most := math.Abs(m.Shift[0]); !(m.Bound >= most) || !(m.Bound > 2*m.D) {
		t.Errorf("the bound is %.3g where D is %.3g and the shift %.3g: want more than both", m.Bound, m.D, most)
	}
}

// At a saddle of m and the σ together each of them alone is at its best, and what the
// data expect of them is positive: it is no mode all the same.
func TestNoModeAtSaddle(t *testing.T) {
	for ratio, mode := range map[float64]bool{1.04: true, 1.075: false} {
		p, theta, _ := contradicting(ratio)
		for _, stay := range []bool{true, false} {
			c, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{theta}, NoClimb: stay})
			if err != nil {
				t.Fatal(err)
			}
			m := c.Modes[0]
			if m.Found != mode || c.Certified(0.1) != mode {
				t.Errorf("ratio %v, stay %v: found %v, moved %.2g, θ %.3g", ratio, stay, m.Found, m.Moved, m.Theta)
			}
		}
	}
}
