package model

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/reference"
)

var modelFiles = []string{"lynx.yaml", "influenza.yaml", "pk.yaml", "cascade.yaml",
	"petab-lynx/problem.yaml", "petab-influenza/problem.yaml", "petab-pk/problem.yaml", "petab-cascade/problem.yaml"}

func twinOf(file string) twin {
	for _, w := range twins {
		if strings.Contains(file, strings.TrimSuffix(w.file, ".yaml")) {
			return w
		}
	}
	panic("no twin of " + file)
}

// setAt holds the values that conditions set for parameters.
func setAt(t testing.TB, p *File, condition string) map[string]float64 {
	at := nominalValues(p)
	for _, s := range p.Models[0].condition(condition).set {
		at[s.id] = value(t, s.value, at)
	}
	return at
}

// The right-hand side of a File equals that of the twin, the Jacobians are its
// derivatives, and nothing is allocated.
func TestODE(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, file := range modelFiles {
		p, w := load(t, file), twinOf(file)
		odes, err := p.ODEs()
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range experiments(t, p) {
			q, at := odes[i], setAt(t, p, e.Condition)
			if err := q.Validate(); err != nil {
				t.Fatal(err)
			}
			d, n := q.Dim(), len(q.Theta)
			order := make([]int, d) // of the twin's states: an SBML file may have another order
			for k, id := range twinStates[w.file] {
				if order[k] = slices.Index(e.states, id); order[k] < 0 {
					t.Fatalf("%s: no state %s in %v", file, id, e.states)
				}
			}
			x0, x, f, g, jac, slope := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d*d), make([]float64, d*n)
			q.Initial(x0, q.Theta)
			for k, want := range w.initial(at) {
				if !near(x0[order[k]], want) {
					t.Errorf("%s: %s starts at %v: want %v", file, q.StateName(order[k]), x0[order[k]], want)
				}
			}
			for range 5 {
				own, want := make([]float64, d), make([]float64, d)
				for k := range own {
					own[k] = rng.Float64()
					x[order[k]] = own[k]
				}
				time := 40 * rng.Float64()
				w.rates(want, time, own, at)
				q.F(f, time, x, q.Theta)
				clear(jac)
				clear(slope)
				q.FJ(g, jac, time, x, q.Theta)
				q.FTheta(slope, time, x, q.Theta)
				for k := range d {
					if !near(f[order[k]], want[k]) || !near(g[order[k]], want[k]) {
						t.Errorf("%s: %s' = %v and %v: want %v", file, q.StateName(order[k]), f[order[k]], g[order[k]], want[k])
					}
				}
				lambda, dx, dtheta := make([]float64, d), make([]float64, d), make([]float64, n)
				for k := range lambda {
					lambda[k] = rng.NormFloat64()
				}
				dt := q.Pullback(dx, dtheta, lambda, time, x, q.Theta)
				plain := *q
				plain.Pullback = nil
				again, slopes := make([]float64, d), make([]float64, n)
				a := probode.NewAdjoint(&plain)
				a.Theta, a.Moves = slopes, true
				a.Field(again, lambda, time, 0, x, q.Theta)
				dt2 := a.Time
				for _, pair := range [][2][]float64{{dx, again}, {dtheta, slopes}} {
					for k, want := range pair[1] {
						if top := floats.Norm(pair[1], math.Inf(1)); !(math.Abs(pair[0][k]-want) <= 1e-12*(1+top)) {
							t.Errorf("%s: pullback %v: want %v", file, pair[0], pair[1])
							break
						}
					}
				}
				if !(math.Abs(dt-dt2) <= 1e-6*(1+math.Abs(dt2)+floats.Norm(f, 2))) {
					t.Errorf("%s: pullback in t %g: want %g", file, dt, dt2)
				}
				// Central differences have relative errors of h² and 10⁻¹⁶/h.
				difference := func(at []float64, j int) []float64 {
					h, keep := 1e-5*max(math.Abs(at[j]), 1e-2), at[j]
					left, right := make([]float64, d), make([]float64, d)
					at[j] = keep + h
					q.F(right, time, x, q.Theta)
					at[j] = keep - h
					q.F(left, time, x, q.Theta)
					at[j] = keep
					for k := range right {
						right[k] = (right[k] - left[k]) / (2 * h)
					}
					return right
				}
				size := func(k int) float64 { return 1e-7 * (math.Abs(f[k]) + 1e3) }
				for j := range d {
					for k, want := range difference(x, j) {
						if math.Abs(jac[k*d+j]-want) > size(k) {
							t.Errorf("%s: ∂f%d/∂x%d = %v: want %v", file, k, j, jac[k*d+j], want)
						}
					}
				}
				for j := range n {
					for k, want := range difference(q.Theta, j) {
						if math.Abs(slope[k*n+j]-want) > size(k) {
							t.Errorf("%s: ∂f%d/∂%s = %v: want %v", file, k, q.Params[j], slope[k*n+j], want)
						}
					}
				}
			}
			if n := testing.AllocsPerRun(100, func() {
				q.F(f, 1, x, q.Theta)
				q.FJ(f, jac, 1, x, q.Theta)
				q.FTheta(slope, 1, x, q.Theta)
				q.Pullback(x0, slope[:n], f, 1, x, q.Theta)
			}); n >= 1 && !underRace { // a pool may be emptied by the garbage collector
				t.Errorf("%s: %v allocations", file, n)
			}
		}
	}
}

