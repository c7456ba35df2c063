package playground

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/integrate/quad"
)

// With f linearised at the start, the step of x′ = −x³ from 1 is μ + √(αh) Γ⁻¹Jξ with
// J = −3, Γ = 1/h + 3 and μ = 1 − h/(1 + 3h). The exact density is
// exp(−½((z − 1)/h + z³)²/η²) with η² = 9αh.
func TestStepIsBackwardEuler(t *testing.T) {
	f := opened[*step](t, "step")
	const h, alpha, xi = 0.5, 0.2, -1.25
	if err := f.Set(map[string]any{"h": h, "alpha": alpha, "xi1": xi}); err != nil {
		t.Fatal(err)
	}
	v := f.Advance(time.Minute)
	gamma, eta := 1/h+3, 3*math.Sqrt(alpha*h)
	mean := 1 - 1/gamma
	density := func(z float64) float64 {
		r := (z-1)/h + z*z*z
		return math.Exp(-r * r / (2 * eta * eta))
	}
	moment := func(p float64) float64 {
		return quad.Fixed(func(z float64) float64 { return math.Pow(z, p) * density(z) }, -4, 4, 400, nil, 0)
	}
	first := moment(1) / moment(0)
	want := map[string]float64{"mean1": mean, "end1": mean - math.Sqrt(alpha*h)*3/gamma*xi, "sd": eta / gamma,
		"exact.mean": first, "exact.sd": math.Sqrt(moment(2)/moment(0) - first*first)}
	for name, w := range want {
		if got := v.Numbers[name]; !(math.Abs(got-w) < 1e-9) {
			t.Errorf("%s is %.12g: want %.12g", name, got, w)
		}
	}
}

// Every knob changes what is shown, and no value within the ranges ends in a fault.
func TestStepKnobs(t *testing.T) {
	for _, problem := range []string{"cubic", "fitzhugh-nagumo"} {
		f := opened[*step](t, "step")
		if err := f.Set(map[string]any{"problem": problem}); err != nil {
			t.Fatal(err)
		}
		shown := func(values map[string]any) string {
			if err := f.Set(values); err != nil {
				t.Fatal(err)
			}
			v := f.Advance(time.Minute)
			if !v.Done || len(v.Charts) == 0 {
				t.Errorf("%s with %v shows %d charts and says %q", problem, values, len(v.Charts), v.Says)
			}
			if text := strings.Join(v.Says, " "); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%s with %v says %q", problem, values, text)
			}
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		for _, c := range f.knobs {
			switch c.Kind {
			case "choice":
				if a, b := shown(map[string]any{c.Name: c.Options[0].Value}), shown(map[string]any{c.Name: c.Options[1].Value}); a == b {
					t.Errorf("%s: %s changes nothing", problem, c.Name)
				}
				shown(map[string]any{c.Name: c.Value})
			default:
				if a, b := shown(map[string]any{c.Name: c.Min}), shown(map[string]any{c.Name: c.Max}); a == b {
					t.Errorf("%s: %s changes nothing", problem, c.Name)
				}
			}
		}
	}
	if err := opened[*step](t, "step").Set(map[string]any{"h": "wide"}); err == nil || !strings.Contains(fmt.Sprint(err), "step size") {
		t.Errorf("a step size in words gave %v: want an error that names the knob", err)
	}
}
