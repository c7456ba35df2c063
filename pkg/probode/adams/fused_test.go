package adams

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// runProblems are of one to six dimensions, with and without a t in f, and
// with a Jacobian that makes rows change places in the linear algebra.
func runProblems() []*probode.Problem {
	logistic := &probode.Problem{Name: "logistic", X0: []float64{0.1}, Span: [2]float64{0, 8}, Theta: []float64{1.5, 3}, Autonomous: true,
		F: func(dst []float64, _ float64, x, theta []float64) { dst[0] = theta[0] * x[0] * (1 - x[0]/theta[1]) },
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			f[0], jac[0] = theta[0]*x[0]*(1-x[0]/theta[1]), theta[0]*(1-2*x[0]/theta[1])
		},
		FTheta: func(dst []float64, _ float64, x, theta []float64) {
			q := x[0] / theta[1]
			dst[0], dst[1] = x[0]*(1-q), theta[0]*q*q
		}}
	forced := &probode.Problem{Name: "forced", X0: []float64{0.1}, Span: [2]float64{0, 8},
		F: func(dst []float64, t float64, x, _ []float64) { dst[0] = math.Sin(t) - x[0]*x[0]*x[0] },
		FJ: func(f, jac []float64, t float64, x, _ []float64) {
			f[0], jac[0] = math.Sin(t)-x[0]*x[0]*x[0], -3*x[0]*x[0]
		}}
	nerve := &probode.Problem{Name: "FitzHugh–Nagumo", X0: []float64{-1, 1}, Span: [2]float64{0, 8}, Theta: []float64{.2, .2, 3}, Autonomous: true,
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = theta[2] * (x[0] - x[0]*x[0]*x[0]/3 + x[1])
			dst[1] = -(x[0] - theta[0] + theta[1]*x[1]) / theta[2]
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			v2, over := x[0]*x[0], 1/theta[2]
			f[0] = theta[2] * (x[0] - v2*x[0]/3 + x[1])
			f[1] = -(x[0] - theta[0] + theta[1]*x[1]) * over
			jac[0], jac[1], jac[2], jac[3] = theta[2]*(1-v2), theta[2], -over, -theta[1]*over
		},
		FTheta: func(dst []float64, _ float64, x, theta []float64) {
			over := 1 / theta[2]
			dst[2] = x[0] - x[0]*x[0]*x[0]/3 + x[1]
			dst[3], dst[4], dst[5] = over, -x[1]*over, (x[0]-theta[0]+theta[1]*x[1])*over*over
		}}
	duffing := &probode.Problem{Name: "Duffing", X0: []float64{1, 0}, Span: [2]float64{0, 8},
		F: func(dst []float64, t float64, x, _ []float64) {
			dst[0], dst[1] = x[1], x[0]-x[0]*x[0]*x[0]-0.2*x[1]+0.3*math.Cos(t)
		},
		FJ: func(f, jac []float64, t float64, x, _ []float64) {
			f[0], f[1] = x[1], x[0]-x[0]*x[0]*x[0]-0.2*x[1]+0.3*math.Cos(t)
			jac[1], jac[2], jac[3] = 1, 1-3*x[0]*x[0], -0.2
		}}
	lorenz := &probode.Problem{Name: "Lorenz 63", X0: []float64{1, 1, 20}, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(dst []float64, _ float64, x, _ []float64) {
			dst[0], dst[1], dst[2] = 10*(x[1]-x[0]), x[0]*(28-x[2])-x[1], x[0]*x[1]-8./3*x[2]
		},
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			f[0], f[1], f[2] = 10*(x[1]-x[0]), x[0]*(28-x[2])-x[1], x[0]*x[1]-8./3*x[2]
			jac[0], jac[1] = -10, 10
			jac[3], jac[4], jac[5] = 28-x[2], -1, -x[0]
			jac[6], jac[7], jac[8] = x[1], x[0], -8./3
		}}
	pair := &probode.Problem{Name: "two pendulums", X0: []float64{1, 0, -0.5, 0.3}, Span: [2]float64{0, 8},
		F: func(dst []float64, t float64, x, _ []float64) {
			dst[0], dst[1] = x[1], -math.Sin(x[0])-0.5*(x[0]-x[2])
			dst[2], dst[3] = x[3], -math.Sin(x[2])+0.5*(x[0]-x[2])+0.1*math.Cos(t)
		},
		FJ: func(f, jac []float64, t float64, x, _ []float64) {
			f[0], f[1] = x[1], -math.Sin(x[0])-0.5*(x[0]-x[2])
			f[2], f[3] = x[3], -math.Sin(x[2])+0.5*(x[0]-x[2])+0.1*math.Cos(t)
			jac[1], jac[4], jac[6] = 1, -math.Cos(x[0])-0.5, 0.5
			jac[11], jac[12], jac[14] = 1, 0.5, -math.Cos(x[2])-0.5
		}}
	// A nearly conserved sum and rates of many sizes: inverses by cofactors
	// are not to be trusted here.
	robertson := &probode.Problem{Name: "Robertson", X0: []float64{1, 0, 0}, Span: [2]float64{0, 40}, Autonomous: true,
		F: func(dst []float64, _ float64, x, _ []float64) {
			a, b, c := .04*x[0], 1e4*x[1]*x[2], 3e7*x[1]*x[1]
			dst[0], dst[1], dst[2] = b-a, a-b-c, c
		},
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			a, b, c := .04*x[0], 1e4*x[1]*x[2], 3e7*x[1]*x[1]
			f[0], f[1], f[2] = b-a, a-b-c, c
			jac[0], jac[1], jac[2] = -.04, 1e4*x[2], 1e4*x[1]
			jac[3], jac[4], jac[5] = .04, -1e4*x[2]-6e7*x[1], -1e4*x[1]
			jac[7] = 6e7 * x[1]
		}}
	weather := problems.Lorenz96(6)
	weather.Span[1] = 2
	weather.FTheta = func(dst []float64, _ float64, _, _ []float64) {
		for k := range dst {
			dst[k] = 1
		}
	}
	timed := *lorenz // f at both ends of a step, as if it had a t
	timed.Name, timed.Autonomous = "Lorenz 63 in time", false
	return []*probode.Problem{logistic, forced, nerve, duffing, lorenz, &timed, robertson, pair, weather}
}