var twinStates = map[string][]string{"lynx.yaml": {"hares", "lynxes"}, "influenza.yaml": {"S", "I", "R"},
	"pk.yaml": {"gut", "central"}, "cascade.yaml": {"A", "B", "C"}}

// byHand computes the log-likelihood of a twin: another solver solves its equations, and
// the doses, the switch and the densities are written by hand.
func byHand(t *testing.T, p *File, w twin) float64 {
	normal := func(r, s float64) float64 { return -0.5*r*r/(s*s) - math.Log(s*math.Sqrt(2*math.Pi)) }
	sum := 0.
	m := p.Models[0]
	conditions := map[string]bool{}
	for _, row := range m.Data {
		conditions[row.Condition] = true
	}
	for condition := range conditions {
		at := setAt(t, p, condition)
		var times []float64
		for _, row := range m.Data {
			if row.Condition == condition {
				times = append(times, row.Time)
			}
		}
		slices.Sort(times)
		times = slices.Compact(times)
		q := &probode.Problem{X0: w.initial(at), Span: [2]float64{0, times[len(times)-1]},
			F: func(dst []float64, t float64, x, _ []float64) { w.rates(dst, t, x, at) }}
		switch w.file {
		case "pk.yaml":
			for k := 0.0; k < 4; k++ {
				q.Events = append(q.Events, probode.Event{Time: k * at["interval"], SeenAfter: true,
					Jump: func(x []float64, _ float64, _ []float64) { x[0] += at["dose"] }})
			}
		case "cascade.yaml":
			q.Events = []probode.Event{{Time: at["off"]}}
		}
		s, err := reference.Solve(context.Background(), q, times, reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-12}})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range m.Data {
			if row.Condition != condition {
				continue
			}
			i, _ := slices.BinarySearch(times, row.Time)
			x, y := s.X[i*q.Dim():(i+1)*q.Dim()], row.Value
			switch w.file {
			case "lynx.yaml":
				k := slices.Index([]string{"hare", "lynx"}, row.Observable)
				sum += normal(math.Log(y/x[k]), at["sigma_"+row.Observable]) - math.Log(y)
			case "influenza.yaml":
				sum += normal(y-x[1], at["sigma"])
			case "pk.yaml":
				sum -= math.Abs(math.Log(y/(x[1]/at["volume"])))/at["error"] + math.Log(2*at["error"]) + math.Log(y)
			case "cascade.yaml":
				gel, _ := row.observableParams[0].Symbol()
				sd := map[string]float64{"gel_a": at["sd"], "gel_b": 0.08}[gel]
				sum += normal(math.Log10(y/(at[gel]*(x[2]+0.01))), sd) - math.Log(y) - math.Log(math.Ln10)
			}
		}
	}
	return sum
}

// The log-likelihood equals that of the twin to 10⁻⁷, and it is the sum of its parts.
func TestLikelihood(t *testing.T) {
	for _, file := range modelFiles {
		p := load(t, file)
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), l.p.Nominal(), false)
		if err != nil {
			t.Fatal(err)
		}
		if want := byHand(t, p, twinOf(file)); math.Abs(v.LogLikelihood-want) > 1e-7 {
			t.Errorf("%s: %.10f, want %.10f", file, v.LogLikelihood, want)
		}
		if !(v.Error <= 1e-7) {
			t.Errorf("%s: error %g", file, v.Error)
		}
		sum, points := 0., 0
		for _, e := range v.Instances {
			for _, o := range e.Observables {
				sum += o.LogLikelihood
				points += o.Points
			}
		}
		if math.Abs(sum-v.LogLikelihood) > 1e-10 || points != len(p.Models[0].Data) {
			t.Errorf("%s: parts of %d points add up to %v of %v", file, points, sum, v.LogLikelihood)
		}
	}
}

