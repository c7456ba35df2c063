package playground

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	odes "github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// The calibrated scale is that of package calibrate, it lies at the top of the score, and
// there the shares of the figure are nearly those of the calibration.
func TestCalibration(t *testing.T) {
	before := runtime.NumGoroutine()
	f := opened[*calibration](t, "calibration")
	v := after(t, f.Figure, nil)
	want, err := calibrate.Run(context.Background(), odes.FitzHughNagumo(), adams.Moulton{},
		calibrate.Settings{StepSize: 0.1, Paths: 100, Seed: 1, Indicator: reference.TrueError(reference.Settings{})})
	if err != nil {
		t.Fatal(err)
	}
	if v.Numbers["alpha"] != want.Alpha || v.Numbers["se"] != want.SE {
		t.Errorf("α* = %v, want %v", v.Numbers, want)
	}
	best := 0
	for i, at := range f.score {
		if at[1] > f.score[best][1] {
			best = i
		}
	}
	if math.Abs(math.Log10(f.score[best][0]/want.Alpha)) > 0.1 || f.score[best][1] != 0 {
		t.Errorf("the score is largest at %v, and α* is %v", f.score[best][0], want.Alpha)
	}
	v = after(t, f.Figure, map[string]any{"alpha": want.Alpha})
	for k, share := range []float64{v.Numbers["within1"], v.Numbers["within2"]} {
		if math.Abs(share-want.Within[k]) > 0.02 { // same paths; the calibration extrapolates v from an α nearby
			t.Errorf("%v of the errors are within %d sd, want %v", share, k+1, want.Within[k])
		}
	}
	if v = after(t, f.Figure, map[string]any{"problem": "rigid-body", "rule": "paper"}); len(v.Charts) != 3 || math.IsNaN(v.Numbers["alpha"]) {
		t.Errorf("%+v", v)
	}
	if f.Set(map[string]any{"problem": "none"}) == nil || f.Set(map[string]any{"h": "x"}) == nil {
		t.Error("a wrong value is allowed")
	}
	work := f.work
	if err := f.Set(map[string]any{"h": 0.02}); err != nil {
		t.Fatal(err)
	}
	<-work.done
	f.Advance(turn)
	f.Close()
	settled(t, before)
}

// With h = 0.5 the second peak is at 2 × 2.4555, where the factor of a step of RK4 is e^−½
// again; with backward Euler there is one peak; with a small step there is none but the
// true one.
func TestDragons(t *testing.T) {
	f := opened[*dragons](t, "dragons")
	v := after(t, f.Figure, nil)
	if len(f.peaks) != 2 || math.Abs(f.peaks[0].beta1-1) > 0.01 || math.Abs(f.peaks[1].beta1-4.911) > 0.002 || f.peaks[1].exact > -1000 {
		t.Errorf("%+v", f.peaks)
	}
	if said := says(v); strings.Count(said, "no peak there") != 1 || strings.Contains(v.Says[0], "no peak there") {
		t.Errorf("it says\n%s", said)
	}
	v = after(t, f.Figure, map[string]any{"h": 0.25})
	if len(f.peaks) != 2 || math.Abs(f.peaks[1].beta1-10.48) > 0.01 {
		t.Errorf("h = 0.25: %+v", f.peaks)
	}
	v = after(t, f.Figure, map[string]any{"h": 0.1})
	if len(f.peaks) != 1 || strings.Contains(says(v), "no peak") {
		t.Errorf("h = 0.1: %+v", f.peaks)
	}
	v = after(t, f.Figure, map[string]any{"h": 0.5, "method": "am0"})
	if len(f.peaks) != 1 || math.Abs(f.peaks[0].beta1-1.299) > 0.01 || !strings.Contains(says(v), "no peak there") {
		t.Errorf("backward Euler: %+v\n%s", f.peaks, says(v))
	}
	if v = after(t, f.Figure, map[string]any{"method": "ab1", "h": 1.0, "beta1": 12.0}); len(v.Charts) != 3 {
		t.Errorf("forward Euler far from stable: %v", v.Says)
	}
}
