package filter

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

func solve(t *testing.T, p *probode.Problem, s Settings) *Solution {
	t.Helper()
	out, err := Solve(context.Background(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// close says whether a and b differ by at most tol, relative to numbers above 1.
func within(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(1, math.Abs(b)) }

// The values come from arithmetic with 40 digits.
func TestSpreadValues(t *testing.T) {
	s := solve(t, problems.FitzHughNagumo(), Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.1), Alpha: 1, Forward: true})
	if v, r := s.SD[0][100], s.SD[1][100]; math.Abs(v/3.669847e-3-1) > 2e-7 || math.Abs(r/7.457840e-4-1) > 2e-7 {
		t.Errorf("the standard deviations at t = 10 are %.7g and %.7g: want 3.669847e-3 and 7.457840e-4", v, r)
	}
}

// affine is x′ = Ax + b in two dimensions, for θ = (a, …).
func affine() *probode.Problem {
	return &probode.Problem{
		Name: "affine",
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = -x[0] + theta[0]*x[1] + 0.3
			dst[1] = -theta[0]*x[0] - 0.5*x[1] - 0.1
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			f[0] = -x[0] + theta[0]*x[1] + 0.3
			f[1] = -theta[0]*x[0] - 0.5*x[1] - 0.1
			copy(jac, []float64{-1, theta[0], -theta[0], -0.5})
		},
		X0: []float64{1, 0.5}, Span: [2]float64{0, 2}, Theta: []float64{2}, Autonomous: true,
	}
}

// A dense is the joint Gaussian distribution of the derivatives x⁽ⁱ⁾ of the solution of
// affine at some times, in the order [time][i][component], under the prior with κ² = 1
// and the exact derivatives at time 0.
type dense struct {
	q, n int // n times
	mean *mat.VecDense
	cov  *mat.Dense
}

func newDense(q int, times []float64) *dense {
	w := 2 * (q + 1)
	x := make([]float64, w)
	copy(x, []float64{1, 0.5})
	for i := range q {
		a, b := x[2*i], x[2*i+1]
		x[2*i+2], x[2*i+3] = -a+2*b, -2*a-0.5*b
		if i == 0 {
			x[2] += 0.3
			x[3] -= 0.1
		}
	}
	d := &dense{q, len(times), mat.NewVecDense(len(times)*w, nil), mat.NewDense(len(times)*w, len(times)*w, nil)}
	factorial := func(n int) float64 { return math.Gamma(float64(n + 1)) }
	for n, t := range times {
		for i := range q + 1 {
			for j := i; j <= q; j++ {
				c := math.Pow(t, float64(j-i)) / factorial(j-i)
				for k := range 2 {
					d.mean.SetVec(n*w+2*i+k, d.mean.AtVec(n*w+2*i+k)+c*x[2*j+k])
				}
			}
		}
		// cov(x⁽ⁱ⁾(s), x⁽ʲ⁾(t)) = ∫₀^min(s,t) (s−u)^{q−i} (t−u)^{q−j} du / (q−i)! (q−j)!,
		// by expanding (s−u) = (s−t) + (t−u) for t ≤ s.
		for m, s := range times[n:] {
			m += n
			for i := range q + 1 {
				for j := range q + 1 {
					var sum float64
					for k := 0; k <= q-i; k++ {
						power := float64(k + q - j + 1)
						sum += choose(q-i, k) * math.Pow(s-t, float64(q-i-k)) * math.Pow(t, power) / power
					}
					sum /= factorial(q-i) * factorial(q-j)
					for k := range 2 {
						d.cov.Set(m*w+2*i+k, n*w+2*j+k, sum)
						d.cov.Set(n*w+2*j+k, m*w+2*i+k, sum)
					}
				}
			}
		}
	}
	return d
}

