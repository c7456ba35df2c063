package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// straight is a + bt with normal errors of sd 0.3 at t = 0, 1, …, 5.
func straight(y []float64) *File {
	m := &Model{Equations: equations.Equations{Name: "line", States: []equations.State{{ID: "x", Init: expr.Sym("a"), Rate: expr.Sym("b")}}},
		observables: []observable{{id: "y", formula: expr.Sym("x"), noise: expr.Num(0.3), scale: Lin, distribution: normalNoise}}}
	for i, v := range y {
		m.Data = append(m.Data, Observation{Observable: "y", Time: float64(i), Value: v})
	}
	return &File{Name: "line", Models: []*Model{m}, Params: []Parameter{
		{ID: "a", Nominal: 1, Scale: Lin, Lower: -20, Upper: 20, Estimate: true},
		{ID: "b", Nominal: 1, Scale: Lin, Lower: -20, Upper: 20, Estimate: true}}}
}

func fitted(t *testing.T, p *File, starts int) []Optimum {
	t.Helper()
	list, err := p.Fit(context.Background(), FitSettings{Starts: starts, Seed: 1})
	if err != nil || !list[0].Converged {
		t.Fatalf("%+v, %v", list, err)
	}
	return list
}

// For a linear model the profile is a parabola, and the interval at level .95 is ±1.959964
// standard errors: .3 √(Σt²/(n Σ(t−t̄)²)) for a, and .3/√Σ(t−t̄)² for b. The end is
// accurate to 10⁻⁴ of the threshold, thus to 5·10⁻⁵ of the half-width.
func TestProfilesOfLinearModel(t *testing.T) {
	p := straight([]float64{0.9, 1.7, 2.2, 2.7, 3.8, 4.1})
	ends := fitted(t, p, 3)
	best := ends[0]
	all, err := p.Profiles(context.Background(), ends, 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	for i, half := range []float64{0.3 * math.Sqrt(55.0/(6*17.5)), 0.3 / math.Sqrt(17.5)} {
		q := all.ByName[i]
		half *= 1.959963985
		if got := [2]float64{best.Theta[i] - q.Lower, q.Upper - best.Theta[i]}; math.Abs(got[0]/half-1) > 1e-4 || math.Abs(got[1]/half-1) > 1e-4 || !q.Identified() {
			t.Errorf("%s: %v, %+v: want half-widths %v", q.Parameter, got, q.Err, half)
		}
		for _, point := range q.Points {
			if z := (point.Value - best.Theta[i]) / half * 1.959963985; math.Abs(point.Drop-z*z/2) > 1e-4*(1+z*z) {
				t.Errorf("%s = %v: %v below the optimum: want %v", q.Parameter, point.Value, point.Drop, z*z/2)
			}
		}
	}
	// A bound inside the interval of b makes this side open; the other side stays, because
	// the optimum is inside.
	p.Params[1].Upper = best.Theta[1] + 0.05
	all, err = p.Profiles(context.Background(), fitted(t, p, 3), 0.95, FitSettings{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if q := all.ByName[1]; !q.UpperOpen || q.LowerOpen || q.Upper != p.Params[1].Upper || q.Identified() {
		t.Errorf("with a bound: %+v", q)
	}
}

// In x′ = −(k₁ + k₂)x only the sum is identified: both profiles stay flat down to the lower
// bounds, and upwards they end where a rate reaches the upper end of the interval of the
// sum, which is the interval of the rate in x′ = −kx, less the bound of the other.
func TestProfilesOfSum(t *testing.T) {
	decay := func(rate *expr.Node, names ...string) *File {
		m := &Model{Equations: equations.Equations{Name: "decay", States: []equations.State{{ID: "x", Init: expr.Num(1),
			Rate: expr.Call("times", expr.Num(-1), rate, expr.Sym("x"))}}},
			observables: []observable{{id: "y", formula: expr.Sym("x"), noise: expr.Num(0.05), scale: Lin, distribution: normalNoise}}}
		for i, y := range []float64{0.62, 0.35, 0.24, 0.12} {
			m.Data = append(m.Data, Observation{Observable: "y", Time: float64(i + 1), Value: y})
		}
		p := &File{Name: "decay", Models: []*Model{m}}
		for _, name := range names {
			p.Params = append(p.Params, Parameter{ID: name, Nominal: 0.3, Scale: Log10, Lower: 1e-4, Upper: 10, Estimate: true})
		}
		return p
	}
	one := decay(expr.Sym("k"), "k")
	known, err := one.Profiles(context.Background(), fitted(t, one, 2), 0.95, FitSettings{})
	if err != nil || !known.ByName[0].Identified() {
		t.Fatalf("%+v, %v", known, err)
	}
	two := decay(expr.Call("plus", expr.Sym("k1"), expr.Sym("k2")), "k1", "k2")
	all, err := two.Profiles(context.Background(), fitted(t, two, 4), 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all.ByName {
		if want := known.ByName[0].Upper - 1e-4; q.Identified() || !q.LowerOpen || q.UpperOpen || math.Abs(q.Upper-want) > 1e-3*want {
			t.Errorf("%s: from %v (open: %t) to %v (open: %t): want an open lower end, and %v", q.Parameter, q.Lower, q.LowerOpen, q.Upper, q.UpperOpen, want)
		}
	}
}

// If the data determine only V/K, a product or a sum, an interval ends where another
// parameter meets its bound: the bound divided or multiplied by, or added to, the interval
// of what is determined. Where K is large, x′ = −Vx/(K + x) is x′ = −(V/K)x, so V/K ends
// where the likelihood of exp(−kt) is 1.92 below the best one. A parameter that might as
// well be zero closes nothing at a small lower bound: the rate of the last model grows at
// most slightly with time, so g is at its bound.
func TestProfileClosedByABound(t *testing.T) {
	y, data := []float64{0.79, 0.61, 0.48, 0.36}, "data: |\n  time,y\n  0.5,0.79\n  1,0.61\n  1.5,0.48\n  2,0.36\n"
	// rates returns the rates k at which the log-likelihood of exp(−kt) is above `least`.
	rates := func(least float64) (low, high float64) {
		for k := 0.3; k < 0.8; k += 1e-5 {
			ll := 0.0
			for i, v := range y {
				ll += distuv.Normal{Mu: math.Exp(-k * float64(i+1) / 2), Sigma: 0.03}.LogProb(v)
			}
			if ll > least && low == 0 {
				low = k
			}
			if ll > least {
				high = k
			}
		}
		return low, high
	}
	parameter := func(id, bounds string) string { return "  - {parameterId: " + id + ", " + bounds + "}\n" }
	log := func(low, high string) string {
		return "lowerBound: " + low + ", upperBound: " + high + ", parameterScale: log10"
	}
	decay := func(rate string) string {
		return "odes:\n  - {stateId: x, rightHandSide: -(" + rate + ") * x, initialValue: 1}\n"
	}
	line := "odes:\n  - {stateId: x, rightHandSide: -0.3, initialValue: a + c}\n"
	normal := "observables:\n  - {observableId: y, observableFormula: x, noiseFormula: 0.03}\n"
	laplace := "observables:\n  - {observableId: y, observableFormula: x, noiseFormula: 0.03, noiseDistribution: laplace}\n"
	// The intercept of the line with slope −0.3 is the mean 0.935 of 0.94, 0.91, 0.93 and
	// 0.96, ±1.96·0.03/√4. With Laplace errors, the sum of the distances is 0.05 at best and
	// larger by 0.03·1.9207 = 0.05762 at the ends: (3.74 − 0.10762)/4 and (3.74 +
	// 0.10762)/4.
	half := 1.959963985 * 0.03 / 2
	for _, c := range []struct {
		name, parameters, equations string
		set                         FitSettings
		want                        func(best float64) (low, high float64) // NaN: not compared
		lower, upper                string                                 // bounds of the other parameter; none if empty
	}{
		{"V/K", parameter("V", log("1e-3", "1e4")) + parameter("K", log("1e-3", "1e4")), decay("V / (K + x)") + normal, FitSettings{Starts: 3, Seed: 1}, func(best float64) (float64, float64) {
			_, high := rates(best - 1.920729)
			return math.NaN(), high * 1e4
		}, "", "K = 10000"},
		{"V/K, a larger bound", parameter("V", log("1e-3", "1e6")) + parameter("K", log("1e-3", "1e6")), decay("V / (K + x)") + normal, FitSettings{Starts: 3, Seed: 1}, func(best float64) (float64, float64) {
			_, high := rates(best - 1.920729)
			return math.NaN(), high * 1e6
		}, "", "K = 1e+06"},
		{"product", parameter("a", log("1e-6", "1e6")) + parameter("b", log("0.1", "10")), decay("a * b") + normal, FitSettings{Starts: 3, Seed: 1}, func(best float64) (float64, float64) {
			low, high := rates(best - 1.920729)
			return low / 10, high / 0.1
		}, "b = 10", "b = 0.1"},
		{"sum", parameter("a", "lowerBound: -100, upperBound: 100") + parameter("c", "lowerBound: -5, upperBound: 7"), line + normal, FitSettings{Starts: 3, Seed: 1},
			func(float64) (float64, float64) { return 0.935 - half - 7, 0.935 + half + 5 }, "c = 7", "c = -5"},
		{"sum with Laplace errors", parameter("a", "lowerBound: -100, upperBound: 100") + parameter("c", "lowerBound: -5, upperBound: 7"), line + laplace, FitSettings{Starts: 3, Seed: 1},
			func(float64) (float64, float64) { return (3.74-0.10762)/4 - 7, (3.74+0.10762)/4 + 5 }, "c = 7", "c = -5"},
		{"end of a prior", parameter("a", "lowerBound: -100, upperBound: 100") + parameter("c", "nominalValue: 1, objectivePriorType: uniform, objectivePriorParameters: -5;7"), line + normal, FitSettings{Starts: 3, Seed: 1},
			func(float64) (float64, float64) { return 0.935 - half - 7, 0.935 + half + 5 }, "c = 7", "c = -5"},
		{"negligible", parameter("k", log("1e-3", "1e3")) + parameter("g", log("1e-6", "1")), decay("k + g * time^4") + normal, FitSettings{Starts: 3, Seed: 1},
			func(float64) (float64, float64) { return math.NaN(), math.NaN() }, "", ""},
	} {
		p, err := Parse("closed.yaml", []byte("name: closed\nparameters:\n"+c.parameters+c.equations+data))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		ends, err := p.Fit(context.Background(), c.set)
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Profiles(context.Background(), ends, 0.95, c.set)
		if err != nil {
			t.Fatal(err)
		}
		q := all.ByName[0]
		said := func(list []Bound) (out string) {
			for _, b := range list {
				out += fmt.Sprintf("%s = %.6g", b.Parameter, b.Value)
			}
			return out
		}
		if lower, upper := said(q.LowerAt), said(q.UpperAt); lower != c.lower || upper != c.upper || q.LowerOpen || q.UpperOpen || q.Err != nil || q.Identified() != (lower+upper == "") {
			t.Errorf("%s: %s is from %g (open: %t, %s) to %g (open: %t, %s), %v: want the bounds %q and %q", c.name, q.Parameter, q.Lower, q.LowerOpen, lower, q.Upper, q.UpperOpen, upper, q.Err, c.lower, c.upper)
		}
		// An end is accurate to 0.002 of the threshold, thus to 0.1 % of the half-width.
		low, high := c.want(all.Best.LogLikelihood)
		if math.Abs(q.Lower-low) > 1e-3*math.Abs(low) || math.Abs(q.Upper-high) > 1e-3*math.Abs(high) {
			t.Errorf("%s: %s is from %g to %g: want %g to %g", c.name, q.Parameter, q.Lower, q.Upper, low, high)
		}
	}
}

// If the line has the intercept a², a and −a are equally likely. The interval of a is then
// that of the line, on one side of 0, and searches that ended on the other side make the
// other part of the confidence region known. This is so as well if a bound on a excludes
// the optimum on the other side, but not all points above the threshold. If the bound
// excludes all of them, there is one part.
func TestProfilesElsewhere(t *testing.T) {
	y := []float64{4.1, 3.7, 4.2, 3.9, 4.0, 4.4}
	line := straight(y)
	known, err := line.Profiles(context.Background(), fitted(t, line, 3), 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	best, want := math.Sqrt(known.Best.Theta[0]), [2]float64{math.Sqrt(known.ByName[0].Lower), math.Sqrt(known.ByName[0].Upper)}
	for _, lowest := range []float64{-20, -0.95 * best, -0.5 * best} {
		p := straight(y)
		p.Models[0].States[0].Init = expr.Call("times", expr.Sym("a"), expr.Sym("a"))
		p.Params[0].Lower = lowest
		all, err := p.Profiles(context.Background(), fitted(t, p, 8), 0.95, FitSettings{})
		if err != nil {
			t.Fatal(err)
		}
		q := &all.ByName[0]
		got := [2]float64{q.Lower, q.Upper}
		sign := 1.0
		if all.Best.Theta[0] < 0 {
			sign, got = -1, [2]float64{-q.Upper, -q.Lower}
		}
		if math.Abs(got[0]/want[0]-1) > 1e-4 || math.Abs(got[1]/want[1]-1) > 1e-4 {
			t.Errorf("bound %v: interval %v: want %v", lowest, got, want)
		}
		if lowest == -0.5*best {
			if len(q.Elsewhere) != 0 || !q.Identified() {
				t.Errorf("bound %v: %+v is elsewhere: want nothing", lowest, q.Elsewhere)
			}
			continue
		}
		// Points of the profile of b are there as well: the ends of searches are the best.
		top := slices.MinFunc(q.Elsewhere, func(a, b ProfilePoint) int { return cmp.Compare(a.Drop, b.Drop) })
		other := max(-sign*best, lowest)
		if q.Identified() || math.Abs(top.Value-other) > 1e-3*best || top.Drop >= all.Drop {
			t.Errorf("bound %v: %+v is elsewhere: want %v", lowest, q.Elsewhere, other)
		}
		if b := all.ByName[1]; !b.Identified() {
			t.Errorf("bound %v: b has %+v elsewhere: want nothing", lowest, b.Elsewhere)
		}
		if !slices.ContainsFunc(all.Within(), func(theta []float64) bool { return sign*theta[0] < 0 }) {
			t.Errorf("bound %v: no point of the other part is within the region", lowest)
		}
	}
}

// With the intercept 10⁴(b − a²) and the slope a, the likelihood has a ridge along b = a²
// that is about 10⁻⁴ wide. The interval of a is that of the slope of a line, and that of b
// contains the squares, up to the intercept of about 1 divided by 10⁴.
func TestProfilesAlongCurvedRidge(t *testing.T) {
	y := []float64{0.9, 1.7, 2.2, 2.7, 3.8, 4.1}
	line := straight(y)
	known, err := line.Profiles(context.Background(), fitted(t, line, 3), 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	p := straight(y)
	square := expr.Call("times", expr.Sym("a"), expr.Sym("a"))
	p.Models[0].States[0].Init = expr.Call("times", expr.Num(1e4), expr.Call("plus", expr.Sym("b"), expr.Call("times", expr.Num(-1), square)))
	p.Models[0].States[0].Rate = expr.Sym("a")
	p.Params[0].Lower = 0
	slope := known.ByName[1]
	at := (slope.Lower + slope.Upper) / 2
	ends, err := p.Fit(context.Background(), FitSettings{From: [][]float64{{at, at*at + 1e-4}}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Profiles(context.Background(), ends, 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := all.ByName[0], all.ByName[1]
	for _, c := range [][2]float64{{a.Lower, slope.Lower}, {a.Upper, slope.Upper}, {math.Sqrt(b.Lower), slope.Lower}, {math.Sqrt(b.Upper), slope.Upper}} {
		// A point may be 0.02 of 1.92 too low, and the intercept shifts b by 10⁻⁴.
		if math.Abs(c[0]-c[1]) > 0.01*(slope.Upper-slope.Lower) {
			t.Errorf("an end at %v: want %v (%v, %v)", c[0], c[1], a.Err, b.Err)
		}
	}
	if !a.Identified() || !b.Identified() {
		t.Errorf("%v, %v: want both identified", a.Err, b.Err)
	}
}

// Profiles around a point that is not the optimum find it, and are then those around the
// optimum. If no search from the higher point helps, they are incomplete and say why.
func TestProfilesFindBetterPoint(t *testing.T) {
	p := straight([]float64{0.9, 1.7, 2.2, 2.7, 3.8, 4.1})
	best := fitted(t, p, 2)
	want, err := p.Profiles(context.Background(), best, 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	below := best[0]
	below.Theta = []float64{best[0].Theta[0] + 0.1, best[0].Theta[1]}
	below.LogLikelihood -= 0.5 * 6 * math.Pow(0.1/0.3, 2)
	got, err := p.Profiles(context.Background(), []Optimum{below}, 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range got.ByName {
		if w := want.ByName[i]; math.Abs(q.Lower-w.Lower) > 1e-4 || math.Abs(q.Upper-w.Upper) > 1e-4 || q.Err != nil {
			t.Errorf("%s: from %v to %v, %v: want %v to %v", q.Parameter, q.Lower, q.Upper, q.Err, w.Lower, w.Upper)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err = p.Profiles(ctx, best, 0.95, FitSettings{}); !errors.Is(err, context.Canceled) || got.ByName[0].Err == nil || got.ByName[0].Lower != best[0].Theta[0] {
		t.Errorf("stopped: %+v, %v: want incomplete profiles", got, err)
	}
	below.LogLikelihood = best[0].LogLikelihood + 1 // as if the search could not reach it
	if got, err = p.Profiles(context.Background(), []Optimum{below}, 0.95, FitSettings{}); err != nil {
		t.Fatal(err)
	}
	if q := got.ByName[0]; q.Err == nil || q.Identified() {
		t.Errorf("%+v: want an incomplete profile", q)
	}
}

// The starts are a Latin hypercube: each parameter has one start in each stratum.
func TestStartsAreLatinHypercube(t *testing.T) {
	const n = 7
	f, err := straight([]float64{1, 2}).newFit(FitSettings{Starts: n, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		var strata []int
		for _, x := range f.starts() {
			strata = append(strata, int((x[k]-f.boxes[k].low)/(f.boxes[k].high-f.boxes[k].low)*n))
		}
		slices.Sort(strata)
		if fmt.Sprint(strata) != "[0 1 2 3 4 5 6]" {
			t.Errorf("parameter %d: strata %v", k, strata)
		}
	}
}

// With Map, a normal prior with mean m and sd s moves the estimate of the intercept of a
// line with known slope to the mean weighted by the precisions.
func TestFitMap(t *testing.T) {
	p := straight([]float64{0.9, 1.7, 2.2, 2.7, 3.8, 4.1})
	p.Params[1].Estimate, p.Params[1].Nominal = false, 0
	p.Params[0].Prior = Prior{"normal", 2, 0.1}
	list, err := p.Fit(context.Background(), FitSettings{Starts: 2, Map: true})
	if err != nil {
		t.Fatal(err)
	}
	weight := 6 / 0.09
	want := (weight*15.4/6 + 100*2) / (weight + 100)
	// The predicted rise of 1e-9 left is a distance of √(2e-9/λ) with λ = 167.
	if o := list[0]; !o.Converged || math.Abs(o.Theta[0]-want) > 1e-5 || math.Abs(o.LogPrior-(-math.Pow(want-2, 2)*50-math.Log(0.1*math.Sqrt(2*math.Pi)))) > 1e-3 {
		t.Errorf("%+v: want %v", o, want)
	}
	from := slices.Clone(list[0].Theta)
	again, err := p.Fit(context.Background(), FitSettings{From: [][]float64{from}, Map: true})
	if err != nil || again[0].Iterations > 2 || math.Abs(again[0].Theta[0]-want) > 1e-5 {
		t.Errorf("from the optimum: %+v, %v", again, err)
	}
}

// If three measurements are below a limit of 0.1 and the model gives zero, the
// log-likelihood is 3 ln Φ(0.1/s). It levels off at 3 ln ½ = −2.08, just below the
// threshold of −1.92. The interval at level .95 ends at s = 0.1/Φ⁻¹(exp(−1.9207/3)) =
// 1.46749. A log-likelihood that is wrong by 0.002 moves this end by 0.2 %.
func TestProfileThatLevelsOffBelowThreshold(t *testing.T) {
	limit := 0.1
	m := &Model{Equations: equations.Equations{Name: "nothing", States: []equations.State{{ID: "x", Init: expr.Num(0), Rate: expr.Num(0)}}},
		observables: []observable{{id: "y", formula: expr.Sym("x"), noise: expr.Sym("s"), scale: Lin, distribution: normalNoise, limit: expr.Num(limit)}}}
	for i := range 3 {
		m.Data = append(m.Data, Observation{Observable: "y", Time: float64(i), Value: 0})
	}
	p := &File{Name: "nothing", Models: []*Model{m}, Params: []Parameter{{ID: "s", Nominal: 1, Scale: Log10, Lower: 1e-3, Upper: 100, Estimate: true}}}
	all, err := p.Profiles(context.Background(), fitted(t, p, 3), 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	want := limit / distuv.UnitNormal.Quantile(math.Exp(-distuv.ChiSquared{K: 1}.Quantile(0.95)/6))
	if q := all.ByName[0]; !q.LowerOpen || q.UpperOpen || math.Abs(q.Upper/want-1) > 0.01 {
		t.Errorf("from %v (open: %t) to %v (open: %t), %v: want an open lower end, and %v", q.Lower, q.LowerOpen, q.Upper, q.UpperOpen, q.Err, want)
	}
}

// The intercept a has a standard normal prior, no bounds, and the nominal value 0, like the
// scores of a population. One measurement of 0.4 with sd 0.3 gives the posterior N(0.4/0.09
// /λ, 1/λ) with λ = 1/0.09 + 1. The interval at level .95 is ±1.959964/√λ = ±0.563, which
// is wider than the range around the nominal value in which searches begin.
func TestProfileOfScore(t *testing.T) {
	p := straight([]float64{0.4})
	p.Params[1].Estimate, p.Params[1].Nominal = false, 0
	p.Params[0] = Parameter{ID: "a", Scale: Lin, Lower: math.NaN(), Upper: math.NaN(), Prior: Prior{"normal", 0, 1}, Estimate: true}
	s := FitSettings{Starts: 2, Map: true}
	ends, err := p.Fit(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Profiles(context.Background(), ends, 0.95, s)
	if err != nil {
		t.Fatal(err)
	}
	precision := 1/0.09 + 1
	mode, half := 0.4/0.09/precision, 1.959963985/math.Sqrt(precision)
	if q := all.ByName[0]; !q.Identified() || math.Abs(q.Lower-(mode-half)) > 1e-4*half || math.Abs(q.Upper-(mode+half)) > 1e-4*half {
		t.Errorf("%v to %v, %+v: want %v to %v", q.Lower, q.Upper, q, mode-half, mode+half)
	}
}

// If the line has the intercept a², and a has a prior of positive numbers but no bounds, the
// equally likely −a is impossible, also without -map.
func TestFitStaysInTheSupport(t *testing.T) {
	p := straight([]float64{4.1, 3.7, 4.2, 3.9, 4.0, 4.4})
	p.Models[0].States[0].Init = expr.Call("times", expr.Sym("a"), expr.Sym("a"))
	p.Params[0] = Parameter{ID: "a", Nominal: 0.3, Scale: Lin, Lower: math.NaN(), Upper: math.NaN(), Prior: Prior{Type: "halfNormal", A: 5}, Estimate: true}
	ends := fitted(t, p, 12)
	for _, o := range ends {
		if o.Err == nil && !(o.Theta[0] >= 0) {
			t.Errorf("a search ended at a = %g", o.Theta[0])
		}
	}
	all, err := p.Profiles(context.Background(), ends, 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if q := all.ByName[0]; !q.Identified() || !(q.Lower > 1.5) {
		t.Errorf("%+v: want an interval around 2", q)
	}
}

// One measurement of logistic growth from 0.3 is met exactly on a curve in the plane of the
// two parameters: at saturation, where b is the measurement and k is large, and on the
// branch where b is larger and k is smaller. The best end is at saturation, and from there
// the likelihood has no slope along k, so a profile of b that begins there stays at
// saturation and falls. But other searches ended on the other branch, on which b reaches
// its bound with k = ln(0.5796/0.3)/6 or more, and which fits exactly.
func TestProfileFollowsTheHigherRidge(t *testing.T) {
	p, err := Parse("saturation.yaml", []byte(`name: saturation
parameters:
  - {parameterId: k, nominalValue: 0.3, lowerBound: 0, upperBound: 5}
  - {parameterId: b, nominalValue: 1, lowerBound: 0.001, upperBound: 100, parameterScale: log10}
odes:
  - {stateId: x, rightHandSide: k * x * (1 - x / b), initialValue: 0.3}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 1.5}
data: |
  time,y
  6,0.5796580360188083
`))
	if err != nil {
		t.Fatal(err)
	}
	ends, err := p.Fit(context.Background(), FitSettings{From: [][]float64{{4.5, 0.58}, {0.131, 2.6}}})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(ends, func(a, b Optimum) int { return cmp.Compare(b.Theta[0], a.Theta[0]) }) // the profiles begin at saturation
	if !(ends[0].Theta[0] > 3 && ends[1].Theta[0] < 1) {
		t.Fatalf("the searches ended at %v and %v", ends[0].Theta, ends[1].Theta)
	}
	all, err := p.Profiles(context.Background(), ends, 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if q := all.ByName[1]; !q.UpperOpen || q.Err != nil {
		t.Errorf("b is from %g to %g, %v: want an open upper end", q.Lower, q.Upper, q.Err)
	}
}

// An infusion at the unknown time b ends before the second of two measurements, or goes on
// during it. The best optimum has a = 0.457, and on its ridge a is at most 0.67. On the other
// ridge a reaches 1.997 (the likelihood on a grid of 1500 × 4801 points, with the solution
// in closed form).
func TestProfileFollowsARidgeAcrossTheOptimum(t *testing.T) {
	p, err := Parse("infusion.yaml", []byte(`name: infusion
parameters:
  - {parameterId: a, nominalValue: 0.6, lowerBound: 0.05, upperBound: 3}
  - {parameterId: b, nominalValue: 2, lowerBound: 0, upperBound: 6}
odes:
  - {stateId: x, rightHandSide: -a * x, initialValue: 0.2}
doses:
  - {doseId: e, state: x, amount: 1.5, duration: 1, time: b}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.1}
data: |
  time,y
  1,0.223
  4.5,0.399
`))
	if err != nil {
		t.Fatal(err)
	}
	ends, err := p.Fit(context.Background(), FitSettings{Starts: 50, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Profiles(context.Background(), ends, 0.95, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if q := all.ByName[0]; q.UpperOpen || q.Err != nil || math.Abs(q.Upper-1.997) > 0.02 {
		t.Errorf("a is from %g to %g, %v: want the upper end 1.997", q.Lower, q.Upper, q.Err)
	}
}