// Neither the number of workers nor computing the gradient changes a value.
func TestWorkers(t *testing.T) {
	p := load(t, "pk.yaml")
	var first *Evaluation
	for _, workers := range []int{1, 2, 7} {
		l, err := p.LogLikelihood(LikelihoodSettings{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), l.p.Nominal(), true)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = v
		}
		if v.LogLikelihood != first.LogLikelihood || !slices.Equal(v.Gradient, first.Gradient) {
			t.Errorf("%d workers: %v, want %v", workers, v, first)
		}
	}
}

// gradient compares the gradient with central differences of order four on the scales of
// the parameters. The step is h[id], or 10⁻³ by default.
func gradient(t *testing.T, p *File, theta []float64, h map[string]float64) *Evaluation {
	t.Helper()
	l, err := p.LogLikelihood(LikelihoodSettings{Tolerance: probode.Tolerance{Relative: 1e-10}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), theta, true)
	if err != nil {
		t.Fatal(err)
	}
	top := 0.
	for _, g := range v.ScaleGradient {
		top = max(top, math.Abs(g))
	}
	for i, q := range l.Estimated() {
		j := slices.IndexFunc(p.Params, func(o Parameter) bool { return o.ID == q.ID })
		step := 1e-3
		if h[q.ID] != 0 {
			step = h[q.ID]
		}
		at := func(by float64) float64 {
			moved := slices.Clone(theta)
			moved[j] = q.Scale.linear(q.Scale.of(theta[j]) + by)
			v, err := l.At(context.Background(), moved, false)
			if err != nil {
				t.Fatal(err)
			}
			return v.LogLikelihood
		}
		want := (8*(at(step)-at(-step)) - (at(2*step) - at(-2*step))) / (12 * step)
		if math.Abs(v.ScaleGradient[i]-want) > 1e-6*max(math.Abs(want), 0.01*top) {
			t.Errorf("%s: ∂/∂%s %.10g: want %.10g", p.Name, q.ID, v.ScaleGradient[i], want)
		}
		if linear := v.Gradient[i] * q.Scale.slope(theta[j]); math.Abs(linear-v.ScaleGradient[i]) > 1e-14*math.Abs(linear) {
			t.Errorf("%s: %v linear and %v on scale %s", q.ID, v.Gradient[i], v.ScaleGradient[i], q.Scale)
		}
	}
	return v
}

func TestGradient(t *testing.T) {
	for _, file := range []string{"lynx.yaml", "influenza.yaml", "pk.yaml", "cascade.yaml"} {
		p := load(t, file)
		theta := p.Nominal()
		for j, q := range p.Params { // neither at an optimum nor near a kink of the Laplace errors
			if q.Estimate && q.ID != "off" {
				theta[j] *= 1.03
			}
		}
		gradient(t, p, theta, map[string]float64{
			// The kinase responds to the switch within 1/2000, and the first measurement after the
			// switch is later than that.
			"off": 5e-5, "vmax": 1e-4, "ka": 1e-4, "km": 1e-4, "volume": 1e-4,
		})
	}
}

// The pullbacks of the jumps of the model files equal central differences, whose relative
// error is 1e-10.
func TestJumpPullback(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	jumps := 0
	for _, file := range modelFiles {
		odes, err := load(t, file).ODEs()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range odes {
			for _, e := range q.Events {
				if e.Jump == nil {
					continue
				}
				jumps++
				d, n := q.Dim(), len(q.Theta)
				in, w := make([]float64, d+n+1), make([]float64, d) // x, θ and t
				for k := range d {
					in[k], w[k] = rng.Float64(), rng.NormFloat64()
				}
				copy(in[d:], q.Theta)
				in[d+n] = 1.3
				got := append(slices.Clone(w), make([]float64, n+1)...)
				got[d+n] = e.JumpPullback(got[:d], got[d:d+n], in[:d], in[d+n], in[d:d+n])
				for k, v := range in {
					h := 1e-5 * (1 + math.Abs(v))
					var side [2]float64
					for i, to := range []float64{v + h, v - h} {
						in[k] = to
						x := slices.Clone(in[:d])
						e.Jump(x, in[d+n], in[d:d+n])
						side[i] = floats.Dot(w, x)
					}
					in[k] = v
					if want := (side[0] - side[1]) / (2 * h); math.Abs(got[k]-want) > 1e-8*(1+math.Abs(want)) {
						t.Errorf("%s, %s: derivative %d is %g: want %g", file, e.Name, k, got[k], want)
					}
				}
			}
		}
	}
	if jumps == 0 {
		t.Error("no model file has a jump")
	}
}