// given conditions on rows·x = y with errors of the given standard deviations, and returns
// the log density of y.
func (d *dense) given(rows *mat.Dense, y, sd []float64) float64 {
	n, _ := rows.Dims()
	var ph, s mat.Dense
	ph.Mul(d.cov, rows.T())
	s.Mul(rows, &ph)
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, s.At(i, j))
		}
		sym.SetSym(i, i, s.At(i, i)+sd[i]*sd[i])
	}
	var c mat.Cholesky
	if !c.Factorize(sym) {
		panic("the covariance is not positive definite")
	}
	r := mat.NewVecDense(n, nil)
	r.MulVec(rows, d.mean)
	r.SubVec(mat.NewVecDense(n, y), r)
	var u mat.VecDense
	c.SolveVecTo(&u, r)
	ll := -0.5*mat.Dot(&u, r) - 0.5*c.LogDet() - 0.5*float64(n)*math.Log(2*math.Pi)
	var step mat.VecDense
	step.MulVec(&ph, &u)
	d.mean.AddVec(d.mean, &step)
	var k, down mat.Dense
	_ = c.SolveTo(&k, ph.T())
	down.Mul(&ph, &k)
	d.cov.Sub(d.cov, &down)
	return ll
}

// equation conditions on the equation at the times with the given indices.
func (d *dense) equation(at ...int) float64 {
	w := 2 * (d.q + 1)
	rows := mat.NewDense(2*len(at), d.n*w, nil)
	y := make([]float64, 2*len(at))
	for i, n := range at {
		copy(y[2*i:], []float64{0.3, -0.1})
		for j, v := range []float64{1, -2, 2, .5} {
			rows.Set(2*i+j/2, n*w+j%2, v)
		}
		rows.Set(2*i, n*w+2, 1)
		rows.Set(2*i+1, n*w+3, 1)
	}
	return d.given(rows, y, make([]float64, len(y)))
}

// On an affine field the filter, the smoother and the solution between grid points are
// those of a dense Gaussian computation.
func TestAffine(t *testing.T) {
	times := []float64{.4, .8, 1, 1.2, 1.6, 2}
	for q := 1; q <= 3; q++ {
		w := 2 * (q + 1)
		check := func(what string, d *dense, n int, mean, sd []float64) {
			t.Helper()
			for k := range 2 {
				at := n*w + k
				if m, v := d.mean.AtVec(at), math.Sqrt(d.cov.At(at, at)); !within(mean[k], m, 1e-10) || !within(sd[k], v, 1e-10) {
					t.Errorf("q = %d, %s, time %d: %.12g ± %.12g: want %.12g ± %.12g", q, what, n, mean[k], sd[k], m, v)
				}
			}
		}
		set := Settings{EK: EK{Q: q}, Mesh: probode.Uniform(.4), Alpha: 1, Forward: true}
		d := newDense(q, times)
		d.equation(0, 1, 3)
		s := solve(t, affine(), set)
		mean, sd := s.At(1.2)
		check("filter", d, 3, mean, sd)
		d.equation(4, 5)
		set.Forward = false
		s = solve(t, affine(), set)
		for n, at := range times {
			mean, sd := s.At(at)
			check("smoother", d, n, mean, sd)
		}
	}
}

// Order 11 with short steps keeps a covariance that is positive definite.
func TestHighOrder(t *testing.T) {
	p := problems.LotkaVolterra()
	p.Span[1] = 0.5
	s := solve(t, p, Settings{EK: EK{Q: 11}, Mesh: probode.Uniform(1e-3), Forward: true})
	ref := solve(t, p, Settings{EK: EK{Q: 8}, Mesh: probode.Uniform(5e-3)})
	for k := range 2 {
		for i, sd := range s.SD[k] {
			if i > 0 && !(sd > 0) || math.IsInf(sd, 1) {
				t.Fatalf("the standard deviation at step %d is %g", i, sd)
			}
		}
		if m, want := s.Mean[k][500], ref.Mean[k][100]; !within(m, want, 1e-12) {
			t.Errorf("the mean is %.15g: want %.15g", m, want)
		}
	}
	c := s.run.chains[0]
	c.recall(len(c.points) - 1)
	if c.rows == 0 {
		t.Error("the last covariance has no factor")
	}
	for i := range c.rows {
		if r := c.r[i*c.rows+i]; r == 0 || math.IsNaN(r) {
			t.Errorf("row %d of the factor of the last covariance has %g on its diagonal", i, r)
		}
	}
}

