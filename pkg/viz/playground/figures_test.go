package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
)

// opened returns what a new figure computes.
func opened[C content](t *testing.T, name string) C {
	t.Helper()
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f.content.(C)
}

// sound checks a view: no number in words is NaN or infinite, its JSON has no mistake, and
// every axis has two finite ends in order.
func sound(t *testing.T, what string, v View) {
	t.Helper()
	for _, said := range v.Says {
		if strings.Contains(said, "NaN") || strings.Contains(said, "Inf") {
			t.Errorf("%s says %q", what, said)
		}
	}
	if len(v.Says) == 0 && v.Done {
		t.Errorf("%s says nothing", what)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, c := range v.Charts {
		for _, a := range []Axis{c.X, c.Y} {
			if !(a.Min < a.Max && a.Max-a.Min < math.Inf(1)) {
				t.Errorf("%s: the axis %s of %s goes from %v to %v", what, a.Name, c.ID, a.Min, a.Max)
			}
		}
	}
}

// extremes returns values of a control, its ends and all its choices.
func extremes(c knob) []any {
	switch c.Kind {
	case "choice":
		var all []any
		for _, o := range c.Options {
			all = append(all, o.Value)
		}
		return all
	case "toggle", "button":
		return []any{true}
	case "text":
		return []any{"", "model: [", strings.Repeat("a: b\n", 100)}
	}
	return []any{c.Min, c.Max, -1e300, 1e300}
}

// Every knob at its extremes gives a sound view while other work goes on, and a value that
// is not allowed is an error of one line that names the knob and changes nothing.
func TestExtremes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, name := range Names() {
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.knobs {
			for _, value := range extremes(c) {
				what := fmt.Sprintf("%s with %s = %.20v", name, c.Name, value)
				if err := f.Set(map[string]any{c.Name: value}); err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				for range 8 {
					v := f.Advance(2 * time.Millisecond)
					sound(t, what, v)
					if v.Done {
						break
					}
				}
			}
			for _, wrong := range []any{nil, []any{}, math.NaN(), "no such value"} {
				if c.Kind == "text" && wrong == "no such value" {
					continue
				}
				err := f.Set(map[string]any{c.Name: wrong})
				if err == nil || !strings.Contains(err.Error(), c.Label) || !strings.Contains(err.Error(), "want ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %s = %v gave %v: want one line that names the knob", name, c.Name, wrong, err)
				}
			}
		}
		f.Close()
	}
}

// The contours of dragons are those of the solver's likelihood, though it is computed for
// three limits only; and the work pauses.
func TestDragonsSurface(t *testing.T) {
	c, err := cases.Named("dragons-uniform")
	if err != nil {
		t.Fatal(err)
	}
	p := c.Posterior()
	for _, method := range []string{"rk4", "ab4", "am2"} {
		f := opened[*dragons](t, "dragons")
		if err := f.Set(map[string]any{"method": method, "h": 0.5}); err != nil {
			t.Fatal(err)
		}
		if f.Advance(0).Done {
			t.Errorf("%s: all is done at once", method)
		}
		finished(t, f.Figure)
		p.Setup = probode.Setup{Method: solvers[method].method, Mesh: probode.Uniform(0.5)}
		d, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		top, err := d.LogLikelihood([]float64{10 * f.peaks[0].beta1, f.peaks[0].beta1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		top -= f.peaks[0].below
		for k, z := range f.surface.Z {
			x, limit := betas[k%len(betas)], f.surface.Y[k/len(betas)]
			want, err := d.LogLikelihood([]float64{limit * x, x}, nil)
			if err != nil {
				want = math.Inf(-1)
			}
			if got := flat*math.Log(z) + top; want > top-200 && !(math.Abs(got-want) < 1e-6) {
				t.Fatalf("%s: %v at %v, %v: want %v", method, got, x, limit, want)
			}
		}
	}
}

// While only α moves, the score stays; other knobs begin it again.
func TestCalibrationKeepsItsScore(t *testing.T) {
	f := opened[*calibration](t, "calibration")
	finished(t, f.Figure)
	scale := f.scale
	before := f.chosen.within
	if err := f.Set(map[string]any{"alpha": 0.01}); err != nil {
		t.Fatal(err)
	}
	if finished(t, f.Figure); f.scale != scale || len(f.score) == 0 || f.chosen.within == before {
		t.Error("α moves: the score is computed again, or the shares stay")
	}
	if err := f.Set(map[string]any{"seed": 2.}); err != nil {
		t.Fatal(err)
	}
	if f.Advance(0); f.scale != nil || f.chosen.error != nil {
		t.Error("the numbers of another seed are shown")
	}
}
