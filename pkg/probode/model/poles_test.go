package model

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// odes returns the problem of a model with the parameter k. Each equation is an ID, a
// right-hand side and an initial value.
func odes(t *testing.T, k, end float64, equations ...[3]string) *probode.Problem {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "parameters:\n  - {parameterId: k, nominalValue: %g}\nodes:\n", k)
	for _, e := range equations {
		fmt.Fprintf(&b, "  - {stateId: %s, rightHandSide: \"%s\", initialValue: %s}\n", e[0], e[1], e[2])
	}
	fmt.Fprintf(&b, "observables:\n  - {observableId: o, observableFormula: %s, noiseFormula: 1}\ndata: |\n  time,o\n  %g,0\n", equations[0][0], end)
	p, err := Parse("m", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.ODEs()
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// integral returns ∫ f from a to b by Simpson's rule.
func integral(f func(x float64) float64, a, b float64) float64 {
	const n = 2000
	h, sum := (b-a)/n, f(a)-f(b)
	for i := range n / 2 {
		sum += 4*f(a+float64(2*i+1)*h) + 2*f(a+float64(2*i+2)*h)
	}
	return sum * h / 3
}

// No solver steps across a pole: the solution is right, or the error says where the run
// ended. A zero of a denominator at which f stays finite is passed. The values are closed
// forms and integrals.
func TestPoles(t *testing.T) {
	bernoulli := func(x float64) float64 {
		if x == 0 {
			return 1
		}
		return x / math.Expm1(x)
	}
	sinc := func(x float64) float64 {
		if x == 0 {
			return 1
		}
		return math.Sin(x) / x
	}
	type equation = [3]string
	const never = 0
	setups := map[string]probode.Setup{
		"DP5":       {Method: methods.RungeKutta{Tableau: methods.DormandPrince}},
		"Radau5":    {Method: methods.Radau{}},
		"BDF":       {Method: methods.BDF{}},
		"auto":      {Method: methods.Auto{}},
		"reference": {Mesh: reference.Accurate{}},
		"RK4":       {Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.013)},
	}
	where := regexp.MustCompile(` t = ([-+.e0-9]*[0-9])`)
	for _, c := range []struct {
		name      string
		k, end    float64
		equations []equation
		want      float64 // the last state at the end
		stops     float64 // the time at which a run may end with an error; 0 for none
		solvable  string  // the solvers that must reach the end if others may not
	}{
		{"Michaelis and Menten", 1e-8, 5, []equation{{"x", "-x/(k + x)", "1"}}, 0, 1, "Radau5 BDF auto reference"},
		{"smaller", 1e-12, 5, []equation{{"x", "-x/(k + x)", "1"}}, 0, 1, "Radau5 BDF auto reference"},
		{"smallest", 1e-15, 5, []equation{{"x", "-x/(k + x)", "1"}}, 0, 1, "Radau5 BDF auto reference"},
		{"two factors", 1e-9, 5, []equation{{"x", "-x/((k + x)*(2 + cos(time)))", "1"}, {"y", "x/(k + x)/(2 + cos(time))", "0"}}, 1, 2 * math.Atan(math.Sqrt(3)*math.Tan(math.Sqrt(3)/2)), "Radau5 BDF auto reference"},
		{"Monod", 1e-9, 10, []equation{{"s", "-s/(k + s)*b", "1"}, {"b", "s/(k + s)*b", "0.1"}}, 1.1, math.Log(11), "Radau5 BDF auto reference"},
		{"Gompertz", 1, 5, []equation{{"x", "x*log(k/x)", "0.01"}}, math.Exp(math.Log(0.01) * math.Exp(-5)), never, ""},
		{"away from a pole", 1, 3, []equation{{"x", "1/(x - k)", "2"}}, 1 + math.Sqrt(7), never, ""},
		{"a pole at a known time", 5, 10, []equation{{"x", "1/(time - k)", "0"}}, math.NaN(), 5, ""},
		{"tangent", 1, 4, []equation{{"x", "tan(k*time)", "0"}}, math.NaN(), math.Pi / 2, ""},
		{"1/x", 1, 1, []equation{{"x", "-k/x", "1"}}, math.NaN(), 0.5, ""},
		{"1/x²", 1, 1, []equation{{"x", "-k/x^2", "1"}}, math.NaN(), 1. / 3, ""},
		{"1/cos x", 1, 1, []equation{{"x", "k/cos(x)", "1"}}, math.NaN(), 1 - math.Sin(1), ""},
		{"a tank", 1, 5, []equation{{"x", "-k*sqrt(x)", "1"}}, 0, 2, ""},
		{"a power", 0.4, 5, []equation{{"x", "-x^k", "1"}}, 0, 1 / 0.6, ""},
		{"0/0 at the start", 1, 3, []equation{{"x", "k*sin(time)/time", "0"}}, math.NaN(), 1e-300, ""},
		{"log 0 at the start", 1, 3, []equation{{"x", "x*log(k/x)", "0"}}, math.NaN(), 1e-300, ""},
		{"sinc", 1, 3, []equation{{"x", "-k", "1.1"}, {"y", "sin(x)/x", "0"}}, integral(sinc, -1.9, 1.1), never, ""},
		{"Bernoulli", 1, 3, []equation{{"x", "-k", "1.1"}, {"y", "x/(exp(x) - 1)", "0"}}, integral(bernoulli, -1.9, 1.1), never, ""},
		{"two parts", 1, 3, []equation{{"x", "-k", "1.1"}, {"y", "x*(1/(1 - exp(-x)))", "0"}}, integral(func(x float64) float64 { return bernoulli(-x) }, -1.9, 1.1), never, ""},
		{"a difference of poles", 1, 2, []equation{{"x", "-k", "1.1"}, {"y", "1/x - 1/tanh(x)", "0"}}, math.Log(1.1/0.9) - math.Log(math.Sinh(1.1)/math.Sinh(0.9)), never, ""},
		{"a logarithm", 1, 2, []equation{{"x", "-k", "1"}, {"y", "log(abs(x))", "0"}}, -2, never, ""},
		{"not in use", 1, 3, []equation{{"x", "-k", "1"}, {"y", "piecewise(1/(x + k), x > 0, 1)", "0"}}, 2 + math.Log(2), never, ""},
	} {
		q := odes(t, c.k, c.end, c.equations...)
		calls, f := 0, q.F
		q.F = func(dst []float64, t float64, x, theta []float64) { calls++; f(dst, t, x, theta) }
		if h := q.Hybrid; h != nil {
			f := h.F
			h.F = func(dst []float64, t float64, x, theta []float64) { calls++; f(dst, t, x, theta) }
		}
		for name, s := range setups {
			if s.Mesh == nil {
				s.Mesh = probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}, MaxSteps: 1e4}
			}
			if q.Hybrid != nil && name == "RK4" {
				continue // steps across the jump
			}
			calls = 0
			x := make([]float64, q.Dim())
			path, err := s.Bind(t.Context(), q, q.Theta, []float64{c.end})
			if err == nil {
				err = path.States(t.Context(), x, q.Theta, nil)
			}
			last, tolerance := x[len(x)-1], 1e-4
			if name == "RK4" { // steps across a kink, too
				tolerance = 0.05
			}
			switch {
			case err == nil && !(math.Abs(last-c.want) <= tolerance*(1+math.Abs(c.want))):
				t.Errorf("%s, %s: %.8g, want %.8g", c.name, name, last, c.want)
			case err != nil && (c.stops == 0 || strings.Contains(c.solvable, name)):
				t.Errorf("%s, %s: %v", c.name, name, err)
			case err != nil:
				at := math.NaN()
				if m := where.FindStringSubmatch(err.Error()); m != nil {
					at, _ = strconv.ParseFloat(m[1], 64)
				}
				if !(math.Abs(at-c.stops) < 0.02) {
					t.Errorf("%s, %s: want an error at t = %.4g: %v", c.name, name, c.stops, err)
				}
				if calls > 50_000 && !strings.Contains(err.Error(), "10000 steps") {
					t.Errorf("%s, %s: %d calls of F: %v", c.name, name, calls, err)
				}
			}
		}
	}
}