// runMethods are those whose steppers have Run.
func runMethods() (all []probode.Method) {
	for s := range 5 {
		all = append(all, Bashforth{Steps: s + 1}, Moulton{Steps: s, Linearize: Current}, Moulton{Steps: s})
	}
	return append(all, methods.RungeKutta{}, methods.RungeKutta{Tableau: methods.DormandPrince})
}

// stepwise solves path z on the grid g by single steps up to step `to`. With noise, the
// first steps of a multistep method have none.
func stepwise(s *probode.Stepper, m probode.Method, g *probode.Grid, z, theta, xi, scale []float64, d, to int) (int, error) {
	var one probode.Step
	for i := range to {
		one.T, one.End, one.H, one.Index, one.X, one.Next, one.Theta = g.Times()[i], g.Times()[i+1], g.H(i), i, row(z, i, d), row(z, i+1, d), theta
		if i == 0 && s.Start != nil {
			if err := s.Start(&one); err != nil {
				return 0, err
			}
		}
		if xi != nil && i >= m.Noise(d).Quiet {
			one.Xi, one.Scale = row(xi, i, d), scale
		}
		err := s.Step(&one)
		if err == nil {
			err = diverged(one.Next)
		}
		if err != nil {
			return i, err
		}
	}
	return to, nil
}

// piece is the part of a path on the grid g from step `from` to step `to`.
func piece(g *probode.Grid, z, theta, xi, scale []float64, from, to, d int) *probode.Run {
	r := &probode.Run{T: g.Times()[from : to+1], H: g.H(from), Z: z[from*d : (to+1)*d], Theta: theta}
	if xi != nil {
		r.Xi, r.Scale = xi[from*d:to*d], scale
	}
	return r
}

// A run has the bits of single steps, with and without noise, from any grid
// point to any other.
func TestRunIsManySteps(t *testing.T) {
	for _, p := range runProblems() {
		for _, m := range runMethods() {
			for _, h := range []float64{0.25, 0.125 / 16} {
				for _, noise := range []bool{false, true} {
					compareRun(t, p, m, h, noise)
				}
			}
		}
	}
}

