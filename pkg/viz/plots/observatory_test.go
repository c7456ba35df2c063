package plots

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/viz"
)

func someCells() Observatory {
	nan := math.NaN()
	none := Spread{nan, [2]float64{nan, nan}, [4]float64{nan, nan, nan, nan}}
	good := Spread{1.25, [2]float64{.6, .95}, [4]float64{.4, .6, .85, .9}}
	return Observatory{
		{Problem: "a, b", Kind: "k", Dimension: 2, Method: "rk4", Size: "h 0.1", Evaluations: 40, Seconds: 1e-4, Error: 0.01, Status: "ok", Alpha: 0.5, Spread: good, Paper: none},
		{Problem: "a, b", Kind: "k", Dimension: 2, Method: "rk4", Size: "h 0.05", Evaluations: 80, Seconds: 2e-4, Error: 0.001, Status: "ok", Alpha: 0.5, Spread: good, Paper: good},
		{Problem: "c", Kind: "l", Dimension: 3, Method: "am1", Size: "h 0.1", Status: "fails: \"x\"", Seconds: nan, Error: nan, Alpha: nan, Spread: none, Paper: none},
	}
}

// What is written is read, and drawn; a problem on which nothing worked has no
// panel.
func TestObservatory(t *testing.T) {
	o := someCells()
	file := filepath.Join(t.TempDir(), "o.csv")
	var b bytes.Buffer
	if err := o.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := ReadObservatory(file)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if got.Write(&again); again.String() != b.String() || !reflect.DeepEqual(got[1], o[1]) || !math.IsNaN(got[2].Spread.MeanSquare) {
		t.Errorf("written %s, read and written %s", b.String(), again.String())
	}
	if p, m := got.Problems(), got.Methods(); !reflect.DeepEqual(p, []string{"a, b", "c"}) || !reflect.DeepEqual(m, []string{"rk4", "am1"}) {
		t.Errorf("problems %q, methods %q", p, m)
	}
	if n := len(got.Of("c")); n != 1 {
		t.Errorf("%d cells of c", n)
	}
	w := got.WorkPrecision()
	if len(w.Panels) != 1 {
		t.Fatalf("%d panels", len(w.Panels))
	}
	if l := w.Panels[0].Layers[0].(viz.Line); !reflect.DeepEqual(l.X, []float64{0.1, 0.2}) || !reflect.DeepEqual(l.Y, []float64{0.01, 0.001}) {
		t.Errorf("line %+v", l)
	}
	c := got.Calibration()
	if l := c.Panels[0].Layers[1].(viz.Line); !reflect.DeepEqual(l.Y, []float64{.4, .6, .85, .9}) {
		t.Errorf("coverage %+v", l)
	}
	if l := c.Panels[1].Layers[3].(viz.Line); len(l.X) != 1 || l.X[0] != 0.5 || l.Y[0] != math.Sqrt(1.25) {
		t.Errorf("roots by the paper's rule %+v", l)
	}
	for _, f := range []viz.Figure{w, c, Observatory(nil).Calibration()} {
		if _, err := viz.HTML(f); err != nil {
			t.Error(err)
		}
	}
	for want, text := range map[string]string{
		"not the columns":                      "a,b\n1,2\n",
		`line 2, column dimension: "x" is not`: strings.Replace(b.String(), "k,2,rk4", "k,x,rk4", 1),
	} {
		if _, err := readObservatory(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := ReadObservatory(file + "x"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// What is read can be written and read again, and drawn or refused, without a panic.
func FuzzObservatory(f *testing.F) {
	var b bytes.Buffer
	someCells().Write(&b)
	f.Add(b.String())
	f.Add(strings.ReplaceAll(b.String(), "0.01", "Inf"))
	f.Fuzz(func(t *testing.T, text string) {
		o, err := readObservatory(strings.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := o.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := readObservatory(&b)
		if err != nil || len(again) != len(o) {
			t.Fatalf("written and read: %v", err)
		}
		o.WorkPrecision()
		o.Calibration()
	})
}