// The default log-likelihood of x′ = −x/(P + x), x(0) = 1, with the datum x(5) = 0: x is 0
// there, up to e^(−4/P).
func TestLikelihoodBehindPole(t *testing.T) {
	for _, p := range []string{"1e-7", "1e-8", "1e-12", "1e-20"} {
		m, err := Parse("m", []byte("parameters:\n  - {parameterId: P, nominalValue: "+p+"}\nodes:\n  - {stateId: x, rightHandSide: -x/(P + x), initialValue: 1}\nobservables:\n  - {observableId: o, observableFormula: x, noiseFormula: 0.01}\ndata: |\n  time,o\n  5,0\n"))
		if err != nil {
			t.Fatal(err)
		}
		if e := evaluate(t, m); math.Abs(e.LogLikelihood+math.Log(0.01*math.Sqrt(2*math.Pi))) > 1e-6 {
			t.Errorf("P = %s: log-likelihood %.8g", p, e.LogLikelihood)
		}
	}
}

// In the model of Hodgkin and Huxley (J. Physiol. 117, 500, 1952), the rates of two gates
// have removable zeros that the potential passes in every spike. The potential equals an
// accurate solution of the same equations with these rates written by expm1, and the zeros
// cost little.
func TestHodgkinHuxley(t *testing.T) {
	const end = 30
	q := odes(t, 10, end,
		[3]string{"V", "k - 120*m^3*h*(V - 50) - 36*n^4*(V + 77) - 0.3*(V + 54.387)", "-65"},
		[3]string{"m", "0.1*(V + 40)/(1 - exp(-(V + 40)/10))*(1 - m) - 4*exp(-(V + 65)/18)*m", "0.05"},
		[3]string{"h", "0.07*exp(-(V + 65)/20)*(1 - h) - h/(1 + exp(-(V + 35)/10))", "0.6"},
		[3]string{"n", "0.01*(V + 55)/(1 - exp(-(V + 55)/10))*(1 - n) - 0.125*exp(-(V + 65)/80)*n", "0.32"})
	rate := func(v float64) float64 { // v/(1 − e^(−v))
		if v == 0 {
			return 1
		}
		return -v / math.Expm1(-v)
	}
	same := &probode.Problem{X0: []float64{-65, 0.05, 0.6, 0.32}, Span: [2]float64{0, end}, Autonomous: true,
		F: func(dst []float64, _ float64, x, _ []float64) {
			v, m, h, n := x[0], x[1], x[2], x[3]
			dst[0] = 10 - 120*m*m*m*h*(v-50) - 36*n*n*n*n*(v+77) - 0.3*(v+54.387)
			dst[1] = rate((v+40)/10)*(1-m) - 4*math.Exp(-(v+65)/18)*m
			dst[2] = 0.07*math.Exp(-(v+65)/20)*(1-h) - h/(1+math.Exp(-(v+35)/10))
			dst[3] = 0.1*rate((v+55)/10)*(1-n) - 0.125*math.Exp(-(v+65)/80)*n
		}}
	want, err := reference.Solve(t.Context(), same, []float64{end}, reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-10}})
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Poles) != 2 {
		t.Fatalf("poles %q: want those of two gates", q.Poles)
	}
	calls, f := 0, q.F
	q.F = func(dst []float64, t float64, x, theta []float64) { calls++; f(dst, t, x, theta) }
	free := *q
	free.Poles = nil
	for name, m := range map[string]probode.Method{"DP5": methods.RungeKutta{Tableau: methods.DormandPrince}, "Radau5": methods.Radau{}, "BDF": methods.BDF{}, "auto": methods.Auto{}} {
		s := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-7}}}
		var count [2]int
		for i, p := range []*probode.Problem{&free, q} {
			calls = 0
			path, err := s.Bind(t.Context(), p, p.Theta, []float64{end})
			if err != nil {
				t.Fatal(name, err)
			}
			x := make([]float64, 4)
			if err := path.States(t.Context(), x, p.Theta, nil); err != nil {
				t.Fatal(name, err)
			}
			if count[i] = calls; math.Abs(x[0]-want.X[0]) > 1e-2 { // spikes amplify errors
				t.Errorf("%s: V = %.6f, want %.6f", name, x[0], want.X[0])
			}
		}
		if float64(count[1]) > 2.5*float64(count[0]) {
			t.Errorf("%s: %d calls of F, and %d if the zeros do not matter", name, count[1], count[0])
		}
	}
}