// The mean does not depend on a constant diffusion, and the spread is proportional to κ.
func TestDiffusion(t *testing.T) {
	p := problems.FitzHughNagumo()
	set := Settings{EK: EK{Q: 3, Width: 1}, Mesh: probode.Uniform(.1)}
	estimated := solve(t, p, set)
	set.PerComponent = true
	each := solve(t, p, set)
	set.PerComponent, set.Alpha = false, 4
	fixed := solve(t, p, set)
	set.Varying, set.Alpha = true, 0
	varying := solve(t, p, set)
	for k := range 2 {
		for i := range fixed.T {
			if m := fixed.Mean[k][i]; estimated.Mean[k][i] != m || each.Mean[k][i] != m {
				t.Fatalf("component %d at time %d: means %g, %g, %g", k, i, m, estimated.Mean[k][i], each.Mean[k][i])
			}
			for _, s := range []*Solution{estimated, each} {
				if !within(s.SD[k][i]/math.Sqrt(s.Diffusion[k]/4), fixed.SD[k][i], 1e-14) {
					t.Fatalf("component %d at time %d: the standard deviation is not proportional to κ", k, i)
				}
			}
		}
	}
	if a := estimated.Diffusion[0]; !within(2*a, each.Diffusion[0]+each.Diffusion[1], 1e-12*a) || a != estimated.Diffusion[1] {
		t.Errorf("the diffusion is %g: want the mean of those of the components, %g", a, each.Diffusion)
	}
	if a, b := varying.SD[0][20], estimated.SD[0][20]; !(a > 0) || a == b {
		t.Errorf("standard deviation %g with a varying diffusion, %g with a constant one", a, b)
	}
}

// A jump moves the mean, and multiplies the errors of the state by its derivative.
func TestEvent(t *testing.T) {
	p := affine()
	p.Events = []probode.Event{{Time: 1, Jump: func(x []float64, _ float64, _ []float64) { x[0], x[1] = x[1], 3*x[0] }}}
	s := solve(t, p, Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.25), Alpha: 1, Forward: true})
	if s.T[4] != 1 || s.T[5] != 1 {
		t.Fatalf("the grid is %g: want the event as a step of length zero", s.T)
	}
	for k, c := range []float64{1, 3} {
		if got, want := s.Mean[k][5], c*s.Mean[1-k][4]; !within(got, want, 1e-14) {
			t.Errorf("after the event the mean is %g: want %g", got, want)
		}
		if got, want := s.SD[k][5], c*s.SD[1-k][4]; !within(got/want, 1, 1e-6) {
			t.Errorf("after the event the standard deviation is %g: want %g", got, want)
		}
	}
	// An event that changes nothing costs no information on an affine field except the
	// derivatives above the first, which are exact functions of the state.
	q := affine()
	q.Events = []probode.Event{{Time: 1}}
	smooth := solve(t, q, Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.25), Alpha: 1})
	forward := solve(t, q, Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.25), Alpha: 1, Forward: true})
	plain := solve(t, affine(), Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.25), Alpha: 1})
	for k := range 2 {
		if a, b := smooth.SD[k][4], smooth.SD[k][5]; !within(a/b, 1, 1e-6) || !(a <= forward.SD[k][4]*(1+1e-9)) {
			t.Errorf("at an event without a jump the standard deviations are %g and %g, %g for the filter", a, b, forward.SD[k][4])
		}
		if a, b := smooth.Mean[k][9], plain.Mean[k][8]; !within(a, b, 1e-3) {
			t.Errorf("after an event without a jump the mean is %g: want about %g", a, b)
		}
	}
}

