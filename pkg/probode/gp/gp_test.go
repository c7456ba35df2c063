package gp_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/gp"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/problems"
)

// forced is the test problem of [C16, §5.1] x″ = sin 2t − x, x(0) = −1, x′(0) = 0, with
// the solution −cos t + (2 sin t − sin 2t)/3.
func forced() *probode.Problem {
	return &probode.Problem{
		Name: "forced oscillator", X0: []float64{-1, 0}, Span: [2]float64{0, 10},
		F: func(f []float64, t float64, x, _ []float64) {
			f[0], f[1] = x[1], math.Sin(2*t)-x[0]
		},
	}
}

func exact(t float64) float64 { return -math.Cos(t) + (2*math.Sin(t)-math.Sin(2*t))/3 }

// solver returns a solver of p with steps of h.
func solver(t *testing.T, m probode.Method, p *probode.Problem, h, alpha float64) *probode.Solver {
	t.Helper()
	g, err := probode.UniformGrid(p, p.Theta, h)
	if err != nil {
		t.Fatal(err)
	}
	s, err := probode.NewSolver(p, m, g, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// path solves p, with noise if rng is not nil.
func path(t *testing.T, s *probode.Solver, theta []float64, rng *rand.Rand) []float64 {
	t.Helper()
	z := make([]float64, s.PathLen())
	var xi []float64
	if rng != nil {
		xi = normals(rng, s.NoiseLen())
	}
	if err := s.Solve(z, theta, xi); err != nil {
		t.Fatal(err)
	}
	return z
}

func normals(rng *rand.Rand, n int) []float64 {
	xi := make([]float64, n)
	for i := range xi {
		xi[i] = rng.NormFloat64()
	}
	return xi
}

// Without noise, the error is of order one.
func TestOrder(t *testing.T) {
	for _, m := range []probode.Method{gp.Interrogation{}, gp.Interrogation{Length: math.Sqrt2}, gp.Block{}} {
		var last float64
		for _, h := range []float64{0.2, 0.1, 0.05, 0.025} {
			s := solver(t, m, forced(), h, 0)
			z := path(t, s, nil, nil)
			worst := 0.0
			for i, at := range s.Grid().Times() {
				worst = max(worst, math.Abs(z[2*i]-exact(at)))
			}
			t.Logf("%v, h = %g: error %.3g", m, h, worst)
			// The error of Block oscillates about its order.
			if last != 0 && worst > last/1.4 {
				t.Errorf("%v: the error %.3g is not much smaller than the error %.3g of twice the step", m, worst, last)
			}
			last = worst
		}
		if last > 0.07 {
			t.Errorf("%v: error %.3g at h = 0.025", m, last)
		}
	}
}

// A path of Interrogation is that of the algorithm as it is written in [C16], with a new
// dense solution for each condition, for the same normals.
func TestInterrogationIsTheAlgorithm(t *testing.T) {
	const n, h, alpha = 8, 0.25, 0.36
	p := forced()
	p.Span[1] = n * h
	length := 1.3 * h
	slope := func(t, u float64) float64 { return math.Exp(-(t - u) * (t - u) / (2 * length * length)) }
	// Simpson's rule, with an error below 1e-11 here
	integral := func(f func(s float64) float64, to float64) float64 {
		const m = 1000
		sum := f(0) + f(to)
		for i := 1; i < m; i++ {
			sum += f(to*float64(i)/m) * float64(2+2*(i%2))
		}
		return sum * to / m / 3
	}
	state := func(t, u float64) float64 { return integral(func(s float64) float64 { return slope(s, u) }, t) }

	rng := rand.New(rand.NewPCG(1, 2))
	s := solver(t, gp.Interrogation{Length: 1.3}, p, h, alpha)
	xi := normals(rng, s.NoiseLen())
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, nil, xi); err != nil {
		t.Fatal(err)
	}
	x, k := []float64{-1, 0}, mat.NewSymDense(1, []float64{1})
	var times []float64
	f := mat.NewDense(n, 2, nil)
	for i := range n {
		at := float64(i) * h
		times = append(times, at)
		p.F(f.RawRowView(i), at, x, nil)
		if i > 0 {
			k = k.GrowSym(1).(*mat.SymDense)
		}
		c := mat.NewVecDense(i+1, nil)
		for j, u := range times {
			k.SetSym(i, j, slope(at, u))
			c.SetVec(j, state(at+h, u))
		}
		var w mat.VecDense
		if err := w.SolveVec(k, c); err != nil {
			t.Fatal(err)
		}
		left := integral(func(u float64) float64 { return state(at+h, u) }, at+h) - mat.Dot(&w, c)
		for d := range x {
			x[d] = p.X0[d] + mat.Dot(&w, f.Slice(0, i+1, 0, 2).(*mat.Dense).ColView(d)) + math.Sqrt(alpha*h*left)*xi[2*i+d]
			if got := z[2*(i+1)+d]; math.Abs(got-x[d]) > 1e-9 {
				t.Errorf("step %d, component %d: %.12g, and %.12g by dense conditioning", i, d, got, x[d])
			}
		}
	}
}

// The mean of Block is a linear function of f at the mean, whose derivative at the grid
// points is f: on an affine problem with one state it solves linear equations.
func TestBlockIsCollocation(t *testing.T) {
	const n, h, rate = 12, 0.1, 1.3
	p := &probode.Problem{Name: "decay", X0: []float64{2}, Span: [2]float64{0, n * h},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = -rate * x[0] }}
	z := path(t, solver(t, gp.Block{Length: 1}, p, h, 0), nil, nil)
	// x′ is a combination of n+1 bumps about the grid points, with coefficients a.
	bump := func(t float64, j int) float64 {
		return math.Exp(-(t - float64(j)*h) * (t - float64(j)*h) / (2 * h * h))
	}
	area := func(t float64, j int) float64 {
		u := float64(j) * h
		return h * math.Sqrt(math.Pi/2) * (math.Erf((t-u)/(math.Sqrt2*h)) + math.Erf(u/(math.Sqrt2*h)))
	}
	m, b := mat.NewDense(n+1, n+1, nil), mat.NewVecDense(n+1, nil)
	for i := range n + 1 {
		b.SetVec(i, -rate*2)
		for j := range n + 1 {
			m.Set(i, j, bump(float64(i)*h, j)+rate*area(float64(i)*h, j))
		}
	}
	var a mat.VecDense
	if err := a.SolveVec(m, b); err != nil {
		t.Fatal(err)
	}
	for i := range n + 1 {
		want := 2.0
		for j := range n + 1 {
			want += a.AtVec(j) * area(float64(i)*h, j)
		}
		if math.Abs(z[i]-want) > 1e-11 {
			t.Errorf("step %d: %.12g, and %.12g from linear equations", i, z[i], want)
		}
	}
}

