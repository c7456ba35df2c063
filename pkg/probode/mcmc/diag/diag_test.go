package diag

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// lcg and reference repeat the generator of testdata/diagnostics.py.
type lcg uint64

func (s *lcg) uniform() float64 {
	*s = *s*6364136223846793005 + 1442695040888963407
	return (float64(*s>>11) + 0.5) / (1 << 53)
}

func (s *lcg) normal() float64 {
	r := math.Sqrt(-2 * math.Log(s.uniform()))
	return r * math.Cos(2*math.Pi*s.uniform())
}

func (s *lcg) ar(phi, before float64) float64 {
	return phi*before + math.Sqrt(1-phi*phi)*s.normal()
}

func reference(name string, chains, draws int, seed uint64) [][]float64 {
	s := lcg(seed)
	x := make([][]float64, chains)
	for c := range x {
		x[c] = make([]float64, draws)
		v := 0.0
		for k := range x[c] {
			switch name {
			case "normal":
				v = s.normal()
			case "ar":
				v = s.ar(0.9, v)
			case "antithetic":
				v = s.ar(-0.6, v)
			case "cauchy":
				v = math.Tan(math.Pi * (s.uniform() - 0.5))
			case "shifted":
				v = s.normal() + 0.3*float64(c)
			case "scaled":
				v = s.normal() * float64(1+c)
			case "trend":
				v = s.normal() + 2*float64(k)/float64(draws)
			case "ties":
				v = math.Floor(4*s.normal()+0.5) / 4
			case "binary":
				v = 0
				if s.uniform() < 0.3 {
					v = 1
				}
			case "offset":
				v = s.ar(0.5, v)
			default:
				panic("unknown case " + name)
			}
			x[c][k] = v
			if name == "offset" {
				x[c][k] = 1000 + 1e-3*v
			}
		}
	}
	return x
}

