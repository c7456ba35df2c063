package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readJSON decodes a file, and sees that nothing was left beside it.
func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp")); left != nil {
		t.Errorf("%v left behind", left)
	}
}

// The acceptance values: the phantom of the dragons is seen, nothing is certified
// in spite of it, and one step further all is well.
func TestCertifyVerb(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	var out strings.Builder
	if err := run(context.Background(), []string{"certify", "-case", "dragons", "-steps", "0.5,0.125", "-json", file}, &out); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Format string
		Steps  []struct {
			H         float64
			Certified bool
			Modes     []struct {
				From  map[string]float64
				Moved float64
			}
		}
	}
	readJSON(t, file, &r)
	if r.Format != "probode certify" || len(r.Steps) != 2 || r.Steps[0].H != 0.5 || r.Steps[0].Certified || !r.Steps[1].Certified {
		t.Errorf("%+v", r)
	}
	found := false
	for _, m := range r.Steps[0].Modes {
		b := m.From["beta1"]
		found = found || m.Moved > 5 && b > 4.9 && b < 4.92
	}
	if !found {
		t.Errorf("no phantom mode at beta1 = 4.911: %+v", r.Steps[0].Modes)
	}
	if !strings.Contains(out.String(), "Not covered: posterior widths") {
		t.Errorf("printed %s", &out)
	}

	// Tolerances, with the search for the largest.
	out.Reset()
	if err := run(context.Background(), []string{"certify", "-case", "dragons", "-method", "dp5", "-rtol", "1e-4", "-atol", "1e-6", "-enough", "-json", file}, &out); err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(t.TempDir(), "line.svg")
	if err := run(context.Background(), []string{"certify", "-case", "dragons", "-method", "dp5", "-rtol", "1e-2", "-out", picture}, &out); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(picture); err != nil || !strings.Contains(string(text), "<svg") {
		t.Errorf("picture of %d bytes, error %v", len(text), err)
	}
	var e struct {
		Steps  []struct{ H, Tol, ATol *float64 }
		Enough struct {
			Found bool
			Tol   *float64
		}
	}
	readJSON(t, file, &e)
	if e.Steps[0].H != nil || *e.Steps[0].Tol != 1e-4 || *e.Steps[0].ATol != 1e-6 || !e.Enough.Found || e.Enough.Tol == nil {
		t.Errorf("%+v", e)
	}
}

func TestCertifyErrors(t *testing.T) {
	for _, c := range []struct {
		args, want string
	}{
		{"-case dragons -steps 1,zero", `-steps 1,zero: "zero"`},
		{"-case dragons -steps 1 -rtol 1", "-steps and -rtol: give only one of them"},
		{"-case dragons -rtol -1", "-rtol -1"},
		{"-case dragons -rtol 1e-3,1e-4 -atol 1,2,3", "-atol 1,2,3 has 3 numbers, but -rtol has 2"},
		{"-case dragons -threshold 0", "-threshold 0"},
		{"-case dragons -json nodir/a.json", "-json nodir/a.json: there is no folder nodir"},
		{"-case dragons -steps 0.5 -out a.txt", "-out a.txt: want a name that ends in .html, .png or .svg"},
		{"-case dragons -steps 0.5,0.25,0.50", `-steps 0.5,0.25,0.50: "0.50" is given twice`},
		{"-case dragons -rtol 1e-3,0.001", "rtol = 0.001 is given twice"},
		{"-case lynx-hare -step 1e-290", "the step is 1.25e-291: the span of 20 would need 1.6e+292 steps"},
		{"-case dragons more", "want either a model file or -case"},
		{"", "want either a model file or -case"},
	} {
		var out strings.Builder
		err := certifyVerb(context.Background(), strings.Fields(c.args), &out)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", c.args, err, c.want)
		}
	}
}

func TestAssessJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	file := filepath.Join(t.TempDir(), "a.json")
	var out strings.Builder
	args := []string{"assess", "-case", "dragons", "-steps", "0.125,0.5", "-quiet", "-json", file}
	if err := run(context.Background(), args, &out); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Candidates []struct {
			H       float64
			Verdict string
		}
	}
	readJSON(t, file, &r)
	if len(r.Candidates) != 2 || r.Candidates[0].H != 0.5 || r.Candidates[0].Verdict != "matters" {
		t.Errorf("%+v", r)
	}
}

func TestSolveJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json")
	var out strings.Builder
	if err := run(context.Background(), []string{"solve", "-problem", "logistic", "-method", "rk4", "-step", "0.1", "-times", "1,2", "-json", file}, &out); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Format, Problem, Method string
		Version                 int
		Columns                 []string
		Rows                    [][]float64
	}
	readJSON(t, file, &r)
	if r.Format != "probode solve" || r.Version != 1 || len(r.Rows) != 2 || len(r.Rows[0]) != len(r.Columns) || r.Columns[0] != "t" || r.Rows[1][0] != 2 || out.Len() != 0 {
		t.Errorf("%+v, printed %q", r, &out)
	}
}

// At the nominal values of a model file there is no search for modes.
func TestCertifyAt(t *testing.T) {
	args := []string{"certify", "-model", "../../model/testdata/pk.yaml", "-method", "dp5", "-rtol", "1e-3,1e-6", "-at", "nominal"}
	var out strings.Builder
	if err := run(context.Background(), args, &out); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "Certified to first order") || !strings.Contains(s, "the 1 mode checked here") {
		t.Errorf("printed %s", s)
	}
	multistep := slices.Replace(slices.Clone(args), 4, 5, "bdf")
	if err := run(context.Background(), multistep, &out); err != nil {
		t.Errorf("%v: %v", multistep, err)
	}
	for _, bad := range [][]string{
		{"certify", "-case", "lynx-hare", "-at", "nominal"},
		append(args[:len(args)-1:len(args)-1], "nothing=1"),
		append(args[:len(args)-1:len(args)-1], "ka=1e9"),
	} {
		if err := run(context.Background(), bad, &out); err == nil || !strings.Contains(err.Error(), "-at") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// There is one answer: that of the search for the largest step, if there was one, and not
// another one about the steps of the list. The rest is behind -v.
func TestCertifyHasOneAnswer(t *testing.T) {
	args := []string{"certify", "-case", "boluses", "-method", "rk4", "-steps", "0.01,0.005"}
	for _, c := range []struct {
		more  []string
		want  string
		lines int
	}{
		{nil, "Certified to first order: with RK4, h = 0.01 ", 3},
		{[]string{"-enough"}, "Small enough: RK4, h = ", 3},
		{[]string{"-enough", "-v"}, "Small enough: RK4, h = ", 12},
	} {
		out := output(t, append(args, c.more...)...)
		if n := strings.Count(out, "\n"); !strings.HasPrefix(out, c.want) || n > c.lines && c.lines == 3 || n < c.lines {
			t.Errorf("%q: %d lines\n%s", c.more, n, out)
		}
		if n := strings.Count(out, "Certified") + strings.Count(out, "Small enough"); n != 1 {
			t.Errorf("%q: %d answers", c.more, n)
		}
	}
}
