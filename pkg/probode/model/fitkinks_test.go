package model

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// line is the straight line a + bt with Laplace errors. The errors of datum i have the
// scale s times scale[i].
func line(t, y, scale []float64, slope bool) *File {
	rate := expr.Num(0)
	if slope {
		rate = expr.Sym("b")
	}
	m := &Model{Equations: equations.Equations{Name: "line", States: []equations.State{{ID: "x", Init: expr.Sym("a"), Rate: rate}}}}
	for i := range y {
		id := "y" + string(rune('a'+i))
		m.observables = append(m.observables, observable{id: id, formula: expr.Sym("x"),
			noise: expr.Call("times", expr.Num(scale[i]), expr.Sym("s")), scale: Lin, distribution: laplaceNoise})
		m.Data = append(m.Data, Observation{Observable: id, Time: t[i], Value: y[i]})
	}
	p := &File{Name: "line", Models: []*Model{m}, Params: []Parameter{
		{ID: "a", Nominal: 1, Scale: Lin, Lower: -20, Upper: 20, Estimate: true},
		{ID: "s", Nominal: 1, Scale: Log10, Lower: 1e-4, Upper: 1e4, Estimate: true}}}
	if slope {
		p.Params = append(p.Params, Parameter{ID: "b", Nominal: 0, Scale: Lin, Lower: -20, Upper: 20, Estimate: true})
	}
	return p
}

// best returns the log-likelihood of the line with intercept a and slope b, maximised
// over the scale: −Σ ln 2eσwᵢ with σ = Σ |rᵢ|/wᵢ / n.
func best(t, y, w []float64, a, b float64) float64 {
	var sum, logs float64
	for i := range y {
		sum += math.Abs(y[i]-a-b*t[i]) / w[i] / float64(len(y))
		logs += math.Log(w[i])
	}
	return -float64(len(y))*(math.Log(2*sum)+1) - logs
}

// The best line with Laplace errors goes through one of the data, the weighted median, if
// the slope is fixed at 0, or through two of them otherwise. The best of all such lines
// is therefore the optimum.
func TestFitLeastAbsoluteDeviations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for try := range 6 {
		slope := try >= 2
		var at, y, w []float64
		for i := range 9 + try {
			at = append(at, float64(i)/2)
			y = append(y, 2+0.7*at[i]+math.Pow(r.NormFloat64(), 3))
			w = append(w, 0.5+r.Float64())
		}
		want := math.Inf(-1)
		for i := range y {
			for j := range i {
				if b := (y[i] - y[j]) / (at[i] - at[j]); slope {
					want = max(want, best(at, y, w, y[i]-b*at[i], b))
				}
			}
			if !slope {
				want = max(want, best(at, y, w, y[i], 0))
			}
		}
		list, err := line(at, y, w, slope).Fit(context.Background(), FitSettings{Starts: 4, Seed: uint64(try)})
		if err != nil {
			t.Fatal(err)
		}
		kinks := 1
		if slope {
			kinks = 2
		}
		for _, o := range list {
			// Fit promises an accuracy of 1e-7, and the solver's error is 0 for a line.
			if o.Err != nil || !o.Converged || o.Kinks != kinks || math.Abs(o.LogLikelihood-want) > 1e-7 {
				t.Errorf("%d, search %d: %.9f, %s, %v: want %.9f at %d kinks", try, o.Start, o.LogLikelihood, o.Reason, o.Err, want, kinks)
			}
		}
	}
}

// Optima without a kink, with one, with several, and at a bound have closed forms: μ²/2 +
// |3 − μ|/s is least at μ = 1/s or at 3. A search that runs out of iterations says so.
func TestFitKinks(t *testing.T) {
	for s, want := range map[float64]struct {
		mu     float64
		kinks  int
		reason string
	}{
		2:    {0.5, 0, "optimum"},
		0.25: {3, 1, "optimum at 1 kink"},
		-0.5: {3, 2, "optimum at 2 kinks"}, // twice
		-4:   {2.5, 0, "optimum"},
	} {
		m := &Model{Equations: equations.Equations{Name: "level", States: []equations.State{{ID: "x", Init: expr.Sym("mu"), Rate: expr.Num(0)}}},
			observables: []observable{
				{id: "y", formula: expr.Sym("x"), noise: expr.Num(1), scale: Lin, distribution: normalNoise},
				{id: "z", formula: expr.Sym("x"), noise: expr.Num(math.Abs(s)), scale: Lin, distribution: laplaceNoise}},
			Data: []Observation{{Observable: "y", Time: 0, Value: 0}, {Observable: "z", Time: 1, Value: 3}}}
		p := &File{Name: "level", Models: []*Model{m}, Params: []Parameter{{ID: "mu", Nominal: 1, Scale: Lin, Lower: -10, Upper: 10, Estimate: true}}}
		if s < 0 {
			m.Data = append(m.Data, Observation{Observable: "z", Time: 2, Value: 3})
		}
		if s == -4 {
			p.Params[0].Lower = 2.5 // 0.5 without it
		}
		list, err := p.Fit(context.Background(), FitSettings{Starts: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			// The bound is sqrt(2·1e-8), from the quadratic term, with a margin.
			if o.Err != nil || !o.Converged || o.Kinks != want.kinks || o.Reason != want.reason || math.Abs(o.Theta[0]-want.mu) > 3e-4 {
				t.Errorf("s = %v: %+v: want %+v", s, o, want)
			}
		}
	}
	p := load(t, "pk.yaml")
	list, err := p.Fit(context.Background(), FitSettings{Starts: 1, Iterations: 3})
	if err != nil || list[0].Converged || !strings.Contains(list[0].Reason, "too many iterations") || list[0].Iterations != 3 {
		t.Errorf("three iterations: %+v, %v", list, err)
	}
}

// All searches for the pharmacokinetic model end at one of its four optima, three of
// which are at bounds: −32.820438, −46.378401, −46.541488 and −46.591147. Nelder–Mead,
// started near each, found the same values. Searches that end far below the best are left
// near an optimum, not at it.
func TestFitPharmacokinetics(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := load(t, "pk.yaml")
	list, err := p.Fit(context.Background(), FitSettings{Starts: 8, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	optima := []float64{-32.820437755, -46.378400608, -46.541487582, -46.591146838}
	for _, o := range list {
		within, left := 1e-6, o.LogLikelihood < optima[0]-2 && !o.Converged
		if left {
			within = 1e-2
		}
		near := slices.ContainsFunc(optima, func(l float64) bool { return math.Abs(o.LogLikelihood-l) < within })
		if o.Err != nil || !near || !left && (!o.Converged || o.Kinks < 3 || o.Left > 1e-6) {
			t.Errorf("search %d: %.9f, left %v, %s %v", o.Start, o.LogLikelihood, o.Left, o.Reason, o.Err)
		}
	}
	if list[0].LogLikelihood < optima[0]-1e-6 || list[0].Kinks != 4 {
		t.Errorf("the best: %+v", list[0])
	}
}
