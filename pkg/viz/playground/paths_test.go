package playground

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// finished advances a figure to its end.
func finished(t *testing.T, f *Figure) View {
	t.Helper()
	for range 1000 {
		if v := f.Advance(100 * time.Millisecond); v.Done {
			return v
		}
	}
	t.Fatal("the figure has no end")
	return View{}
}

// The error of a method of order p falls as hᵖ, and the numbers of the view are those of
// the ensemble. A value that is not allowed changes nothing.
func TestPaths(t *testing.T) {
	f := opened[*paths](t, "paths")
	for method, order := range map[string]float64{"am0": 1, "am1": 2, "ab2": 2} {
		if err := f.Set(map[string]any{"problem": "logistic", "method": method, "h": 0.05}); err != nil {
			t.Fatal(err)
		}
		v := finished(t, f.Figure)
		if len(v.Charts) != 4 || f.work.err != nil {
			t.Fatalf("%s: %d charts, %v", method, len(v.Charts), f.work.err)
		}
		last := f.orders[len(f.orders)-2:]
		if got := math.Log2(last[0].error[0] / last[1].error[0]); math.Abs(got-order) > 0.2 {
			t.Errorf("%s: the error falls as h to the power %.2f, want %v", method, got, order)
		}
	}
	before, ens := fmt.Sprint(f.knobs), f.ens
	for _, wrong := range []map[string]any{{"h": "small"}, {"method": "none"}, {"problem": "none"}, {"wrong": 1.}} {
		if err := f.Set(wrong); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
	if before != fmt.Sprint(f.knobs) || f.ens != ens {
		t.Error("a wrong value has changed the figure")
	}
	// The cut needs no new ensemble.
	if err := f.Set(map[string]any{"cut": 1.}); err != nil || f.ens != ens || f.ens.T[f.at()] < 1 {
		t.Errorf("cut: %v", err)
	}
	if err := f.Set(map[string]any{"calibrate": true}); err != nil {
		t.Fatal(err)
	}
	if finished(t, f.Figure); f.scale == nil || f.scale.Alpha != f.number("alpha") {
		t.Errorf("calibrated α is %v, the knob %v", f.scale, f.number("alpha"))
	}
	// Where no α explains the error, the figure does not say that the spread matches it.
	if err := f.Set(map[string]any{"problem": "lorenz63", "method": "rk4", "h": 0.05, "calibrate": true, "paths": 2.}); err != nil {
		t.Fatal(err)
	}
	said := says(finished(t, f.Figure))
	if strings.Contains(said, "matches") || !strings.Contains(said, "outside the range") || !strings.Contains(said, "uncertain by about 71 %") {
		t.Errorf("Lorenz 63 with large steps and two paths: %s", said)
	}
}
