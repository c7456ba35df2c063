package certify_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/methods"
)

// The linear model is x′ = a + cos 3t, with the initial value b unknown, too: what
// is expected, b + at + sin(3t)/3, is linear in (a, b), Euler's method is off by
// numbers that do not depend on them, and both posteriors are Gaussian.
var (
	linearTimes = []float64{0.5, 1, 1.5, 2}
	linearY     = []float64{1.62, 1.36, 1.56, 2.37}
)

func linearModel(sigma bayes.Value) *bayes.Posterior {
	problem := &probode.Problem{
		Name: "quadrature", X0: []float64{1}, Theta: []float64{0.5}, Params: []string{"a"}, States: []string{"x"}, Span: [2]float64{0, 2},
		F: func(f []float64, t float64, _, th []float64) { f[0] = th[0] + math.Cos(3*t) },
	}
	d := &bayes.Data{T: linearTimes}
	for _, y := range linearY {
		d.Y = append(d.Y, []float64{y})
	}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params:      []bayes.Param{{Name: "a", Prior: distuv.Normal{Mu: 0, Sigma: 1}}, {Name: "x0", Prior: distuv.Normal{Mu: 1, Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{Problem: problem.UnknownStart(), Data: d, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: sigma}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.05)},
	}
	if sigma.Name != "" {
		p.Params = append(p.Params, bayes.Param{Name: sigma.Name, Prior: bayes.Positive(0.2, 0.2)})
	}
	return p
}

func eulerError(h, t float64) (e float64) {
	for n := range int(math.Round(t / h)) {
		e += h * math.Cos(3*h*float64(n))
	}
	return e - math.Sin(3*t)/3
}

// On the linear model the shift is exact, and no parameter moves by more than D.
func TestCertificateLinear(t *testing.T) {
	const sigma = 0.2
	for _, h := range []float64{0.1, 0.05, 0.025} {
		precision, score := mat.NewSymDense(2, []float64{1, 0, 0, 4}), mat.NewVecDense(2, nil)
		var d2 float64
		for _, at := range linearTimes {
			e := eulerError(h, at)
			g := mat.NewVecDense(2, []float64{at, 1})
			precision.SymRankOne(precision, 1/(sigma*sigma), g)
			score.AddScaledVec(score, -e/(sigma*sigma), g)
			d2 += e * e / (sigma * sigma)
		}
		var cov mat.Dense
		if err := cov.Inverse(precision); err != nil {
			t.Fatal(err)
		}
		var delta mat.VecDense
		delta.MulVec(&cov, score)

		c, err := certify.Run(context.Background(), withStep(linearModel(bayes.Known(sigma)), h), certify.Settings{Modes: [][]float64{{-1, 2}}})
		if err != nil {
			t.Fatal(err)
		}
		m := c.Modes[0]
		if !m.Found || m.Err != "" {
			t.Fatalf("h = %g: mode %+v", h, m)
		}
		near := func(what string, got, want, tol float64) {
			t.Helper()
			if !(math.Abs(got-want) <= tol) {
				t.Errorf("h = %g: %s %g, want %g", h, what, got, want)
			}
		}
		// Differences of 1e-2 sd on solutions good to 1e-10 leave 1e-6.
		near("D", m.D, math.Sqrt(d2), 1e-5*math.Sqrt(d2))
		near("KL", m.KL, d2/2, 2e-5*d2)
		near("total variation", m.TV, 2*distuv.UnitNormal.CDF(math.Sqrt(d2)/2)-1, 1e-5)
		for k := range 2 {
			near("shift of "+c.Params[k], m.Shift[k], delta.AtVec(k)/math.Sqrt(cov.At(k, k)), 1e-4*m.D)
			if math.Abs(m.Shift[k]) > m.Bound {
				t.Errorf("h = %g: shift %g above its bound %g", h, m.Shift[k], m.Bound)
			}
		}
		if !(m.OwnD < 1e-6) {
			t.Errorf("h = %g: D of the reference %g", h, m.OwnD)
		}
		if got := c.Certified(0.1); got != (m.D < 0.1) {
			t.Errorf("h = %g: certified %v with D = %g", h, got, m.D)
		}
	}
}