func TestDiagnosticsAgainstArviZ(t *testing.T) {
	data, err := os.ReadFile("testdata/diagnostics.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name          string
		Chains, Draws int
		Seed          uint64
		Sum           float64
		RHat          float64
		Bulk, Tail    float64
		Mean          float64 `json:"mcse_mean"`
		SD            float64 `json:"mcse_sd"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		x := reference(c.Name, c.Chains, c.Draws, c.Seed)
		// The draws agree to some units in the last place, elementary
		// functions being what they are; sums over thousands of them,
		// and two different Fourier transforms, lose some digits more.
		tol := 1e-10
		if c.Name == "offset" {
			// The draws lie 1000 away from zero and 1e-3 apart, so
			// that six digits of each are lost by cancellation.
			tol = 1e-8
		}
		var sum float64
		for _, v := range slices.Concat(x...) {
			sum += v
		}
		if math.Abs(sum-c.Sum) > 1e-9*(1+math.Abs(c.Sum)) {
			t.Fatalf("%s %d×%d: draws differ from those of the reference: sum %v, want %v", c.Name, c.Chains, c.Draws, sum, c.Sum)
		}
		for _, q := range []struct {
			what      string
			got, want float64
		}{
			{"RHat", RHat(x), c.RHat},
			{"BulkESS", BulkESS(x), c.Bulk},
			{"TailESS", tailESS(x), c.Tail},
			{"MCSEMean", MCSEMean(x), c.Mean},
			{"MCSESD", MCSESD(x), c.SD},
		} {
			if !(math.Abs(q.got-q.want) <= tol*math.Abs(q.want)) {
				t.Errorf("%s %d×%d: %s = %.12g, want %.12g (relative error %.1e)",
					c.Name, c.Chains, c.Draws, q.what, q.got, q.want, math.Abs(q.got/q.want-1))
			}
		}
	}
}

func TestDiagnosticsUndefined(t *testing.T) {
	all := func(x [][]float64) []float64 {
		return []float64{RHat(x), BulkESS(x), tailESS(x), MCSEMean(x), MCSESD(x)}
	}
	for what, x := range map[string][][]float64{
		"no chains":   nil,
		"no draws":    {{}, {}},
		"three draws": {{1, 2, 3}, {2, 3, 1}},
		"NaN":         {{1, 2, 3, 4, 5}, {1, 2, math.NaN(), 4, 5}},
		"infinite":    {{1, 2, 3, 4, 5}, {1, 2, math.Inf(1), 4, 5}},
	} {
		for i, v := range all(x) {
			if !math.IsNaN(v) {
				t.Errorf("%s: diagnostic %d is %v, want NaN", what, i, v)
			}
		}
	}

	// A constant is, as in ArviZ, worth all its draws, and its mean is exact. Nothing
	// is known of the mixing of its chains, nor of its standard deviation.
	constant := [][]float64{{0.1, 0.1, 0.1, 0.1, 0.1}, {0.1, 0.1, 0.1, 0.1, 0.1}}
	if v := all(constant); !math.IsNaN(v[0]) || v[1] != 8 || v[2] != 8 || v[3] != 0 || !math.IsNaN(v[4]) {
		t.Errorf("of a constant R̂, bulk ESS, tail ESS and the MCSE of mean and sd are %v, want NaN, 8, 8, 0 and NaN", v)
	}

	// Chains that stand still in different places have variance between and
	// none within, exactly.
	stuck := make([][]float64, 4)
	for c := range stuck {
		stuck[c] = slices.Repeat([]float64{0.1 * float64(c+1)}, 100)
	}
	if r := RHat(stuck); !math.IsInf(r, 1) {
		t.Errorf("R̂ of chains that stand still in different places is %v, want +Inf", r)
	}
	if n := BulkESS(stuck); !(n > 0 && n < 10) {
		t.Errorf("bulk ESS of four chains that stand still is %v, want about 4", n)
	}

	// A parameter that sits at its upper end in more than 5 % of draws has no
	// 95 % quantile to speak of: what is known of the other end counts.
	rng := rand.New(rand.NewPCG(1, 1))
	ends := make([]float64, 200)
	for k := range ends {
		ends[k] = math.Min(rng.Float64(), 0.8)
	}
	low := Quantile(slices.Sorted(slices.Values(ends)), 0.05)
	if n, want := tailESS([][]float64{ends}), quantileESS([][]float64{ends}, low); n != want || !(n > 0) {
		t.Errorf("tail ESS with a constant indicator is %v, want that of the other tail, %v", n, want)
	}
	if n := BulkESS([][]float64{ends}); math.IsNaN(n) {
		t.Error("bulk ESS of draws with ties is NaN")
	}
}

// An autoregression of order one with coefficient φ has τ = (1+φ)/(1−φ).
//
// The estimate of τ from S draws has relative variance about 2(2M+1)/S, with M
// the lag at which the sum ends (Sokal 1997). For φ = 0.9 noise takes over where
// 0.9ᴹ is near √(1/S), at M = 55; with S = 100 000 that is a standard deviation
// of 4.7 %, for φ = −0.5 of less. The bound of 24 % is five of these, two checks:
// 2·2·Φ(−5) = 1e-6.
func TestESSOfAutoregression(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, phi := range []float64{0.9, -0.5} {
		x := make([][]float64, 4)
		for c := range x {
			x[c] = make([]float64, 25000)
			v := rng.NormFloat64()
			for k := range x[c] {
				v = phi*v + math.Sqrt(1-phi*phi)*rng.NormFloat64()
				x[c][k] = v
			}
		}
		want := 100000 * (1 - phi) / (1 + phi)
		got := BulkESS(x)
		t.Logf("φ = %v: bulk ESS %.0f, exact %.0f", phi, got, want)
		if math.Abs(got/want-1) > 0.24 {
			t.Errorf("φ = %v: bulk ESS %.0f, want about %.0f", phi, got, want)
		}
	}
}

// What R̂ is for: it is large if chains differ in place, in scale, or drift.
func TestRHatFlagsWhatHasNotMixed(t *testing.T) {
	for name, flagged := range map[string]bool{
		"normal": false, "antithetic": false, "cauchy": false, // mixed
		"shifted": true, "scaled": true, "trend": true, // not
	} {
		if r := RHat(reference(name, 4, 1000, 99)); r > 1.02 != flagged {
			t.Errorf("%s: R̂ = %.3f, above 1.02 want %v", name, r, flagged)
		}
	}
}

func TestDiagnosticsPanic(t *testing.T) {
	mustPanic(t, "the chains have different lengths", func() { RHat([][]float64{{1, 2, 3, 4}, {1, 2, 3, 4, 5}}) })
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// Of draws that are 0 or 1 the indicator of one tail is constant. The number is that of
// ArviZ 0.23 and 1.3 for these draws, with which environment/test_arviz.py compares, too.
func TestTailESSOfTwoValues(t *testing.T) {
	x := make([][]float64, 4)
	for c := range x {
		for i := range 40 {
			v := 0.
			if (i*i+3*c*i+c)%7 < 3 {
				v = 1
			}
			x[c] = append(x[c], v)
		}
	}
	if got, want := tailESS(x), 26.348821075615007; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("tail ESS is %v, want %v", got, want)
	}
}

// tailESS is the smaller one for the quantiles at 0.05 and 0.95. If all indicators are
// equal, for example because the quantile is the largest draw, it is the number of draws,
// as in ArviZ. It is NaN for fewer than four draws in a chain, or one that is not finite.
func tailESS(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	sorted := slices.Concat(x...)
	slices.Sort(sorted)
	return tailsESS(x, sorted)
}
