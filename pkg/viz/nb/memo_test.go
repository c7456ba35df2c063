package nb

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz"
)

var calls int

func square(x float64) float64 {
	return Memo("square", x, func() (float64, error) { calls++; return x * x, nil })
}

func TestMemo(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROBODE_MEMO", dir)
	calls = 0
	for i, c := range []struct {
		x     float64
		calls int
	}{{3, 1}, {3, 1}, {4, 2}, {3, 2}, {4, 2}} {
		if got := square(c.x); got != c.x*c.x || calls != c.calls {
			t.Errorf("call %d: %v after %d computations, want %v after %d", i, got, calls, c.x*c.x, c.calls)
		}
	}
	other := Memo("square", 3.0, func() (float64, error) { return 10, nil })
	if other != 10 {
		t.Errorf("another function of the same name and inputs gave %v", other)
	}
	Forget("cube")
	if square(3); calls != 2 {
		t.Error("forgetting one memo removed another")
	}
	Forget("square")
	if square(3); calls != 3 {
		t.Error("Forget forgot nothing")
	}
	// A damaged file is as good as none.
	files, _ := filepath.Glob(filepath.Join(dir, "square-*.gob"))
	if err := os.WriteFile(files[0], []byte("?"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := square(3); got != 9 || calls != 4 {
		t.Errorf("from a damaged file: %v", got)
	}
	Forget()
	if left, _ := filepath.Glob(filepath.Join(dir, "*.gob")); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestMemoSaysSo(t *testing.T) {
	dir := "PROBODE_MEMO=" + t.TempDir()
	equal(t, plain(t, run(t, "memo", 0, dir)), "Memo “square”: computed, and kept on disk for the next time.")
	r := run(t, "memo", 0, dir)
	equal(t, plain(t, r), `Memo “square”: read back from disk, not computed. nb.Forget("square") removes it.`)
	if s := r.sent[0].Data[protocol.MIMETextHTML].(string); strings.Contains(s, string(os.PathSeparator)+"tmp") {
		t.Errorf("a path in %s", s)
	}
}

// A figure comes back as it was, values that are no numbers included.
func TestMemoFigure(t *testing.T) {
	t.Setenv("PROBODE_MEMO", t.TempDir())
	make := func() viz.Graphic {
		return Memo("figure", nil, func() (viz.Graphic, error) { return line("kept"), nil })
	}
	first, second := make(), make()
	for _, g := range []viz.Graphic{first, second} {
		want, err := viz.HTML(line("kept"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := viz.HTML(g); err != nil || got != want {
			t.Errorf("the figure differs: %v", err)
		}
	}
}

// assessment is one of a parameter at a step, without a probabilistic run.
func assessment(m probode.Method) *bayes.Assessment {
	inf := &bayes.Inference{
		Scheme: "deterministic", Summary: mcmc.Summary{{Name: "k", Mean: 1, SD: 2, RHat: math.NaN()}},
		Effects: []bayes.Effect{{Bias: -0.3, BiasSE: 0.01, Ratio: 1, RatioSE: 0.01, Verdict: bayes.Matters}},
	}
	return &bayes.Assessment{
		Model: "decay", Method: m, Threshold: 0.1, KHat: 0.2,
		Params:   []bayes.AccurateMarginal{{Name: "k", Mean: 1, SD: 2}},
		Steps:    []bayes.StepAssessment{{Step: 0.1, Order: math.NaN(), Deterministic: inf}},
		Warnings: []string{"a warning"},
	}
}

// An assessment comes back as it was: in words, in numbers, as a figure.
func TestMemoAssessment(t *testing.T) {
	t.Setenv("PROBODE_MEMO", t.TempDir())
	for _, m := range []probode.Method{
		probode.AdamsBashforth{}, probode.AdamsMoulton{Steps: 2, Linearize: probode.Newton, Exact: &probode.ExactLaw{}},
		probode.RungeKutta{}, probode.RungeKutta{Tableau: probode.DormandPrince},
	} {
		want := assessment(m)
		for range 2 {
			got := Memo("assessment", m, func() (*bayes.Assessment, error) { return want, nil })
			if got.String() != want.String() {
				t.Errorf("%v: got\n%v\nwant\n%v", m, got, want)
			}
			a, err := viz.HTML(viz.Assessment(got))
			b, _ := viz.HTML(viz.Assessment(want))
			if err != nil || a != b {
				t.Errorf("%v: the figure differs: %v", m, err)
			}
		}
	}
}

func TestMemoRefuses(t *testing.T) {
	type model struct {
		Name string
		F    func(float64) float64
	}
	type fitted struct{ Model []*model }
	for _, c := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[fitted](), "Model.F is a function"},
		{reflect.TypeFor[struct{ n int }](), "n is not exported"},
		{reflect.TypeFor[map[string][]float64](), ""},
		{reflect.TypeFor[viz.Frames](), ""},
		{reflect.TypeFor[bayes.Assessment](), ""},
	} {
		if got := lossy(c.t, "", map[reflect.Type]bool{}); got != c.want {
			t.Errorf("%v: %q, want %q", c.t, got, c.want)
		}
	}
}

// Inputs that print alike but are not must not share a key.
func TestKeyTellsInputsApart(t *testing.T) {
	type euler struct{ Steps int }
	type adams struct{ Steps int }
	one, two := 1.0, 2.0
	inputs := []any{
		nil, 1, 1.0, "1", true, []any{1}, []int{1}, euler{1}, adams{1}, &euler{1}, []any{"a b"}, []any{"a", "b"},
		[]string{"a", "b"}, 0.1, math.Nextafter(0.1, 1), math.NaN(), &one, &two, strings.ToUpper, strings.ToLower,
		map[string]int{"a": 1, "b": 2}, map[string]int{"a": 2, "b": 1}, []float64{1, 2}, []float64{2, 1},
	}
	f := reflect.ValueOf(func() {})
	seen := map[string]any{}
	for _, in := range inputs {
		k := key(in, f, "")
		if other, ok := seen[k]; ok {
			t.Errorf("%#v and %#v have one key", in, other)
		}
		seen[k] = in
	}
	again := 1.0
	if key(&one, f, "") != key(&again, f, "") {
		t.Error("the key depends on an address")
	}
}

// The source of a computation is that of the functions it calls as well.
func TestSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main.go")
	program := func(f, g string) string {
		return "package main\n\ntype A struct{}\n\nfunc (A) M() int { return " + g + " }\n\nvar a A\n\nfunc unused() int { return " + f + " }\n\n" +
			"func main() {\n\tx := func() int { return h() }\n\t_ = x\n\tprintln(\"" + f + "\")\n}\n\nfunc h() int { return a.M() }\n"
	}
	of := func(text string) string {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return string(source(file, 12))
	}
	was := of(program("1", "2"))
	if !strings.Contains(was, "h()") || !strings.Contains(was, "return 2") || strings.Contains(was, "println") {
		t.Errorf("source: %s", was)
	}
	if of(program("5", "2")) != was {
		t.Error("the source contains what the computation does not use")
	}
	if of(program("1", "3")) == was {
		t.Error("the source does not contain a method that the computation uses")
	}
	if source(file+"x", 1) != nil {
		t.Error("source of a missing file")
	}
}
