package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/methods"
)

// A solved model has a closed form.
type solved struct {
	rates []string
	start float64                 // of the first state; others begin at 0
	x     func(t float64) float64 // the first state
	span  float64
}

// randomSolved returns a linear or polynomial model with random rates, time span and size.
func randomSolved(rng *rand.Rand) solved {
	between := func(a, b float64) float64 { return a * math.Pow(b/a, rng.Float64()) }
	span := between(1, 100)
	k, w, a := between(0.3, 10)/span, between(0.3, 20)/span, between(0.1, 10)
	one := func(rate string, start float64, x func(t float64) float64) solved {
		rate = strings.NewReplacer("K", fmt.Sprint(k), "W", fmt.Sprint(w), "A", fmt.Sprint(a)).Replace(rate)
		return solved{strings.Split(rate, "; "), start, x, span}
	}
	switch rng.IntN(9) {
	case 0:
		return one("A*cos(W*time) - K*x1", 0, func(t float64) float64 {
			return a * (k*math.Cos(w*t) + w*math.Sin(w*t) - k*math.Exp(-k*t)) / (k*k + w*w)
		})
	case 1:
		return one("A - K*x1", w, func(t float64) float64 { return w*math.Exp(-k*t) - a/k*math.Expm1(-k*t) })
	case 2:
		return one("-K*x1 - W*x2; W*x1 - K*x2", a, func(t float64) float64 { return a * math.Exp(-k*t) * math.Cos(w*t) })
	case 3:
		return one("A*K*exp(-K*time) - 3*K*x1", 0, func(t float64) float64 { return -a / 2 * math.Exp(-k*t) * math.Expm1(-2*k*t) })
	case 4:
		return one("K*x1*(1 - x1/A)", a/64, func(t float64) float64 { return a / (1 + 63*math.Exp(-k*t)) })
	case 5:
		return one("-K*x1^2", a, func(t float64) float64 { return a / (1 + a*k*t) })
	case 6:
		return one("K*time^3", a, func(t float64) float64 { return a + k*t*t*t*t/4 })
	case 7:
		return one("K*x1*sin(W*time)", a, func(t float64) float64 { s := math.Sin(w * t / 2); return a * math.Exp(2*k/w*s*s) })
	default:
		return one("-K*x1^3", a, func(t float64) float64 { return a / math.Sqrt(1+2*k*t*a*a) })
	}
}

// The stated error of a log-likelihood is at least a fifth of the true error, whatever
// limits the steps: the tolerance, the largest step, or the times of the data. It is not
// needlessly large, either. The true error is above the rounding errors of the closed form.
func TestStatedError(t *testing.T) {
	const models = 30
	rng := rand.New(rand.NewPCG(43, 1))
	var ratios []float64
	for i := range models {
		m := randomSolved(rng)
		points, misfit, top := []int{1, 1, 3, 20, 200}[rng.IntN(5)], math.Pow(10, 3.5*rng.Float64()), 0.0
		if i == 0 {
			m = solved{[]string{"cos(0.05*time) - 0.1*x1"}, 0, func(t float64) float64 {
				return (0.1*math.Cos(0.05*t) + 0.05*math.Sin(0.05*t) - 0.1*math.Exp(-0.1*t)) / 0.0125
			}, 100}
			points, misfit = 1, 1e3
		}
		for j := range 100 {
			top = max(top, math.Abs(m.x(m.span*float64(j+1)/100)))
		}
		sd := top * math.Pow(10, -4*rng.Float64())
		var text strings.Builder
		fmt.Fprintf(&text, "observables:\n  - {observableId: o, observableFormula: x1, noiseFormula: %v}\nodes:\n", sd)
		for k, rate := range m.rates {
			fmt.Fprintf(&text, "  - {stateId: x%d, rightHandSide: %s, initialValue: %v}\n", k+1, rate, m.start*float64(1-k))
		}
		text.WriteString("data: |\n  time,o\n")
		want, rounding := 0.0, 0.0
		for j := range points {
			at := m.span * float64(j+1) / float64(points)
			x := m.x(at)
			y := x + sd*misfit*rng.NormFloat64()
			fmt.Fprintf(&text, "  %v,%v\n", at, y)
			z := (y - x) / sd
			want += -z*z/2 - math.Log(sd*math.Sqrt(2*math.Pi))
			rounding += 0x1p-52 * (2*math.Abs(z)/sd*max(math.Abs(x), math.Abs(y)) + z*z + math.Abs(math.Log(sd)))
		}
		p, err := Parse("m", []byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []LikelihoodSettings{{}, {MaxStep: m.span / 10}, {Method: methods.RungeKutta{Tableau: methods.DormandPrince}}, {Method: methods.Radau{}}, {Method: methods.BDF{}}} {
			l, err := p.LogLikelihood(set)
			if err != nil {
				t.Fatal(err)
			}
			for _, aim := range []float64{1e-4, 1e-6, 1e-8, 1e-11} {
				l.aim = aim
				v, err := l.At(t.Context(), nil, false)
				if err != nil {
					t.Fatal(err)
				}
				e := math.Abs(v.LogLikelihood-want) - rounding
				if e > 0 {
					ratios = append(ratios, v.Error/e)
				}
				if !(v.Error >= e/5) {
					t.Errorf("%s, %d data, largest step %g, aim %g: log-likelihood %.13g with an error of %.3g: want %.13g", m.rates, points, set.MaxStep, aim, v.LogLikelihood, v.Error, want)
				}
			}
		}
	}
	slices.Sort(ratios)
	if median := ratios[len(ratios)/2]; len(ratios) < 2*models || median > 20 {
		t.Errorf("in the median of %d, the stated error is %.3g times the true one", len(ratios), median)
	}
}

// Two solutions whose equations are solved up to rounding errors differ by the errors of
// their steps alone. Differences of Newton's errors made the default likelihood of the
// cascade 15,000 steps long, and its true error 4e-12.
func TestDefaultWork(t *testing.T) {
	for name, most := range map[string]int{"lynx": 800, "influenza": 1000, "cascade": 6000} {
		p, err := Load("testdata/petab-" + name + "/problem.yaml")
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.At(t.Context(), l.p.Nominal(), false); err != nil {
			t.Fatal(err)
		}
		var work int
		for _, q := range l.parts {
			for _, d := range q.densities {
				work += d.Work()
			}
		}
		if work > most {
			t.Errorf("%s: %d steps: want at most %d", name, work, most)
		}
	}
}