// The draws of Block have the covariance of the conditioned process.
func TestSpreadOfBlock(t *testing.T) {
	const n, h, alpha, draws = 6, 0.5, 0.7, 40000
	p := &probode.Problem{Name: "constant", X0: []float64{0}, Span: [2]float64{0, n * h},
		F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }}
	s := solver(t, gp.Block{Length: 0.8}, p, h, alpha)
	rng := rand.New(rand.NewPCG(5, 6))
	var got [n][n]float64
	for range draws {
		z := path(t, s, nil, rng)
		for i := range n {
			for j := range n {
				got[i][j] += z[i+1] * z[j+1] / draws
			}
		}
	}
	// The covariance, from a fine sum over the derivatives between the grid points.
	const fine = 40
	cov := mat.NewSymDense(n*fine+n+1, nil)
	at := func(i int) float64 {
		if i <= n {
			return float64(i) * h
		}
		return (float64(i-n-1) + 0.5) * h / fine
	}
	for i := range n*fine + n + 1 {
		for j := range i + 1 {
			x := (at(i) - at(j)) / (0.8 * h)
			cov.SetSym(i, j, alpha*h*math.Exp(-x*x/2))
		}
	}
	var chol mat.Cholesky
	all := mat.DenseCopyOf(cov)
	if !chol.Factorize(cov.SliceSym(0, n+1)) {
		t.Fatal("the covariance of the conditions is singular")
	}
	var gain mat.Dense
	if err := chol.SolveTo(&gain, all.Slice(0, n+1, n+1, n*fine+n+1)); err != nil {
		t.Fatal(err)
	}
	var left mat.Dense
	left.Mul(gain.T(), all.Slice(0, n+1, n+1, n*fine+n+1))
	left.Sub(all.Slice(n+1, n*fine+n+1, n+1, n*fine+n+1), &left)
	want := func(i, j int) float64 { return mat.Sum(left.Slice(0, i*fine, 0, j*fine)) * h * h / fine / fine }
	for i := range n {
		for j := range i + 1 {
			w, vi, vj := want(i+1, j+1), want(i+1, i+1), want(j+1, j+1)
			// Five standard errors for each of 21 numbers give a false-alarm rate of 1e-5;
			// the sum has an error of 1e-3.
			se := math.Sqrt((vi*vj + w*w) / draws)
			if math.Abs(got[i][j]-w) > 5*se+2e-3*math.Sqrt(vi*vj) {
				t.Errorf("covariance of states %d and %d: %.5g: want %.5g ± %.2g", i+1, j+1, got[i][j], w, se)
			}
		}
	}
}