// With an unknown σ, the shifts are those of the mode itself, found by another
// search, up to the square of D.
func TestCertificateNoiseScale(t *testing.T) {
	p := linearModel(bayes.Unknown("sigma"))
	const h = 0.02
	c, err := certify.Run(context.Background(), withStep(p, h), certify.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	fine := *p
	fine.Method, fine.Mesh = methods.RungeKutta{}, probode.Uniform(0.02)
	found, err := modes.Find(context.Background(), &fine, modes.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	reference := found.Highest()
	p.Mesh = probode.Uniform(h)
	if found, err = modes.Find(context.Background(), p, modes.Settings{Seed: 1, From: [][]float64{reference.Theta}}); err != nil {
		t.Fatal(err)
	}
	coarse := found.Highest()
	m := c.Modes[0]
	if math.Abs(m.Bound-math.Sqrt2*m.D) > 1e-12 {
		t.Errorf("bound %g with D = %g, want √2 D", m.Bound, m.D)
	}
	for k, name := range c.Params {
		moved := (coarse.U[k] - reference.U[k]) / math.Sqrt(reference.Cov.At(k, k))
		// What is left out is of the size of D times the shift, and a few
		// thousandths by which the search misses the mode.
		if math.Abs(m.Shift[k]-moved) > m.D*math.Abs(moved)+0.005 {
			t.Errorf("shift of %s %g, the modes differ by %g", name, m.Shift[k], moved)
		}
		if math.Abs(moved) > m.Bound {
			t.Errorf("%s moved by %g, more than the bound %g", name, moved, m.Bound)
		}
	}
}

// What each likelihood knows of its expected value is the variance of its score,
// here by its own draws, with an error of 4 standard errors.
func TestInformation(t *testing.T) {
	for _, l := range []bayes.Likelihood{
		bayes.Gaussian{Sigma: bayes.Known(0.3)}, bayes.LogNormal{Sigma: bayes.Known(0.3)},
		bayes.StudentT{Nu: bayes.Known(4), Sigma: bayes.Known(0.3)}, bayes.StudentT{Nu: bayes.Known(200), Sigma: bayes.Known(0.3)}, bayes.Poisson{}, bayes.NegativeBinomial{Phi: bayes.Known(3)},
		foreign{},
	} {
		var own []float64
		for _, v := range l.Own() {
			own = append(own, v.Value)
		}
		const m, n, h = 7.0, 100000, 1e-4
		rng := rand.New(rand.NewPCG(1, 2))
		var sum, square float64
		for range n {
			y := l.Rand(m, own, rng)
			s := (l.LogProb(y, m+h, own) - l.LogProb(y, m-h, own)) / (2 * h)
			sum += s * s / n
			square += s * s * s * s / n
		}
		se := math.Sqrt((square - sum*sum) / n)
		p := linearModel(bayes.Known(1))
		p.Experiments[0].Data, p.Experiments[0].Errors = &bayes.Data{T: []float64{1}, Y: [][]float64{{3}}}, []bayes.Likelihood{l}
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		surface := shape.NewSurface(e)
		surface.Draws = 2000
		got := surface.DataAt([]float64{m}, []float64{0.5, 1})[0].Information
		if _, ours := l.(foreign); ours {
			se += 0.03 * sum
		}
		if math.Abs(got-sum) > 4*se {
			t.Errorf("%T: information %g, its draws say %g ± %g", l, got, sum, se)
		}
	}
}

// foreign is a likelihood from outside: a logistic distribution.
type foreign struct{}

func (foreign) Own() []bayes.Value { return nil }
func (foreign) LogProb(y, m float64, _ []float64) float64 {
	z := math.Abs(y - m)
	return -z - 2*math.Log1p(math.Exp(-z))
}
func (foreign) Rand(m float64, _ []float64, rng *rand.Rand) float64 {
	u := rng.Float64()
	return m + math.Log(u/(1-u))
}

// dragons is y′ = β0 − β1 y from y(0) = 1 by RK4, whose growth factor is not
// monotone: with h = ½ β1 = 4.911 fits the exact data of β1 = 1 as well
// (O'Brien et al. 2025).
func dragons(h float64) *bayes.Posterior {
	d := &bayes.Data{}
	for n := 1; n <= 10; n++ {
		at := float64(n) / 2
		d.T, d.Y = append(d.T, at), append(d.Y, []float64{10 - 9*math.Exp(-at)})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "b0", Prior: distuv.LogNormal{Mu: math.Log(10), Sigma: 2}}, {Name: "b1", Prior: distuv.LogNormal{Mu: 0, Sigma: 2}}},
			Experiments: []bayes.Experiment{{Problem: &probode.Problem{
				Name: "dragons", X0: []float64{1}, Theta: []float64{10, 1}, Params: []string{"b0", "b1"}, Span: [2]float64{0, 5}, Autonomous: true,
				F: func(f []float64, _ float64, x, th []float64) { f[0] = th[0] - th[1]*x[0] },
			}, Data: d, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}}}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(h)},
	}
}