// The first steps of an error-controlled run may be so short that rounding errors are the
// residuals. Then there is no estimate of the diffusion.
func TestRounding(t *testing.T) {
	p := problems.RigidBody()
	p.Span[1] = 5
	set := Settings{EK: EK{Q: 5}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}}
	if s, err := Solve(context.Background(), p, set); err == nil {
		t.Errorf("the diffusion is %g with a first step of %g: want an error", s.Diffusion[0], s.T[1])
	}
	set.Varying = true
	s := solve(t, p, set)
	ref := solve(t, p, Settings{EK: EK{Q: 8}, Mesh: probode.Uniform(.01)})
	for k := range 3 {
		last := len(s.T) - 1
		if e, sd := math.Abs(s.Mean[k][last]-ref.Mean[k][500]), s.SD[k][last]; !(e < 1e-4 && sd < 1e-2 && sd > e/30) {
			t.Errorf("component %d: error %.2g with a standard deviation of %.2g", k, e, sd)
		}
	}
}

// F without a Taylor series at the start is an error; rounding errors of F are not.
func TestStart(t *testing.T) {
	p := &probode.Problem{X0: []float64{1}, Span: [2]float64{0, 1}, F: func(d []float64, t float64, x, _ []float64) { d[0] = math.Sqrt(t) - x[0] }}
	if _, err := Solve(context.Background(), p, Settings{EK: EK{Q: 3}, Mesh: probode.Uniform(.1)}); err == nil {
		t.Error("no error for a start at a singularity of F")
	}
	p.F = func(d []float64, t float64, x, _ []float64) { d[0] = (1e3 - x[0]) - 1e3 + math.Sin(t) }
	want := 1.5*math.Exp(-1) + (math.Sin(1)-math.Cos(1))/2
	for _, autonomous := range []bool{false, true} {
		if p.Autonomous = autonomous; autonomous { // the time is a component of the state
			p.X0 = []float64{1, 0}
			p.F = func(d []float64, _ float64, x, _ []float64) { d[0], d[1] = (1e3-x[0])-1e3+math.Sin(x[1]), 1 }
		}
		s := solve(t, p, Settings{EK: EK{Q: 5}, Mesh: probode.Uniform(.02)})
		if got := s.Mean[0][50]; !within(got, want, 1e-9) {
			t.Errorf("autonomous %t: x(1) is %.12g: want %.12g", autonomous, got, want)
		}
	}
}