// A path in pieces is the path in one go, also over an event.
func TestPieces(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 4
	p.Events = []probode.Event{{Time: 2, Jump: func(x []float64, _ float64, _ []float64) { x[0] += 0.5 }}}
	for _, m := range []probode.Method{gp.Interrogation{}, gp.Block{}} {
		s := solver(t, m, p, 0.05, 1e-2)
		rng := rand.New(rand.NewPCG(7, 8))
		xi := normals(rng, s.NoiseLen())
		whole, pieces := make([]float64, s.PathLen()), make([]float64, s.PathLen())
		if err := s.Solve(whole, p.Theta, xi); err != nil {
			t.Fatal(err)
		}
		memory := make([]float64, s.MemoryLen())
		other := solver(t, m, p, 0.05, 1e-2)
		for from, to := 0, 0; from < s.Grid().Steps(); from = to {
			to = min(from+7, s.Grid().Steps())
			if err := other.SolveFrom(pieces, memory, p.Theta, xi, from, to); err != nil {
				t.Fatal(err)
			}
		}
		for i := range whole {
			if whole[i] != pieces[i] {
				t.Fatalf("%v: number %d is %g in one go and %g in pieces", m, i, whole[i], pieces[i])
			}
		}
	}
}

// The sampler of the authors finds the posterior of a rate, which with small noise is that
// of the classical path.
func TestPosterior(t *testing.T) {
	p := &probode.Problem{Name: "decay", Params: []string{"rate"}, X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] }}
	post := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "rate", Prior: distuv.LogNormal{Sigma: 1}}},
			Experiments: []bayes.Experiment{{Problem: p,
				Data:   &bayes.Data{T: []float64{0.5, 1, 2}, Y: [][]float64{{0.66}, {0.46}, {0.2}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}},
			}},
		},
		Setup: probode.Setup{Method: gp.Interrogation{}, Mesh: probode.Uniform(0.05), Alpha: 1e-4},
	}
	mean := func(s sample.Sampler, seed uint64) float64 {
		draws, err := sample.Run(context.Background(), post, s, mcmc.Settings{Draws: 3000, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return stat.Mean(slices.Concat(draws.Parameter(0)...), nil)
	}
	a, b := mean(sample.PseudoMarginal{Particles: 1}, 1), mean(sample.Deterministic{}, 2)
	// The posterior sd is .1, and 12,000 draws are worth at least 1,500 independent ones:
	// the difference has a standard error below .004.
	if math.Abs(a-b) > 0.02 {
		t.Errorf("the mean of the rate is %.4f with noise and %.4f without", a, b)
	}
}

func TestRefusals(t *testing.T) {
	p := problems.FitzHughNagumo()
	refused := func(m probode.Method, mesh probode.Mesh) error {
		_, err := probode.Setup{Method: m, Mesh: mesh}.Bind(context.Background(), p, p.Theta, nil)
		return err
	}
	grid, err := probode.NewGrid(p, p.Theta, []float64{0.1, 5, 10})
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"want at most 2000":          refused(gp.Block{}, probode.Uniform(1e-3)),
		"(Length) is 20 steps: want": refused(gp.Interrogation{Length: 20}, probode.Uniform(0.1)),
		"use nearly equal steps":     refused(gp.Interrogation{}, probode.Fixed{Grid: grid}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %q: want %q in it", fmt.Sprint(err), want)
		}
	}
	s := solver(t, gp.Block{}, p, 0.5, 0)
	if err := s.Solve(make([]float64, s.PathLen()), p.Theta, nil); err == nil {
		t.Error("Block solves FitzHugh–Nagumo with steps of 0.5")
	} else {
		t.Log(err)
	}
}
