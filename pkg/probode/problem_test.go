package probode_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// With initial values in θ a problem has the paths, bit for bit, of one that
// starts there, for every method, with and without FJ and Band.
func TestUnknownStart(t *testing.T) {
	differences := problems.LotkaVolterra20()
	differences.FJ = nil
	for _, p := range []*Problem{problems.LotkaVolterra20(), differences, problems.Brusselator(5)} {
		p.Span[1] = p.Span[0] + 1
		d := p.Dim()
		there := *p
		there.X0 = slices.Clone(p.X0)
		there.X0[0] *= 1.1
		there.X0[d-1] *= 0.9
		for _, components := range [][]int{nil, {0, d - 1}, {d - 1, 0}} {
			q := p.UnknownStart(components...)
			theta := slices.Clone(q.Theta)
			if components == nil {
				copy(theta[len(p.Theta):], there.X0)
			}
			for m, k := range components {
				theta[len(p.Theta)+m] = there.X0[k]
			}
			for _, m := range every() {
				want := solve(t, mustSolver(t, &there, m, 1./16, 0.01), nil)
				s := mustSolver(t, q, m, 1./16, 0.01)
				z := make([]float64, s.PathLen())
				if err := s.Solve(z, theta, nil); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(z, want) {
					t.Errorf("%s, %v, components %v: the path differs by %g", p.Name, m, components, maxDiff(z, want))
				}
				if !slices.Equal(solve(t, s, nil), solve(t, mustSolver(t, p, m, 1./16, 0.01), nil)) {
					t.Errorf("%s, %v, components %v: the nominal path differs", p.Name, m, components)
				}
			}
		}
	}
}

// F sees its own θ and cannot reach beyond; what Start does for the other
// components stays; p itself is unchanged, and so is the copy if p changes.
func TestUnknownStartKeepsTheta(t *testing.T) {
	p := &Problem{
		Name: "p", X0: make([]float64, 3), Theta: []float64{2, 5}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, _, theta []float64) {
			if len(theta) != 2 || cap(theta) != 2 {
				t.Fatalf("F sees θ of length %d and capacity %d, want 2", len(theta), cap(theta))
			}
			copy(f, []float64{theta[0], theta[1], 0})
		},
		Start: func(x0, theta []float64) { x0[0], x0[1], x0[2] = theta[0], theta[1], theta[0]+theta[1] },
	}
	q := p.UnknownStart(1)
	p.F, p.Start = nil, nil
	if want := []float64{2, 5, 5}; !slices.Equal(q.Theta, want) {
		t.Errorf("nominal θ is %v, want %v", q.Theta, want)
	}
	if want := []string{"theta1", "theta2", "x2_0"}; !slices.Equal(q.Params, want) {
		t.Errorf("names %q, want %q", q.Params, want)
	}
	if p.Params != nil || len(p.Theta) != 2 {
		t.Error("the problem itself was changed")
	}
	s := mustSolver(t, q, adams.Moulton{Steps: 1}, 0.5, 0)
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, []float64{3, 7, -1}, nil); err != nil {
		t.Fatal(err)
	}
	if want := []float64{3, -1, 10}; !slices.Equal(z[:3], want) {
		t.Errorf("start %v, want %v", z[:3], want)
	}
	// x′ is constant, so that the trapezoidal rule is exact up to rounding.
	for k, want := range []float64{6, 6, 10} {
		if math.Abs(z[6+k]-want) > 1e-12 {
			t.Errorf("component %d ends at %v, want %v", k, z[6+k], want)
		}
	}
	// One after the other is the same as both at once.
	lv := problems.LotkaVolterra()
	if a, b := lv.UnknownStart(0).UnknownStart(1), lv.UnknownStart(); !slices.Equal(a.Params, b.Params) || !slices.Equal(a.Theta, b.Theta) {
		t.Errorf("%q %v, want %q %v", a.Params, a.Theta, b.Params, b.Theta)
	}
	if err := lv.UnknownStart().Validate(); err != nil {
		t.Error(err)
	}
}