// decay is a model with x′ = −k x, a dose of 10 at a time τ, and measurements at 1, 3 and
// 7.
func decay(t *testing.T) *File {
	n := func(s string) *expr.Node {
		e, err := expr.Parse(expr.Names{}, s)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	m := &Model{Equations: equations.Equations{Name: "decay", States: []equations.State{{ID: "x", Init: n("x0"), Rate: n("-k*x")}}, Events: []equations.Event{{ID: "dose", Time: n("2*tau"), Jumps: []equations.Jump{{State: "x", Value: n("x + 10*x0")}}}}},
		observables: []observable{{id: "y", formula: n("x"), noise: n("s"), scale: Lin, distribution: normalNoise}}}
	for _, row := range [][2]float64{{1, 0.7}, {3, 9}, {7, 0.4}} {
		m.Data = append(m.Data, Observation{Observable: "y", Time: row[0], Value: row[1]})
	}
	return &File{Name: "decay", Models: []*Model{m}, Params: []Parameter{
		{ID: "k", Nominal: 0.5, Scale: Log, Estimate: true}, {ID: "x0", Nominal: 1.2, Scale: Lin, Estimate: true},
		{ID: "tau", Nominal: 0.8, Scale: Log10, Estimate: true}, {ID: "s", Nominal: 0.3, Scale: Log10, Estimate: true}}}
}

// The derivative with respect to the time of a dose equals its closed form.
func TestMovingDose(t *testing.T) {
	p := decay(t)
	theta := p.Nominal()
	v := gradient(t, p, theta, nil)
	k, x0, tau, s := theta[0], theta[1], theta[2], theta[3]
	var ll, slope float64
	for _, row := range p.Models[0].Data {
		x, dx := x0*math.Exp(-k*row.Time), 0.
		if row.Time > 2*tau {
			dose := 10 * x0 * math.Exp(-k*(row.Time-2*tau))
			x += dose
			dx = 2 * k * dose
		}
		z := (row.Value - x) / s
		ll += -z*z/2 - math.Log(s*math.Sqrt(2*math.Pi))
		slope += z / s * dx
	}
	if math.Abs(v.LogLikelihood-ll) > 1e-9*math.Abs(ll) || math.Abs(v.Gradient[2]-slope) > 1e-7*math.Abs(slope) {
		t.Errorf("%v and ∂τ %v: want %v and %v", v.LogLikelihood, v.Gradient[2], ll, slope)
	}
}

// An event at the time of a measurement happens before it, and the derivative with
// respect to the time of the event is one-sided, from earlier times.
func TestMeasuredAtADose(t *testing.T) {
	p := decay(t)
	p.Models[0].Data[0].Time = 2 * 0.8
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), l.p.Nominal(), true)
	if err != nil {
		t.Fatal(err)
	}
	want := 1.2*math.Exp(-0.5*1.6) + 12
	if got := v.Instances[0].Simulated[0]; math.Abs(got-want) > 1e-8 {
		t.Errorf("%v at the dose: want %v", got, want)
	}
	later := l.p.Nominal()
	const h = 1e-6
	later[2] -= h // the dose is before the measurement
	w, err := l.At(context.Background(), later, false)
	if err != nil {
		t.Fatal(err)
	}
	// A one-sided difference has an error of h times the second derivative, which is some
	// thousands here.
	if slope := (v.LogLikelihood - w.LogLikelihood) / h; math.Abs(slope-v.Gradient[2]) > 1e-4*math.Abs(slope) {
		t.Errorf("∂τ %v: want %v", v.Gradient[2], slope)
	}
}

