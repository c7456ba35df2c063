package probode_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// every returns all the methods of the module, each linearisation included.
func every() []Method {
	var ms []Method
	for s := 1; s <= 5; s++ {
		ms = append(ms, adams.Bashforth{Steps: s})
	}
	for s := 0; s <= 4; s++ {
		for _, l := range []adams.Linearization{adams.Newton, adams.Current, adams.Predictor} {
			ms = append(ms, adams.Moulton{Steps: s, Linearize: l})
		}
	}
	for _, t := range []*methods.Tableau{methods.RK4, methods.Heun, methods.Midpoint, methods.DormandPrince} {
		ms = append(ms, methods.RungeKutta{Tableau: t})
	}
	return ms
}

func mustSolver(t testing.TB, p *Problem, m Method, h, alpha float64) *Solver {
	t.Helper()
	return mustSolverOn(t, p, m, mustUniform(t, p, h), alpha)
}

func mustSolverOn(t testing.TB, p *Problem, m Method, g *Grid, alpha float64) *Solver {
	t.Helper()
	s, err := NewSolver(p, m, g, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustUniform(t testing.TB, p *Problem, h float64) *Grid {
	t.Helper()
	g, err := UniformGrid(p, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func solve(t testing.TB, s *Solver, xi []float64) []float64 {
	t.Helper()
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, s.Problem().Theta, xi); err != nil {
		t.Fatal(err)
	}
	return z
}

// riccati is x′ = 2t x² on [0, 1] from 1/2, with x = 1/(2 − t²): not linear,
// not autonomous, and known.
func riccati() *Problem {
	return &Problem{
		Name: "Riccati", X0: []float64{0.5}, Span: [2]float64{0, 1},
		F:  func(f []float64, t float64, x, _ []float64) { f[0] = 2 * t * x[0] * x[0] },
		FJ: func(f, j []float64, t float64, x, _ []float64) { f[0], j[0] = 2*t*x[0]*x[0], 4*t*x[0] },
	}
}

// coupled is a problem of four components with every pair coupled, explicit
// time and the solution (e^{sin t²}, e^{5 sin t²}, 1 + sin t², cos t²), whose
// error constants do not vanish by accident as they do in one dimension
// [HNW93, §II.7, the test of continuous methods].
func coupled() *Problem {
	return &Problem{
		Name: "coupled", X0: []float64{1, 1, 1, 1}, Span: [2]float64{0, 1},
		F: func(f []float64, t float64, x, _ []float64) {
			f[0] = 2 * t * math.Pow(x[1], 0.2) * x[3]
			f[1] = 10 * t * math.Exp(5*(x[2]-1)) * x[3]
			f[2] = 2 * t * x[3]
			f[3] = -2 * t * math.Log(x[0])
		},
	}
}

// The observed order between two steps of the asymptotic range is that of
// Method.Order. The next term of the error expansion is h times smaller with
// a constant of some tens, so that at these steps 0.2 is ample.
func TestOrders(t *testing.T) {
	for _, m := range every() {
		h, ratio := 1./256, 2.
		switch {
		case m.Order() <= 2:
			h = 1. / 1024
		case m == Method(methods.RungeKutta{Tableau: methods.DormandPrince}):
			// Two error terms of opposite sign make its curve uneven; over a
			// long stretch that averages out.
			h, ratio = 1./16, 16
		}
		var e [2]float64
		for i := range e {
			s := mustSolver(t, coupled(), m, h, 0)
			z := solve(t, s, nil)
			for k, tk := range s.Times() {
				sin, cos := math.Sincos(tk * tk)
				for c, x := range []float64{math.Exp(sin), math.Exp(5 * sin), 1 + sin, cos} {
					e[i] = max(e[i], math.Abs(z[4*k+c]-x))
				}
			}
			h /= ratio
		}
		if got := math.Log(e[0]/e[1]) / math.Log(ratio); math.Abs(got-float64(m.Order())) > 0.2 {
			t.Errorf("%v: observed order %.2f (%.1e), want %d", m, got, e[1], m.Order())
		}
	}
}

// The documented order of the paper's linearisation is a fact about the
// method and not an upper bound: one step from exact values leaves a
// remainder of order h³ whatever s is.
func TestCurrentLosesOrder(t *testing.T) {
	for s, want := range map[int]int{0: 1, 1: 2, 2: 2, 3: 2, 4: 2} {
		if got := (adams.Moulton{Steps: s, Linearize: adams.Current}).Order(); got != want {
			t.Errorf("s = %d: order %d, want %d", s, got, want)
		}
	}
}

// Newton's solution satisfies the equation of the method to rounding: about
// 10⁻¹⁶ of the terms of r, of which the largest is z/(hβ₋₁).
func TestNewtonSolvesTheEquation(t *testing.T) {
	p := problems.FitzHughNagumo()
	const h = 0.05
	for s := 0; s <= 4; s++ {
		solver := mustSolver(t, p, adams.Moulton{Steps: s}, h, 0)
		z := solve(t, solver, nil)
		next, past := adams.MoultonCoefficients(s)
		f := make([]float64, 2)
		for i := max(0, s-1); i < solver.Steps(); i++ {
			r := []float64{z[2*i+2] - z[2*i], z[2*i+3] - z[2*i+1]}
			p.F(f, 0, z[2*i+2:2*i+4], p.Theta)
			for k := range r {
				r[k] -= h * next * f[k]
			}
			for j, b := range past {
				p.F(f, 0, z[2*(i-j):2*(i-j)+2], p.Theta)
				for k := range r {
					r[k] -= h * b * f[k]
				}
			}
			if max(math.Abs(r[0]), math.Abs(r[1])) > 1e-14 {
				t.Fatalf("AM%d, step %d: the equation is off by %v", s, i, r)
			}
		}
	}
}

// One step of the Gaussian distribution against the moments of [T18, §2.4] written down with
// gonum's matrices: the mean of the first noisy step, and its displacement
// under unit vectors ξ, which are the columns of √α h^{s+1/2} Γ⁻¹J.
func TestOneStepMoments(t *testing.T) {
	p := problems.FitzHughNagumo()
	const h, alpha = 0.1, 0.2
	eye := mat.NewDiagDense(2, []float64{1, 1})
	for s := 0; s <= 4; s++ {
		for _, lin := range []adams.Linearization{adams.Newton, adams.Current, adams.Predictor} {
			m := adams.Moulton{Steps: s, Linearize: lin}
			solver := mustSolver(t, p, m, h, alpha)
			z := solve(t, solver, nil)
			i := solver.Startup()
			next, past := adams.MoultonCoefficients(s)
			zi := z[2*i : 2*i+2]
			slopes := func(j int) []float64 {
				f := make([]float64, 2)
				p.F(f, 0, z[2*(i-j):2*(i-j)+2], p.Theta)
				return f
			}
			c := []float64{zi[0], zi[1]}
			if lin == adams.Predictor {
				for j, b := range adams.BashforthCoefficients(max(1, s)) {
					for k, v := range slopes(j) {
						c[k] += h * b * v
					}
				}
			}
			f, jac := make([]float64, 2), make([]float64, 4)
			p.FJ(f, jac, 0, c, p.Theta)
			J := mat.NewDense(2, 2, jac)
			var gamma mat.Dense
			gamma.Scale(1/(h*next), eye)
			gamma.Sub(&gamma, J)

			if lin != adams.Newton { // the mean: Γ(μ − c) = −r(c)
				rhs := mat.NewVecDense(2, nil)
				for k := range f {
					rhs.SetVec(k, f[k]-(c[k]-zi[k])/(h*next))
				}
				for j, b := range past {
					for k, v := range slopes(j) {
						rhs.SetVec(k, rhs.AtVec(k)+b/next*v)
					}
				}
				var mu mat.VecDense
				if err := mu.SolveVec(&gamma, rhs); err != nil {
					t.Fatal(err)
				}
				for k := range c {
					if got, want := z[2*i+2+k], c[k]+mu.AtVec(k); math.Abs(got-want) > 1e-13 {
						t.Errorf("%v: mean %v, want %v", m, got, want)
					}
				}
			}
			var want mat.Dense
			if err := want.Solve(&gamma, J); err != nil {
				t.Fatal(err)
			}
			want.Scale(math.Sqrt(alpha*math.Pow(h, float64(2*s+1))), &want)
			for unit := range 2 {
				xi := make([]float64, solver.NoiseLen())
				xi[2*i+unit] = 1
				y := solve(t, solver, xi)
				for k := range 2 {
					got := y[2*i+2+k] - z[2*i+2+k]
					if math.Abs(got-want.At(k, unit)) > 1e-15 { // a difference of numbers of size 1
						t.Errorf("%v: noise (%d, %d) is %v, want %v", m, k, unit, got, want.At(k, unit))
					}
				}
			}
		}
	}
}

// Explicit methods add √α h^{q+1/2} ξ to the state and nothing else.
func TestExplicitNoise(t *testing.T) {
	for _, m := range every() {
		if _, ok := m.(adams.Moulton); ok {
			continue
		}
		const h, alpha = 0.125, 0.3
		s := mustSolver(t, riccati(), m, h, alpha)
		xi := make([]float64, s.NoiseLen())
		xi[s.Startup()] = 1
		n := s.Startup() + 1
		got := solve(t, s, xi)[n] - solve(t, s, nil)[n]
		want := math.Sqrt(alpha) * math.Pow(h, m.Noise(1).Exponent)
		if math.Abs(got-want) > 1e-15 {
			t.Errorf("%v: noise %v, want %v", m, got, want)
		}
		if exponent := float64(m.Order()) + 0.5; m.Noise(1).Exponent != exponent {
			t.Errorf("%v: noise exponent %g, want %g", m, m.Noise(1).Exponent, exponent)
		}
	}
}

// ξ = 0, no ξ and α = 0 all give the classical method, and the first steps of
// a multistep method carry no noise.
func TestClassicalMethod(t *testing.T) {
	p := problems.FitzHughNagumo()
	for _, m := range every() {
		s := mustSolver(t, p, m, 0.03125, 0.2)
		want := solve(t, s, nil)
		zero := make([]float64, s.NoiseLen())
		if diff := maxDiff(solve(t, s, zero), want); diff != 0 {
			t.Errorf("%v: ξ = 0 differs by %g", m, diff)
		}
		xi := make([]float64, s.NoiseLen())
		DrawNoise(xi, 1, 1)
		quiet := mustSolver(t, p, m, 0.03125, 0)
		if diff := maxDiff(solve(t, quiet, xi), want); diff != 0 {
			t.Errorf("%v: α = 0 differs by %g", m, diff)
		}
		infinite := make([]float64, len(xi)) // as a product with an infinite scale
		for i := range infinite {
			infinite[i] = math.Inf(1)
		}
		if diff := maxDiff(solve(t, quiet, infinite), want); diff != 0 {
			t.Errorf("%v: α = 0 and an infinite scale differ by %g", m, diff)
		}
		noisy := solve(t, s, xi)
		first := 2 * (s.Startup() + 1)
		if maxDiff(noisy[:first], want[:first]) != 0 || noisy[first] == want[first] {
			t.Errorf("%v: noise does not begin at grid point %d", m, s.Startup()+1)
		}
	}
}

func maxDiff(a, b []float64) float64 {
	var d float64
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

// Without FJ, Jacobians come from differences of F, which are good to 1e-7;
// an implicit step multiplies them by h. Banded and dense storage differ by
// rounding.
func TestJacobianForms(t *testing.T) {
	for _, p := range []*Problem{problems.FitzHughNagumo(), problems.Brusselator(10), riccati()} {
		p.Span[1] = p.Span[0] + 1
		for _, m := range []Method{adams.Moulton{}, adams.Moulton{Steps: 1, Linearize: adams.Current}, adams.Moulton{Steps: 3, Linearize: adams.Predictor}} {
			s := mustSolver(t, p, m, 1./64, 0.1)
			xi := make([]float64, s.NoiseLen())
			DrawNoise(xi, 1, 1)
			want := solve(t, s, xi)
			differences := *p
			differences.FJ = nil
			if d := maxDiff(solve(t, mustSolver(t, &differences, m, 1./64, 0.1), xi), want); d > 1e-6 || d == 0 {
				t.Errorf("%s, %v: differences of F change the path by %g", p.Name, m, d)
			}
			if p.Band == nil {
				continue
			}
			dense := differences
			dense.Band = nil
			if d := maxDiff(solve(t, mustSolver(t, &dense, m, 1./64, 0.1), xi), want); d > 1e-6 {
				t.Errorf("%s, %v: the dense form differs by %g", p.Name, m, d)
			}
		}
	}
}

// On a stiff linear problem, at a step 10⁴ times longer than the fast time
// scale, the implicit methods of 0 and 1 steps stay near the solution in all
// linearisations that promise it; the explicit ones do not.
func TestStiff(t *testing.T) {
	const lambda = 1e6
	p := &Problem{
		Name: "Prothero–Robinson", X0: []float64{1}, Span: [2]float64{0, 1},
		F: func(f []float64, t float64, x, _ []float64) { f[0] = -lambda*(x[0]-math.Cos(t)) - math.Sin(t) },
		FJ: func(f, j []float64, t float64, x, _ []float64) {
			f[0], j[0] = -lambda*(x[0]-math.Cos(t))-math.Sin(t), -lambda
		},
	}
	for s := range 2 {
		for _, l := range []adams.Linearization{adams.Newton, adams.Current} {
			z := solve(t, mustSolver(t, p, adams.Moulton{Steps: s, Linearize: l}, 0.01, 0), nil)
			if e := math.Abs(z[100] - math.Cos(1)); e > 1e-3 {
				t.Errorf("AM%d (%v): error %g at a stiff problem", s, l, e)
			}
		}
	}
	s := mustSolver(t, p, adams.Bashforth{}, 0.01, 0)
	err := s.Solve(make([]float64, s.PathLen()), nil, nil)
	var se *SolveError
	if !errors.As(err, &se) || !errors.Is(err, ErrDiverged) || se.Step == 0 || math.Abs(se.T-0.01*float64(se.Step)) > 1e-12 {
		t.Errorf("AB1 at a stiff problem: error %v", err)
	}

	// van der Pol at μ = 1000 over its slow phase: the default method with a
	// step of 1/1000 of the time scale of the whole.
	vdp := problems.VanDerPol(1000)
	vdp.Span = [2]float64{0, 0.8}
	for s := range 2 {
		if z := solve(t, mustSolver(t, vdp, adams.Moulton{Steps: s}, 0.001, 0), nil); math.Abs(z[len(z)-2]) > 2 {
			t.Errorf("AM%d: van der Pol ends at %g", s, z[len(z)-2])
		}
	}
}

// The mean-square error falls at twice the order, ρ = 2s+1 being the noise
// that neither dominates nor vanishes beside the classical error (Theorem,
// part iii). 400 paths with common noise across steps leave about 0.1 in the
// slope; three such errors and the next order are 0.4.
func TestMeanSquareOrder(t *testing.T) {
	for _, m := range []Method{adams.Bashforth{Steps: 1}, adams.Bashforth{Steps: 2}, adams.Moulton{}, adams.Moulton{Steps: 1}, adams.Moulton{Steps: 2}, adams.Moulton{Steps: 2, Linearize: adams.Current}} {
		var ms [2]float64
		for i, h := range []float64{1. / 128, 1. / 512} {
			s := mustSolver(t, riccati(), m, h, 1)
			z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
			for path := range 400 {
				if err := s.SolvePath(z, nil, xi, 1, uint64(path)); err != nil {
					t.Fatal(err)
				}
				var worst float64
				for k, tk := range s.Times() {
					worst = max(worst, math.Abs(z[k]-1/(2-tk*tk)))
				}
				ms[i] += worst * worst / 400
			}
		}
		if got := math.Log2(ms[0]/ms[1]) / 2; math.Abs(got-2*float64(m.Order())) > 0.4 {
			t.Errorf("%v: mean square error falls like h^%.2f, want h^%d", m, got, 2*m.Order())
		}
	}
}

func ExampleSolver_Solve() {
	p := problems.Logistic()
	g, err := UniformGrid(p, nil, 0.25)
	if err != nil {
		panic(err)
	}
	s, err := NewSolver(p, adams.Moulton{Steps: 1}, g, 0.1)
	if err != nil {
		panic(err)
	}
	z := make([]float64, s.PathLen())
	xi := make([]float64, s.NoiseLen())

	s.Solve(z, p.Theta, nil) // ξ = 0: the trapezoidal rule
	fmt.Printf("classical  %.4f\n", z[len(z)-1])
	for path := range 3 {
		DrawNoise(xi, 1, uint64(path))
		s.Solve(z, p.Theta, xi)
		fmt.Printf("path %d     %.4f\n", path, z[len(z)-1])
	}
	// Output:
	// classical  0.9789
	// path 0     0.9912
	// path 1     0.9913
	// path 2     0.9771
}