// Events and derivatives of f see their own θ, too: a problem with unknown
// initial values has the same path, and the columns of ∂f/∂θ stay in place.
func TestUnknownStartWithEvents(t *testing.T) {
	p := problems.LotkaVolterra20()
	p.Span[1] = p.Span[0] + 1
	n := len(p.Theta)
	own := func(theta []float64) {
		if len(theta) != n || cap(theta) != n {
			t.Errorf("θ of length %d and capacity %d is seen, want %d", len(theta), cap(theta), n)
		}
	}
	p.Events = []Event{{
		When: func(theta []float64) float64 { own(theta); return p.Span[0] + theta[0]/2 },
		Jump: func(x []float64, _ float64, theta []float64) { own(theta); x[0] += theta[1] }}}
	p.Pullback = nil // FTheta is not that of F
	p.FTheta = func(dst []float64, _ float64, x, theta []float64) {
		own(theta)
		for i := range dst {
			dst[i] = float64(i + 1)
		}
	}
	q := p.UnknownStart(1)
	for _, m := range []Method{adams.Bashforth{Steps: 2}, adams.Moulton{Steps: 2}} {
		want := solve(t, mustSolver(t, p, m, 1./16, 0), nil)
		if got := solve(t, mustSolver(t, q, m, 1./16, 0), nil); !slices.Equal(got, want) {
			t.Errorf("%v: the path differs by %g", m, maxDiff(got, want))
		}
	}
	dst := make([]float64, 2*(n+1))
	q.FTheta(dst, 0, q.X0, q.Theta)
	for i := range 2 {
		for j := range n + 1 {
			want := float64(i*n + j + 1)
			if j == n {
				want = 0
			}
			if dst[i*(n+1)+j] != want {
				t.Errorf("∂f[%d]/∂θ[%d] is %g, want %g", i, j, dst[i*(n+1)+j], want)
			}
		}
	}
}

func TestUnknownStartPanics(t *testing.T) {
	p := problems.SIR()
	p.States = []string{"S (thousands)", "I", "beta"}
	if got := p.UnknownStart(0, 1).Params[2:]; !slices.Equal(got, []string{"S0", "I0"}) {
		t.Errorf("names %q, want S0 and I0", got)
	}
	p.Params = []string{"beta0", "gamma"}
	for _, test := range []struct {
		components []int
		want       string
	}{
		{[]int{3}, "probode: UnknownStart: there is no component 3, because SIR has 3 components"},
		{[]int{-1}, "probode: UnknownStart: there is no component -1"},
		{[]int{1, 1}, "SIR already has a parameter named I0"},
		{[]int{2}, "SIR already has a parameter named beta0"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, test.want) {
					t.Errorf("%v: panic %q, want %q", test.components, got, test.want)
				}
			}()
			p.UnknownStart(test.components...)
		}()
	}
}

// A pendulum whose first push is not known.
func ExampleProblem_UnknownStart() {
	pendulum := &Problem{
		Name:   "pendulum",
		F:      func(dst []float64, t float64, x, theta []float64) { dst[0], dst[1] = x[1], -theta[0]*math.Sin(x[0]) },
		X0:     []float64{0, 1},
		Span:   [2]float64{0, 2},
		Theta:  []float64{9.81},
		States: []string{"angle (rad)", "velocity (rad/s)"},
		Params: []string{"g/l"},
	}
	p := pendulum.UnknownStart(1)
	fmt.Println(strings.Join(p.Params, ", "), p.Theta)
	for _, push := range []float64{1, 2} {
		ref, err := reference.Solve(context.Background(), p, []float64{0, 2}, reference.Settings{Theta: []float64{9.81, push}})
		if err != nil {
			panic(err)
		}
		fmt.Printf("from %g to %.4f rad/s\n", ref.X[1], ref.X[3])
	}
	// Output:
	// g/l, velocity0 [9.81 1]
	// from 1 to 0.9982 rad/s
	// from 2 to 1.9644 rad/s
}

// A field that ends at the initial state has no differences to both sides: a
// right Jacobian is not blamed for that.
func TestJacobianAtTheEndOfTheField(t *testing.T) {
	p := &Problem{Name: "growth", X0: []float64{0, 1}, Span: [2]float64{0, 1},
		F: func(dst []float64, _ float64, x, _ []float64) {
			dst[0], dst[1] = x[1]-math.Pow(x[0], 1.1), -x[1]
		},
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			f[0], f[1] = x[1]-math.Pow(x[0], 1.1), -x[1]
			jac[0], jac[1], jac[3] = -1.1*math.Pow(x[0], 0.1), 1, -1
		}}
	g, err := UniformGrid(p, nil, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSolver(p, adams.Moulton{Steps: 1}, g, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Solve(make([]float64, s.PathLen()), nil, nil); err != nil {
		t.Error(err)
	}
	right := p.FJ
	p.FJ = func(f, jac []float64, t float64, x, theta []float64) {
		right(f, jac, t, x, theta)
		jac[1] = 2
	}
	if _, err := NewSolver(p, adams.Moulton{Steps: 1}, g, 0); err == nil {
		t.Error("a wrong Jacobian beside it is accepted")
	}
}