// resting is a model of production and decay, with preequilibration and with data up to
// the steady state.
func resting(t *testing.T) *File {
	n := func(s string) *expr.Node {
		e, err := expr.Parse(expr.Names{}, s)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	m := &Model{Equations: equations.Equations{Name: "steady", States: []equations.State{{ID: "x", Init: n("0"), Rate: n("u - k*x")}, {ID: "z", Init: n("3"), Rate: n("1e4*(x - z)")}}, Constants: []equations.Constant{{ID: "u"}}},
		observables: []observable{{id: "y", formula: n("z"), noise: n("0.1"), scale: Lin, distribution: normalNoise}},
		conditions:  []condition{{id: "before", set: []setting{{"u", n("a")}}}, {id: "after", set: []setting{{"u", n("b")}}}}}
	for _, row := range [][2]float64{{0, 5}, {1, 4}, {20, 3}, {math.Inf(1), 1}} {
		m.Data = append(m.Data, Observation{Observable: "y", Time: row[0], Value: row[1], Condition: "after", Preequilibration: "before"})
	}
	return &File{Name: "steady", Models: []*Model{m}, Params: []Parameter{{ID: "a", Nominal: 0.6, Scale: Lin, Estimate: true},
		{ID: "b", Nominal: 0.2, Scale: Lin, Estimate: true}, {ID: "k", Nominal: 0.1, Scale: Lin, Estimate: true}}}
}

// The steady state is in/out, and its derivatives have a closed form. The condition after
// preequilibration has another rate.
func TestPreequilibration(t *testing.T) {
	p := resting(t)
	m := p.Models[0]
	theta := p.Nominal()
	v := gradient(t, p, theta, nil)
	a, b, k := theta[0], theta[1], theta[2]
	for i, row := range m.Data {
		x := b / k
		if !math.IsInf(row.Time, 1) {
			x += (a - b) / k * math.Exp(-k*row.Time)
			if row.Time > 0 { // z follows x within 1e-4
				x -= -k * (a - b) / k * math.Exp(-k*row.Time) / (1e4 - k)
			}
		}
		if got := v.Instances[0].Simulated[i]; math.Abs(got-x) > 1e-7 {
			t.Errorf("at %v: %v, want %v", row.Time, got, x)
		}
	}
	// The problem for other solvers begins in the steady state, too.
	q, err := p.ODEs()
	if err != nil {
		t.Fatal(err)
	}
	x0 := make([]float64, 2)
	q[0].Initial(x0, theta)
	if math.Abs(x0[0]-6) > 1e-8 || math.Abs(x0[1]-6) > 1e-8 {
		t.Errorf("starts at %v: want 6", x0)
	}
	// Without decay there is no steady state, and the error says so.
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.At(context.Background(), []float64{0.6, 0.2, 0}, false); err == nil || !strings.Contains(err.Error(), "did not reach a steady state") {
		t.Errorf("without decay: %v", err)
	}
}

// A measurement without a density gives an error that names it. Parameters without a
// value, ended contexts and invalid settings give errors, too.
func TestImpossible(t *testing.T) {
	ctx := context.Background()
	p := decay(t)
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	is := (*impossibleError)(nil)
	if _, err := l.At(ctx, []float64{0.5, 1, 1, -0.3}, false); !errors.As(err, &is) || is.observable != "y" || is.time != 1 {
		t.Errorf("negative noise: %v", err)
	}
	p.Models[0].observables[0].scale = Log10
	if l, err = p.LogLikelihood(LikelihoodSettings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.At(ctx, []float64{0.5, -1, 1, 0.3}, false); !errors.As(err, &is) {
		t.Errorf("the logarithm of a negative number: %v", err)
	}
	if _, err := l.At(ctx, []float64{math.NaN(), 1, 1, 1}, false); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("NaN: %v", err)
	}
	if _, err := l.At(ctx, []float64{1}, false); err == nil {
		t.Error("one value for four parameters")
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.At(stopped, l.p.Nominal(), true); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	for _, s := range []LikelihoodSettings{{Tolerance: probode.Tolerance{Relative: 2}}, {Tolerance: probode.Tolerance{Relative: -1}}, {Workers: -1}} {
		if _, err := p.LogLikelihood(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	p.Models[0].Data = nil
	if _, err := p.LogLikelihood(LikelihoodSettings{}); err == nil {
		t.Error("no data, and no error")
	}
}

// The time of a switch that depends on the state is not known before a solve, and a
// chain, whose Jacobian is banded, has a Band.
func TestBand(t *testing.T) {
	m := &Model{Equations: equations.Equations{Name: "chain"}}
	const d = 40
	for i := range d {
		s := equations.State{ID: "x" + strconv.Itoa(i), Init: expr.Num(float64(i % 3))}
		s.Rate = expr.Call("times", expr.Num(-1), expr.Sym(s.ID))
		if i > 0 {
			s.Rate = expr.Call("plus", s.Rate, expr.Call("times", expr.Sym("k"), expr.Sym("x"+strconv.Itoa(i-1))))
		}
		m.States = append(m.States, s)
	}
	p := &File{Name: "chain", Models: []*Model{m}, Params: []Parameter{{ID: "k", Nominal: 0.7}}}
	q, err := p.ODEs()
	if err != nil {
		t.Fatal(err)
	}
	if b := q[0].Band; b == nil || b.Lower != 1 || b.Upper != 0 {
		t.Fatalf("band %v: want one below", b)
	}
	jac, f := make([]float64, 2*d), make([]float64, d)
	q[0].FJ(f, jac, 0, make([]float64, d), q[0].Theta)
	for i := range d {
		if jac[2*i+1] != -1 || i > 0 && jac[2*i] != 0.7 {
			t.Errorf("row %d: %v", i, jac[2*i:2*i+2])
		}
	}
	if !q[0].Autonomous {
		t.Error("not Autonomous")
	}
}

// Derivatives of formulas are not compared with differences, which are wrong if states
// differ by forty orders of magnitude or if large terms cancel.
func TestSymbolic(t *testing.T) {
	for _, rates := range [][2][3]string{
		{{"x", "k * x * (1 - x / 100)", "99"}, {"y", "1", "1e40"}},
		{{"x", "1e15 * x / k - x * (1e15 / k) - x", "1.01"}, {"y", "-y", "1"}},
		{{"x", "1e25 * x / k / y - x * (1e25 / k) / y", "1.013"}, {"y", "-y", "1.7"}},
	} {
		q := odes(t, 1.17, 1, rates[:]...)
		g, err := probode.UniformGrid(q, q.Theta, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := probode.NewSolver(q, methods.Radau{}, g, 0); err != nil {
			t.Error(err)
		}
		q.Symbolic = false
		if _, err := probode.NewSolver(q, methods.Radau{}, g, 0); err == nil {
			t.Errorf("%s: differences agree with the derivatives", rates[0][1])
		}
	}
}

// With kinks, ends of domains, short pulses and solutions that end, the result is right,
// or there is an error of one line.
func TestOddEquations(t *testing.T) {
	for _, c := range []struct {
		rate, initial string
		want          float64 // at time 5; +Inf for an error, NaN if any number is right
	}{
		{"-max(0, x - 0.5)", "0.5", 0.5},
		{"abs(x) - 1", "0", math.Exp(-5) - 1},
		{"piecewise(1, time < 2 + k, 0)", "0", 3},
		{"-x^1.1", "0", 0},
		{"1 - 0.2*x^1.5", "0", math.NaN()},
		{"exp(-(time - 2.5)^2/0.0005)", "0", math.Sqrt(math.Pi * 0.0005)},
		{"-1e12*x", "1", 0},
		{"x^2", "0.5", math.Inf(1)},
		{"1/x", "0", math.Inf(1)},
		{"ln(x)", "-1", math.Inf(1)},
		{"1e300*x", "1", math.Inf(1)},
	} {
		rate, err := expr.Parse(expr.Names{}, c.rate)
		if err != nil {
			t.Fatal(err)
		}
		initial, err := expr.Parse(expr.Names{}, c.initial)
		if err != nil {
			t.Fatal(err)
		}
		m := &Model{Equations: equations.Equations{Name: "odd", States: []equations.State{{ID: "x", Init: initial, Rate: rate}}},
			observables: []observable{{id: "y", formula: expr.Sym("x"), noise: expr.Num(1), scale: Lin, distribution: normalNoise}},
			Data:        []Observation{{Observable: "y", Time: 5}}}
		p := &File{Name: "odd", Models: []*Model{m}, Params: []Parameter{{ID: "k", Nominal: 1, Scale: Lin, Estimate: true}}}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), l.p.Nominal(), true)
		switch {
		case math.IsInf(c.want, 1):
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", c.rate, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.rate, err)
		case math.IsNaN(c.want): // the solve starts where the domain of f ends; only success matters
			if !(v.Error < 1e-7) {
				t.Errorf("%s: error %g", c.rate, v.Error)
			}
		case math.Abs(v.Instances[0].Simulated[0]-c.want) > 1e-7:
			t.Errorf("%s: %v, want %v", c.rate, v.Instances[0].Simulated[0], c.want)
		}
	}
}