// A mode that the solver's error has made is found out if it is among those that
// are looked at, and never certified; that others are not covered is always said.
func TestCertificateDragons(t *testing.T) {
	p := dragons(0.5)
	phantom := []float64{49.11, 4.911174}
	c, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{{10, 1}, phantom}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Certified(0.1) {
		t.Errorf("certified in spite of the mode at %v: %+v", phantom, c.Modes)
	}
	if answer := c.Answer(0.1); !strings.Contains(answer, "(49.11, 4.911) that the reference posterior does not have") {
		t.Errorf("answer %s", answer)
	}
	one, err := certify.Run(context.Background(), withStep(p, 0.125), certify.Settings{Modes: [][]float64{{10, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if answer := one.Answer(0.1); !one.Certified(0.1) || !strings.Contains(answer, "Not covered: posterior widths; any real or phantom mode other than the 1 mode checked here") {
		t.Errorf("answer %s", answer)
	}
}

// A point from which the density still rises is not a mode, with neither solver. So a point
// of this kind, however far from a mode, is only a place to begin: it is not called a phantom
// mode, and a phantom mode that a climb from it reaches is named by its own place.
func TestBeginnings(t *testing.T) {
	for _, c := range []struct {
		h       float64
		from    []float64
		phantom string // "" if the setup is certified
	}{
		{0.125, []float64{10, 1}, ""},
		{0.125, []float64{30, 3}, ""},
		{0.125, []float64{10, 1.3}, ""},
		{0.125, []float64{1e-3, 30}, ""}, // here RK4 is unstable
		{0.5, []float64{49.11, 4.911174}, "(49.11, 4.911)"},
		{0.5, []float64{55, 4.9}, "(49.11, 4.911)"},
		{0.5, []float64{45, 4.6}, "(49.11, 4.911)"},
	} {
		s := certify.Settings{Modes: [][]float64{c.from}}
		p := dragons(c.h)
		one, err := certify.Run(context.Background(), p, s)
		if err != nil {
			t.Fatal(err)
		}
		answer := one.Answer(0.1)
		if c.phantom == "" && !one.Certified(0.1) || c.phantom != "" && !strings.Contains(answer, "has a mode at "+c.phantom) {
			t.Errorf("h = %g from %v: %s", c.h, c.from, answer)
		}
	}
}

// Where nothing is linear, or nothing can be solved, nothing is certified.
func TestCertificateRefuses(t *testing.T) {
	ctx := context.Background()
	p := linearModel(bayes.Known(0.01))
	c, err := certify.Run(ctx, withStep(p, 0.5), certify.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Certified(100) || !strings.Contains(c.Answer(100), "If D is above 0.5") {
		t.Errorf("D = %g: %s", c.Modes[0].D, c.Answer(100))
	}
	// A reference that is itself too far off.
	poor := probode.Setup{Mesh: probode.Uniform(0.1)}
	if c, err = certify.Run(ctx, withStep(p, 0.05), certify.Settings{Reference: poor}); err != nil {
		t.Fatal(err)
	}
	if c.Certified(0.4) || !strings.Contains(c.Answer(0.4), "error of its own") {
		t.Errorf("own D = %g: %s", c.Modes[0].OwnD, c.Answer(0.4))
	}
	if _, err = certify.Run(ctx, p, certify.Settings{Modes: [][]float64{{1}}}); err == nil {
		t.Error("a mode of one number for two parameters: no error")
	}
	if _, err = certify.Run(ctx, nil, certify.Settings{}); err == nil {
		t.Error("nil posterior: no error")
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err = certify.Run(stopped, p, certify.Settings{Modes: [][]float64{{0.5, 1}}}); err == nil {
		t.Error("context that has ended: no error")
	}
}

// relative is y ~ N(m, (m/10)²), of which both elements of the information speak of m.
type relative struct{}

func (relative) Own() []bayes.Value { return nil }

func (relative) LogProb(y, m float64, _ []float64) float64 {
	return bayes.Gaussian{}.LogProb(y, m, []float64{m / 10})
}

func (relative) Rand(m float64, _ []float64, rng *rand.Rand) float64 {
	return m + m/10*rng.NormFloat64()
}

func (r relative) Describe() bayes.Description { return bayes.Description{Of: r, Y: "a number"} }

func (relative) Information(dst []float64, m float64, _ []float64) bool {
	dst[0] = (100 + 2) / (m * m)
	return true
}

// A number of the likelihood that is another column of the data: what is certified is
// the same as where the likelihood makes that number itself of what is expected. The
// two differ by the differences that are taken of Observe and by how well the mode is
// found, a hundredth of an sd; the second derivatives of D are of the order of D.
func TestCertificateColumn(t *testing.T) {
	p := linearModel(bayes.Known(1))
	x := &p.Experiments[0]
	x.Errors = []bayes.Likelihood{relative{}}
	q := *p
	q.Experiments = []bayes.Experiment{*x}
	y := &q.Experiments[0]
	y.Data = &bayes.Data{T: x.Data.T, Names: []string{"y", "sd of y"}}
	for _, row := range x.Data.Y {
		y.Data.Y = append(y.Data.Y, []float64{row[0], math.NaN()})
	}
	y.Errors = []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sd of y")}, bayes.Poisson{}}
	y.Observe = func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = x[0], x[0]/10 }

	a, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bayes.NewDensity(context.Background(), &q)
	if err != nil {
		t.Fatal(err)
	}
	for _, theta := range [][]float64{{0.5, 1}, {-0.2, 1.3}} {
		want, _ := a.LogLikelihood(theta, nil)
		if got, err := b.LogLikelihood(theta, nil); err != nil || math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("log likelihood %v, %v: want %v", got, err, want)
		}
	}
	for _, h := range []float64{0.1, 0.025} {
		var both [2]certify.AtMode
		for i, p := range []*bayes.Posterior{p, &q} {
			c, err := certify.Run(context.Background(), withStep(p, h), certify.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Modes) != 1 || !c.Modes[0].Found || c.Modes[0].Err != "" {
				t.Fatalf("%+v", c)
			}
			both[i] = c.Modes[0]
		}
		close := func(what string, got, want, by float64) {
			if math.Abs(got-want) > by {
				t.Errorf("h = %g: %s is %v: want %v", h, what, got, want)
			}
		}
		want, got := both[0], both[1]
		close("D", got.D, want.D, 0.01*want.D)
		for k := range want.SD {
			close("sd", got.SD[k], want.SD[k], 0.01*want.SD[k])
			close("shift", got.Shift[k], want.Shift[k], 0.01*want.D)
			close("θ", got.Theta[k], want.Theta[k], 0.02*want.SD[k])
		}
	}
}
