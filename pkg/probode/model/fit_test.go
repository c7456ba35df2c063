package model

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// level is a constant state with normal errors: the likelihood is largest at
// the mean and the standard deviation of the data.
func level() *File {
	m := &Model{Equations: equations.Equations{Name: "level", States: []equations.State{{ID: "x", Init: expr.Sym("mu"), Rate: expr.Num(0)}}},
		observables: []observable{{id: "y", formula: expr.Sym("x"), noise: expr.Sym("s"), scale: Lin, distribution: normalNoise}}}
	for i, y := range []float64{2.1, 1.7, 2.9, 2.4, 1.9} {
		m.Data = append(m.Data, Observation{Observable: "y", Time: float64(i), Value: y})
	}
	return &File{Name: "level", Models: []*Model{m}, Params: []Parameter{
		{ID: "mu", Nominal: 1, Scale: Lin, Lower: -10, Upper: 10, Estimate: true},
		{ID: "s", Nominal: 1, Scale: Log10, Lower: 1e-3, Upper: 1e3, Estimate: true}}}
}

func TestFit(t *testing.T) {
	p := level()
	list, err := p.Fit(context.Background(), FitSettings{Starts: 6, Seed: 3, Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	const mean = 2.2
	sd := math.Sqrt((0.01 + 0.25 + 0.49 + 0.04 + 0.09) / 5)
	want := -2.5 * (math.Log(2*math.Pi*sd*sd) + 1)
	for i, o := range list {
		if o.Err != nil || !o.Converged {
			t.Errorf("search %d: %v %s", o.Start, o.Err, o.Reason)
			continue
		}
		if math.Abs(o.Theta[0]-mean) > 1e-4 || math.Abs(o.Theta[1]-sd) > 1e-4 || math.Abs(o.LogLikelihood-want) > 1e-7 {
			t.Errorf("search %d ends at %v with %v: want %v, %v with %v", o.Start, o.Theta, o.LogLikelihood, mean, sd, want)
		}
		if i > 0 && o.LogLikelihood > list[i-1].LogLikelihood {
			t.Errorf("optimum %d is better than the one before", i)
		}
	}
	again, err := p.Fit(context.Background(), FitSettings{Starts: 6, Seed: 3, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i].Start != again[i].Start || !slices.Equal(list[i].Theta, again[i].Theta) {
			t.Errorf("one worker: %+v, three: %+v", again[i], list[i])
		}
	}
}

// If the optimum is outside the bounds, the search ends at the bound. Starts come from
// the initialisation prior.
func TestFitBounds(t *testing.T) {
	p := level()
	p.Params[0].Upper = 2
	p.Params[1].start = Prior{"parameterScaleUniform", -1, 1}
	list, err := p.Fit(context.Background(), FitSettings{Starts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if o := list[0]; o.Err != nil || o.Theta[0] > 2 || o.Theta[0] < 2-1e-3 {
		t.Errorf("%+v: want 2 for the mean", o)
	}
	b, err := newBox(&p.Params[1], false)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if u := b.at(r.Float64()); !(u > -3 && u < 3) {
			t.Errorf("a start at %v: want one between the bounds", u)
		}
	}
}

// A fit that is stopped keeps the points that its searches have reached, whenever it is
// stopped.
func TestFitStopped(t *testing.T) {
	p := level()
	want, err := p.Fit(t.Context(), FitSettings{Starts: 8, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, searches := range []int{1, 5, 8} {
		ctx, cancel := context.WithCancel(t.Context())
		list, err := p.Fit(ctx, FitSettings{Starts: 8, Workers: 1, Progress: func(done, _ int) {
			if done == searches {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || len(list) != 8 {
			t.Fatalf("%v, %d", err, len(list))
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		ended := 0
		for _, o := range list {
			if o.Err != nil {
				if !errors.Is(o.Err, context.Canceled) {
					t.Error(o.Err)
				}
				continue
			}
			at, err := l.At(t.Context(), o.Theta, false)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(at.LogLikelihood-o.LogLikelihood) > 1e-7 || o.Reason == "" {
				t.Errorf("%+v: want the log-likelihood %g", o, at.LogLikelihood)
			}
			if want[0].LogLikelihood-o.LogLikelihood < 2e-4 { // searches that are not refined stop when they expect to gain 10⁻⁴
				ended++
			}
		}
		if ended < searches {
			t.Errorf("stopped after %d of 8 searches: %d ended at the optimum", searches, ended)
		}
		cancel()
	}
}

func TestFitRefuses(t *testing.T) {
	p := level()
	for _, s := range []FitSettings{{}, {Starts: -1}, {Starts: 1, Workers: -1}, {Starts: 1, Iterations: -1}} {
		if _, err := p.Fit(context.Background(), s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if list, err := p.Fit(ctx, FitSettings{Starts: 2}); !errors.Is(err, context.Canceled) || len(list) != 2 || list[0].Err == nil {
		t.Errorf("stopped: %v %v", list, err)
	}
	p.Params[0].Lower = 10
	if _, err := p.Fit(context.Background(), FitSettings{Starts: 1}); err == nil {
		t.Error("an empty range is accepted")
	}
	p.Params[0].Estimate, p.Params[1].Estimate = false, false
	if _, err := p.Fit(context.Background(), FitSettings{Starts: 1}); err == nil {
		t.Error("nothing to estimate, and no error")
	}
	// If the likelihood cannot be computed anywhere, the search says why.
	p = level()
	p.Models[0].observables[0].noise = expr.Call("times", expr.Num(-1), expr.Sym("s"))
	list, err := p.Fit(context.Background(), FitSettings{Starts: 1})
	if is := (*impossibleError)(nil); err != nil || !errors.As(list[0].Err, &is) {
		t.Errorf("%v, %v", list, err)
	}
}

// A parameter that has no effect on the likelihood is fitted like the others: the rate k of
// x′ = −k + …, x(0) = 1, is (1·0.6 + 2·1.3)/(1 + 4) = 0.64 by least squares,
// and the profile of b reaches both bounds. With Map, b goes to the mean of its prior.
func TestFitOfIdleParameter(t *testing.T) {

	for _, c := range []struct {
		name, rate, formula, conditions, data string
		idle                                  bool
	}{
		{"switched off in the rate", "-k + s * b * x", "x", "  - {conditionId: one, s: 0}\n  - {conditionId: two, s: 1}\n", "time,conditionId,y\n  1,one,0.4\n  2,one,-0.3\n", true},
		{"switched off in the formula", "-k", "x + s * b", "  - {conditionId: one, s: 0}\n  - {conditionId: two, s: 1}\n", "time,conditionId,y\n  1,one,0.4\n  2,one,-0.3\n", true},
		{"replaced", "-k + s * b * x", "x", "  - {conditionId: one, s: 1, b: 0}\n  - {conditionId: two, s: 1}\n", "time,conditionId,y\n  1,one,0.4\n  2,one,-0.3\n", true},
		{"factor of what is not measured", "-k", "x", "", "time,y\n  1,0.4\n  2,-0.3\n", true},
		{"branch that no measurement reaches", "-k", "piecewise(x, time >= 0, b)", "", "time,y\n  1,0.4\n  2,-0.3\n", false},
	} {
		if c.conditions != "" {
			c.conditions = "conditions:\n" + c.conditions
		}
		p, err := Parse("idle.yaml", []byte("name: idle\nparameters:\n  - {parameterId: k, lowerBound: 0, upperBound: 5}\n"+
			"  - {parameterId: b, lowerBound: 0, upperBound: 4, objectivePriorType: normal, objectivePriorParameters: 1;0.2}\n  - {parameterId: s, nominalValue: 1, estimate: 0}\n"+
			"odes:\n  - {stateId: x, rightHandSide: "+c.rate+", initialValue: 1}\n"+
			"observables:\n  - {observableId: y, observableFormula: \""+c.formula+"\", noiseFormula: 0.1}\n  - {observableId: z, observableFormula: b * x, noiseFormula: 0.1}\n"+
			c.conditions+"data: |\n  "+c.data))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(l.Idle()) == 1 && l.Idle()[0] == "b"; got != c.idle {
			t.Errorf("%s: %v have no effect", c.name, l.Idle())
		}
		for _, s := range []FitSettings{{Starts: 2, Seed: 1}, {Starts: 2, Seed: 1, Map: true}} {
			list, err := p.Fit(context.Background(), s)
			if err != nil || !list[0].Converged || math.Abs(list[0].Theta[0]-0.64) > 1e-6 || s.Map && math.Abs(list[0].Theta[1]-1) > 1e-4 {
				t.Errorf("%s: %+v, %v: want k = 0.64", c.name, list, err)
				continue
			}
			all, err := p.Profiles(context.Background(), list, 0.95, s)
			if err != nil || !all.ByName[0].Identified() || all.ByName[1].LowerOpen != !s.Map || all.ByName[1].UpperOpen != !s.Map {
				t.Errorf("%s: %+v, %v", c.name, all, err)
			}
		}
	}
}

// With the intercept c(b − a²) and the slope a, the likelihood has a curved ridge along b =
// a² whose width is 0.2/c. A search that begins at its far end follows it to the optimum,
// the intercept and the slope of least squares.
func TestFitFollowsACurvedRidge(t *testing.T) {
	p := straight([]float64{0.9, 1.7, 2.2, 2.7, 3.8, 4.1})
	square := expr.Call("times", expr.Sym("a"), expr.Sym("a"))
	p.Params[1].Upper = 400
	p.Models[0].States[0].Rate = expr.Sym("a")
	for _, c := range []float64{10, 100, 1e3} {
		p.Models[0].States[0].Init = expr.Call("times", expr.Num(c), expr.Call("plus", expr.Sym("b"), expr.Call("times", expr.Num(-1), square)))
		list, err := p.Fit(context.Background(), FitSettings{From: [][]float64{{-15, 225}}})
		if err != nil {
			t.Fatal(err)
		}
		const slope, intercept = 11.4 / 17.5, 15.4/6 - 2.5*11.4/17.5
		if o := list[0]; o.Iterations > 150 || math.Abs(o.Theta[0]-slope) > 1e-4 || math.Abs(c*(o.Theta[1]-o.Theta[0]*o.Theta[0])-intercept) > 1e-3 {
			t.Errorf("factor %g: %+v: want the slope %g", c, o, slope)
		}
	}
}
