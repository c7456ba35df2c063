package pole

import (
	"math"
	"testing"
)

// f has a pole, or is undefined, between x = from and x = to, or not.
func TestPass(t *testing.T) {
	steep := func(p float64) func(dst []float64, t, x float64) {
		return func(dst []float64, _, x float64) { dst[0], dst[1] = -x/(p+x), p+x }
	}
	for name, c := range map[string]struct {
		f        func(dst []float64, t, x float64)
		from, to float64
		pole     bool
	}{
		"-x/(P + x), P = 0.1":          {steep(0.1), 1, -0.2, true},
		"-x/(P + x), P = 1e-15":        {steep(1e-15), 1, -0.2, true},
		"-x/(P + x), not so far":       {steep(0.1), 1, -0.05, false},
		"1/x²":                         {func(d []float64, _, x float64) { d[0], d[1] = 1/(x*x), x }, 1, -3, true},
		"1/(t − 5)":                    {func(d []float64, t, _ float64) { d[0], d[1] = 1/(t-5), t-5 }, 0, 0, true},
		"1/(t − 50)":                   {func(d []float64, t, _ float64) { d[0], d[1] = 1/(t-50), t-50 }, 0, 0, false},
		"1 + 1e-10/(x − 0.3)":          {func(d []float64, _, x float64) { d[0], d[1] = 1+1e-10/(x-0.3), x-0.3 }, 0, 1, true},
		"√x":                           {func(d []float64, _, x float64) { d[0], d[1] = math.Sqrt(x), x }, 0.1, -0.1, true},
		"1/x, an ulp":                  {func(d []float64, _, x float64) { x -= 7; d[0], d[1] = 1/x, x }, 7 + 0x1p-49, 7 - 0x1p-49, true},
		"x/(exp(x) − 1)":               {func(d []float64, _, x float64) { d[0], d[1] = x/(math.Exp(x)-1), math.Exp(x)-1 }, 0.7, -0.2, false},
		"the same, zero in the middle": {func(d []float64, _, x float64) { d[0], d[1] = x/(math.Exp(x)-1), math.Exp(x)-1 }, 0.5, -0.5, false},
		"(exp(x) − 1)/x − 1":           {func(d []float64, _, x float64) { d[0], d[1] = (math.Exp(x)-1)/x-1, x }, 0.1, -0.2, false},
		"Hodgkin and Huxley":           {func(d []float64, _, v float64) { v += 40.1; d[1] = 1 - math.Exp(-v/10); d[0] = 0.1 * v / d[1] }, -45, -33, false},
		"1/x − 1/sin x":                {func(d []float64, _, x float64) { d[0], d[1] = 1/x-1/math.Sin(x), x }, 0.3, -0.1, false},
		"ln |x|":                       {func(d []float64, _, x float64) { d[0], d[1] = math.Log(math.Abs(x)), x }, 0.3, -0.1, false},
		"not used beyond 0.6":          {func(d []float64, _, x float64) { d[0], d[1] = math.Sqrt(max(0.6-x, 0)), 0.8-x }, 0, 1, false},
		"a jump":                       {func(d []float64, _, x float64) { d[1] = math.Floor(x) + 0.5; d[0] = 1 / d[1] }, 0.3, -0.2, false},
	} {
		calls := 0
		g := New(1, []string{name})
		watched := g.Watch(func(dst []float64, t float64, x, _ []float64) { calls++; c.f(dst, t, x[0]) })
		g.Begin(0, []float64{c.from}, nil)
		if pass := g.Pass(10, []float64{c.to}); pass == c.pole || (g.Met() != "") != c.pole {
			t.Errorf("%s: passes: %v, %q", name, pass, g.Met())
		}
		if calls > 250 {
			t.Errorf("%s: %d calls of f: want at most 250", name, calls)
		}
		f := []float64{0}
		if watched(f, 10, []float64{c.to}, nil); (f[0] != f[0]) != c.pole {
			t.Errorf("%s: f is %g at the end", name, f[0])
		}
	}
}