func compareRun(t *testing.T, p *probode.Problem, m probode.Method, h float64, noise bool) {
	name := fmt.Sprintf("%s, %v, h = %g, noise %v", p.Name, m, h, noise)
	g, err := probode.UniformGrid(p, p.Theta, h)
	if err != nil {
		t.Fatal(err)
	}
	one, err := m.Stepper(p, g)
	if err != nil {
		t.Fatal(err)
	}
	many, _ := m.Stepper(p, g)
	if many.Run == nil {
		if a, ok := m.(Moulton); !ok || p.Dim() <= 3 || a.Linearize == Current {
			t.Errorf("%s: no run", name)
		}
		return
	}
	n, d := g.Steps(), p.Dim()
	want, got := make([]float64, (n+1)*d), make([]float64, (n+1)*d)
	copy(want, p.X0)
	copy(got, p.X0)
	scale := make([]float64, d)
	for k := range scale {
		scale[k] = 0.3 * math.Pow(h, m.Noise(d).Exponent) / float64(k+1)
	}
	var xi []float64
	if noise {
		xi = make([]float64, n*d)
		probode.DrawNoise(xi, 1, 2)
	}
	last, errOne := stepwise(one, m, g, want, p.Theta, xi, scale, d, n)
	var errMany error
	at := 0
	quiet := m.Noise(d).Quiet // a run with noise begins after them
	if xi == nil {
		quiet = 0
	}
	if quiet > 0 {
		at, errMany = stepwise(many, m, g, got, p.Theta, xi, scale, d, quiet)
	} else if many.Start != nil {
		many.Start(&probode.Step{})
	}
	for size := 1; at < n && errMany == nil; size += 3 {
		to := min(n, at+size)
		taken, err := many.Run(piece(g, got, p.Theta, xi, scale, at, to, d))
		at, errMany = at+taken, err
	}
	if !errors.Is(errMany, errOne) || at != last {
		t.Fatalf("%s: step %d, %v; single steps: step %d, %v", name, at, errMany, last, errOne)
	}
	for k := range (last + 1) * d {
		if got[k] != want[k] {
			t.Fatalf("%s: step %d is %v, want %v", name, k/d, got[k], want[k])
		}
	}
	if errOne != nil {
		return
	}
	if one.Memory == 0 {
		return
	}
	x, y := make([]float64, one.Memory), make([]float64, one.Memory)
	one.Save(x)
	many.Save(y)
	for k := range x {
		if x[k] != y[k] {
			t.Errorf("%s: memory %v, want %v", name, y, x)
			break
		}
	}
}

// Where a step fails, a run fails with the same error at the same step.
func TestRunFails(t *testing.T) {
	for _, p := range runProblems() {
		d := p.Dim()
		for _, lin := range []Linearization{Current, Newton} {
			if d > 3 && lin == Newton {
				continue
			}
			for name, bad := range map[string]func(f, jac []float64, h float64){
				"singular": func(_, jac []float64, h float64) {
					clear(jac)
					for k := 0; k < d*d; k += d + 1 {
						jac[k] = 1 / h
					}
				},
				"NaN in J":   func(_, jac []float64, _ float64) { jac[0] = math.NaN() },
				"NaN in f":   func(f, _ []float64, _ float64) { f[0] = math.NaN() },
				"huge":       func(f, _ []float64, _ float64) { f[d-1] = 1e150 },
				"no root":    func(f, jac []float64, _ float64) { f[0], jac[0] = 1e3*math.Copysign(1, f[0]), 0.1 },
				"one is Inf": func(f, _ []float64, _ float64) { f[d-1] = math.Inf(1) },
			} {
				const h = 0.0625
				q := *p
				q.FJ = func(f, jac []float64, t float64, x, theta []float64) {
					p.FJ(f, jac, t, x, theta)
					if t > 1 {
						bad(f, jac, h)
					}
				}
				g, err := probode.UniformGrid(&q, q.Theta, h)
				if err != nil {
					t.Fatal(err)
				}
				m := Moulton{Linearize: lin}
				one, _ := m.Stepper(&q, g)
				again, _ := m.Stepper(&q, g)
				n := g.Steps()
				z := make([]float64, (n+1)*d)
				copy(z, p.X0)
				last, want := stepwise(one, m, g, z, p.Theta, nil, nil, d, n)
				at, got := again.Run(piece(g, z, p.Theta, nil, nil, 0, n, d))
				if at != last || got != want {
					t.Errorf("%s, %v, %s: step %d, %v; want %d, %v", p.Name, m, name, at, got, last, want)
				}
				if want == nil && name != "no root" && name != "NaN in J" { // differences replace J
					t.Errorf("%s, %v, %s: no error", p.Name, m, name)
				}
			}
		}
	}
}