// The paths of the method have the mean and the covariance of the filter, and draws from a
// Solution those of the smoother. With 3,000 paths a standard deviation has an error of 1.3
// %, so 7 % are missed with a probability below 1e-6.
func TestPaths(t *testing.T) {
	const n = 3000
	for _, m := range []EK{{Q: 2}, {Q: 2, Jacobian: Zero}, {Q: 3, SecondOrder: true}} {
		p := problems.FitzHughNagumo()
		if m.SecondOrder {
			p = oscillator()
		}
		p.Span[1] = 5
		set := Settings{EK: m, Mesh: probode.Uniform(.05), Alpha: 1, Forward: true}
		forward := solve(t, p, set)
		paths, err := probode.Integrate(context.Background(), p, m, n, probode.Settings{StepSize: .05, Alpha: 1, Seed: 1, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		set.Forward = false
		smooth := solve(t, p, set)
		draws := smooth.Ensemble(n, 2)
		for k := range 2 {
			for _, i := range []int{1, 20, 50, 80, 100} {
				if got, want := paths.SD[k][i], forward.SD[k][i]; !(math.Abs(got/want-1) < .07) {
					t.Errorf("%v, component %d at time %d: the paths have sd %.4g, the filter %.4g", m, k, i, got, want)
				}
				if got, want := paths.Mean[k][i], forward.Mean[k][i]; !(math.Abs(got-want) < 5.5/math.Sqrt(n)*forward.SD[k][i]) {
					t.Errorf("%v, component %d at time %d: the paths have mean %.6g, the filter %.6g", m, k, i, got, want)
				}
				var sum, square float64
				for _, path := range draws.Paths {
					e := path[2*i+k] - smooth.Mean[k][i]
					sum, square = sum+e, square+e*e
				}
				if got, want := math.Sqrt(square/n), smooth.SD[k][i]; !(math.Abs(got/want-1) < .07) || math.Abs(sum/n) > 5.5/math.Sqrt(n)*want {
					t.Errorf("%v, component %d at time %d: draws have mean %.2g and sd %.4g: want 0 and %.4g", m, k, i, sum/n, got, want)
				}
			}
		}
	}
}

// Draws do not depend on whether the distributions are smoothed: then the steps are taken
// again, backwards, and otherwise their results are kept.
func TestDraws(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 4
	p.Events = []probode.Event{{Time: 2, Jump: func(x []float64, _ float64, _ []float64) { x[0] += x[1] }}}
	for _, m := range []EK{{Q: 3}, {Q: 2, Width: 1}, {Q: 2, Jacobian: Zero}} {
		for _, mesh := range []probode.Mesh{probode.Uniform(.1), probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}} {
			var draws [2][]float64
			for i := range draws {
				s, err := Solve(context.Background(), p, Settings{EK: m, Mesh: mesh, Forward: i == 1})
				if err != nil {
					t.Fatal(err)
				}
				draws[i] = s.Ensemble(1, 3).Paths[0]
			}
			for i, x := range draws[0] {
				if y := draws[1][i]; !within(y, x, 1e-9*max(1, math.Abs(x))) {
					t.Fatalf("%v, %v: value %d of a draw is %.14g after smoothing and %.14g without", m, mesh, i, x, y)
				}
			}
		}
	}
}

// A datum and the solution at the start are those before an event at the same time, whose
// state is certain, as with any other method.
func TestEventAtStart(t *testing.T) {
	p := affine()
	p.Events = []probode.Event{{Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }}}
	s := solve(t, p, Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.1)})
	if s.T[1] != 0 || s.Mean[0][0] != 1 || s.Mean[0][1] != 2 || s.SD[0][0] != 0 {
		t.Errorf("the means are %g and %g at the times %g, and the first sd is %g: want 1 before the event, and 2 after it", s.Mean[0][0], s.Mean[0][1], s.T[:2], s.SD[0][0])
	}
	path := make([]float64, 2*len(s.T))
	if s.Draw(path, probode.Stream(1)); path[0] != 1 || path[2] != 2 {
		t.Errorf("a draw begins with %g: want 1 before the event, and 2 after it", path[:4])
	}
	for _, dalton := range []bool{false, true} {
		late := logLikelihood(t, p, EK{Q: 2}, probode.Through(.1), []float64{1}, [][]float64{{.5, -1}}, dalton)
		both := logLikelihood(t, p, EK{Q: 2}, probode.Through(.1), []float64{0, 1}, [][]float64{{1.1, .5}, {.5, -1}}, dalton)
		if own := -.5 - math.Log(2*math.Pi*.01); !within(both-late, own, 1e-12) {
			t.Errorf("DALTON %t: the log density of the first datum is %.12g: want %.12g", dalton, both-late, own)
		}
	}
}

// Residuals whose squares underflow do not make the spread zero.
func TestUnderflow(t *testing.T) {
	p := &probode.Problem{X0: []float64{1e-200}, Span: [2]float64{0, 1}, F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] }}
	if s, err := Solve(context.Background(), p, Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.1)}); err == nil {
		t.Errorf("an unscaled problem has the diffusion %g: want an error", s.Diffusion)
	}
	p.F = func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }
	if s := solve(t, p, Settings{EK: EK{Q: 2}, Mesh: probode.Uniform(.1)}); s.SD[0][10] != 0 {
		t.Errorf("a constant has the sd %g", s.SD[0][10])
	}
}
