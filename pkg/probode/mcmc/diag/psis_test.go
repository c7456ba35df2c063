package diag

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// logWeights repeats the generator of testdata/psis.py.
func logWeights(name string, n int, seed uint64) []float64 {
	s := lcg(seed)
	x := make([]float64, n)
	for i := range x {
		switch name {
		case "pareto 0.3":
			x[i] = 100 - 0.3*math.Log(s.uniform())
		case "pareto 0.7":
			x[i] = 100 - 0.7*math.Log(s.uniform())
		case "pareto 1.2":
			x[i] = 100 - 1.2*math.Log(s.uniform())
		case "normal":
			x[i] = s.normal() - 1000
		case "uniform":
			x[i] = math.Log(s.uniform())
		case "wide":
			x[i] = 300 * s.normal()
		case "ties":
			x[i] = math.Floor(4*s.normal()+0.5) / 4
		case "small":
			x[i] = s.normal()
		case "near":
			x[i] = 1e-9 * s.normal()
		default:
			panic("unknown case " + name)
		}
	}
	return x
}

func TestParetoSmoothAgainstArviZ(t *testing.T) {
	data, err := os.ReadFile("testdata/psis.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name                                       string
		N                                          int
		Seed                                       uint64
		KHat, Sum, Squares, Concentration, Largest float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		smooth, khat := ParetoSmooth(logWeights(c.Name, c.N, c.Seed))
		var sum, squares, concentration float64
		for _, v := range smooth {
			sum += v
			squares += v * v
			concentration += math.Exp(2 * v)
		}
		// The same formulas in another order: roundings of 1e-16, times
		// the number of terms. ArviZ leaves out grid points with a weight
		// below 2e-15. In the case "near" the excesses are differences of
		// numbers near 1, of 1e-9, and have lost nine digits.
		tol := 1e-10
		if c.Name == "near" {
			tol = 1e-5
		}
		for _, v := range []struct {
			name      string
			got, want float64
		}{
			{"k̂", khat, c.KHat},
			{"sum", sum, c.Sum},
			{"squares", squares, c.Squares},
			{"concentration", concentration, c.Concentration},
			{"largest", slices.Max(smooth), c.Largest},
		} {
			if !(math.Abs(v.got-v.want) <= tol*(1+math.Abs(v.want))) {
				t.Errorf("%s, %d: %s = %v, want %v", c.Name, c.N, v.name, v.got, v.want)
			}
		}
	}
}

// Pareto weights have a tail of known shape. With M in the tail the estimate of
// k has about the standard error (1 + k)/√M of the best one (Smith 1987), here
// with S = 40 000 and M = 600, and is drawn by 10/610 of its distance towards ½,
// at most 0.01 here. Four at z = 4.5 beside that: 4·2·Φ(−4.5) = 3e-5, and as the
// estimate is not exactly normal perhaps a few times that.
func TestParetoSmoothShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for _, k := range []float64{0.1, 0.4, 0.7, 1} {
		logw := make([]float64, 40000)
		for i := range logw {
			logw[i] = k * rng.ExpFloat64()
		}
		_, khat := ParetoSmooth(logw)
		if z := (math.Abs(khat-k) - 0.01) / ((1 + k) / math.Sqrt(600)); z > 4.5 {
			t.Errorf("k̂ = %.3f, want %.1f (z = %.1f)", khat, k, z)
		}
	}
}

func TestParetoSmoothCorners(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	total := func(logw []float64) float64 {
		var sum float64
		for _, v := range logw {
			sum += math.Exp(v)
		}
		return sum
	}
	repeated := func(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }
	for _, c := range []struct {
		name string
		logw []float64
		khat float64
	}{
		{"equal", repeated(-5000, 100), -inf},
		{"equal but for zeros", append(repeated(3, 60), repeated(-inf, 40)...), -inf},
		{"one", []float64{700}, inf},
		{"twenty", logWeights("normal", 20, 1), inf},
		{"one alone", append(repeated(-2000, 99), 0), inf},
	} {
		before := slices.Clone(c.logw)
		smooth, khat := ParetoSmooth(c.logw)
		if khat != c.khat || math.Abs(total(smooth)-1) > 1e-12 { // roundings
			t.Errorf("%s: k̂ = %v, want %v; sum %v", c.name, khat, c.khat, total(smooth))
		}
		for i, v := range c.logw {
			if v != before[i] {
				t.Fatalf("%s: the argument has changed", c.name)
			}
			// Nothing is smoothed: ratios stay.
			if want := v - before[0]; smooth[i]-smooth[0] != want && math.Abs(smooth[i]-smooth[0]-want) > 1e-12*math.Abs(want) {
				t.Errorf("%s: weight %d is %v", c.name, i, smooth[i])
			}
		}
	}

	// Weights that are so unequal that one bears all.
	for scale := 100.; scale < 1e6; scale *= 1.3 {
		logw := logWeights("normal", 1000, 3)
		for i := range logw {
			logw[i] *= scale
		}
		smooth, khat := ParetoSmooth(logw)
		if !(khat > 10) || !(math.Abs(total(smooth)-1) < 1e-12) {
			t.Errorf("scale %.3g: k̂ = %v, sum %v", scale, khat, total(smooth))
		}
	}

	// Zero weights, those that cannot be compared too, stay zero and leave the
	// others in order.
	logw := append(logWeights("normal", 300, 1), repeated(-inf, 30)...)
	unknown := append(slices.Clone(logw[:300]), repeated(nan, 30)...)
	smooth, khat := ParetoSmooth(logw)
	if math.IsNaN(khat) || math.IsInf(khat, 0) || math.Abs(total(smooth)-1) > 1e-12 || !math.IsInf(smooth[329], -1) {
		t.Errorf("with zeros: k̂ = %v, sum %v, a zero became %v", khat, total(smooth), smooth[329])
	}
	for i := range logw {
		for j := range logw {
			if logw[i] < logw[j] && smooth[i] > smooth[j] {
				t.Fatalf("weights %v and %v have changed places", logw[i], logw[j])
			}
		}
	}

	if same, k := ParetoSmooth(unknown); k != khat || !slices.Equal(same, smooth) {
		t.Errorf("with NaN k̂ = %v, with zeros %v", k, khat)
	}

	for name, bad := range map[string][]float64{"NaN": {nan, nan}, "+Inf": {0, inf, 1}, "nothing": repeated(-inf, 9), "none": {}} {
		smooth, khat := ParetoSmooth(bad)
		if !math.IsNaN(khat) || len(smooth) != len(bad) || len(bad) > 0 && !math.IsNaN(smooth[0]) {
			t.Errorf("%s: k̂ = %v, %v", name, khat, smooth)
		}
	}
}