// BenchmarkRun is a step with stored noise in a run, and alone.
func BenchmarkRun(b *testing.B) {
	for _, p := range runProblems() {
		h := (p.Span[1] - p.Span[0]) / 1024
		g, err := probode.UniformGrid(p, p.Theta, h)
		if err != nil {
			b.Fatal(err)
		}
		n, d := g.Steps(), p.Dim()
		z, xi, scale := make([]float64, (n+1)*d), make([]float64, n*d), make([]float64, d)
		copy(z, p.X0)
		probode.DrawNoise(xi, 1, 2)
		for k := range scale {
			scale[k] = 1e-4
		}
		for _, m := range []probode.Method{Moulton{Linearize: Current}, Moulton{Steps: 2, Linearize: Current}, Moulton{}, Moulton{Steps: 2}, Bashforth{Steps: 2}, methods.RungeKutta{}} {
			s, err := m.Stepper(p, g)
			if err != nil {
				b.Fatal(err)
			}
			perStep := func(b *testing.B) {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
			}
			if s.Run != nil {
				b.Run(fmt.Sprintf("%s/%v/run", p.Name, m), func(b *testing.B) {
					for b.Loop() {
						if s.Start != nil {
							s.Start(&probode.Step{})
						}
						if at, err := s.Run(piece(g, z, p.Theta, xi, scale, 0, n, d)); err != nil {
							b.Fatal(at, err)
						}
					}
					perStep(b)
				})
			}
			b.Run(fmt.Sprintf("%s/%v/steps", p.Name, m), func(b *testing.B) {
				for b.Loop() {
					if at, err := stepwise(s, m, g, z, p.Theta, xi, scale, d, n); err != nil {
						b.Fatal(at, err)
					}
				}
				perStep(b)
			})
		}
	}
}

// The gradients by the unrolled code are those by reverseOnce, with and without Pullback.
func TestReverseFused(t *testing.T) {
	for _, p := range runProblems() {
		d, n := p.Dim(), len(p.Theta)
		dense := *p
		if n == 0 {
			dense.FTheta = func([]float64, float64, []float64, []float64) {}
		}
		pulled := dense
		pulled.Pullback = func(dx, dtheta, lambda []float64, t float64, x, theta []float64) float64 {
			f, jac, ftheta := make([]float64, d), make([]float64, d*d), make([]float64, d*n)
			p.FJ(f, jac, t, x, theta)
			dense.FTheta(ftheta, t, x, theta)
			for i, v := range lambda {
				vector.AddScaled(dx, v, jac[i*d:])
				vector.AddScaled(dtheta, v, ftheta[i*n:])
			}
			return 0
		}
		for _, p := range []*probode.Problem{&pulled, &dense} {
			for steps := range 4 {
				for _, noisy := range []bool{false, true} {
					if p.Name == "Robertson" && steps > 1 {
						continue // the path is not stable
					}
					name := fmt.Sprintf("%s, %d steps, Pullback %t, noise %t", p.Name, steps, p.Pullback != nil, noisy)
					small, slow := reversed(t, p, steps, noisy, true), reversed(t, p, steps, noisy, false)
					var most float64
					for _, v := range slow {
						most = max(most, math.Abs(v))
					}
					for k, v := range slow {
						// A difference has an error of about 1e-10, or 1e-8 if a component is near 0.
						if !(math.Abs(small[k]-v) <= 1e-8*most) {
							t.Fatalf("%s: element %d is %g: want %g", name, k, small[k], v)
						}
					}
				}
			}
		}
	}
}

// reversed returns the gradient of a function of a path, with or without the unrolled code.
func reversed(t *testing.T, p *probode.Problem, steps int, noisy, fused bool) []float64 {
	g, err := probode.UniformGrid(p, p.Theta, 0.02)
	if err != nil {
		t.Fatal(err)
	}
	alpha := 1e-3
	if p.Name == "Robertson" {
		alpha = 1e-12
	}
	s, err := probode.NewSolver(p, reverseMethod{Moulton{Steps: steps, Linearize: Current}, fused}, g, alpha)
	if err != nil {
		t.Fatal(err)
	}
	z, w, xi := make([]float64, s.PathLen()), make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	probode.DrawNoise(w, 1, 1)
	probode.DrawNoise(xi, 1, 2)
	if !noisy {
		xi = nil
	}
	if err := s.Solve(z, p.Theta, xi); err != nil {
		t.Fatal(err)
	}
	to := &probode.Gradient{Theta: make([]float64, len(p.Theta)), Xi: make([]float64, s.NoiseLen())}
	if err := s.Gradient(to, w, z, p.Theta, xi); err != nil {
		t.Fatal(err)
	}
	return append(append(to.Xi, to.Theta...), to.Alpha)
}

// A reverseMethod may do without the unrolled code.
type reverseMethod struct {
	Moulton
	fused bool
}

func (m reverseMethod) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	a, err := newMoulton(m.Moulton, p, g)
	if err != nil {
		return nil, err
	}
	a.transpose = newReverseMoulton(a)
	if !m.fused {
		a.transpose.small = nil
	}
	return a.stepper(), nil
}
