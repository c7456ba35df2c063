package nb

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/literal"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/plots"
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
	if other := Memo("square", 3.0, func() (int, error) { return 10, nil }); other != 10 {
		t.Errorf("another type of the same name and inputs gave %v", other)
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

// Gob itself reads 58 of these 208 damaged files as other numbers.
func TestMemoDamaged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memo.gob")
	want := []float64{1.5, 2.5, 3.5}
	data, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(data)
	if got, err := restore[[]float64](file); err != nil || !slices.Equal(got, want) {
		t.Fatalf("restored %v, %v", got, err)
	}
	for i := range 8 * len(data) {
		data[i/8] ^= 1 << (i % 8)
		write(data)
		if got, err := restore[[]float64](file); err == nil {
			t.Errorf("with bit %d flipped: %v", i, got)
		}
		data[i/8] ^= 1 << (i % 8)
	}
	for n := range data {
		write(data[:n])
		if got, err := restore[[]float64](file); err == nil {
			t.Errorf("the first %d bytes: %v", n, got)
		}
	}
}

// Names that one file name could stand for have memos of their own.
func TestMemoNames(t *testing.T) {
	t.Setenv("PROBODE_MEMO", t.TempDir())
	names := []string{"é", "è", "_", "a b", "a_b", "a-b", ""}
	names = append(names, url.QueryEscape("é"), url.QueryEscape("a b")+"-0123456789abcdef")
	computed := map[string]int{}
	all := func() {
		for _, n := range names {
			if got := Memo(n, 1, func() (string, error) { computed[n]++; return n, nil }); got != n {
				t.Errorf("the memo %q is that of %q", n, got)
			}
		}
	}
	all()
	for _, n := range names {
		clear(computed)
		Forget(n)
		all()
		if len(computed) != 1 || computed[n] != 1 {
			t.Errorf("after Forget(%q): computed %v", n, computed)
		}
	}
}

// What two processes forget at once, one of them does not find.
func TestForgetAtOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROBODE_MEMO", dir)
	if dir := os.Getenv("NB_TEST_FORGET"); dir != "" {
		t.Setenv("PROBODE_MEMO", dir)
		Forget()
		return
	}
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("a-%016x.gob", i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestForgetAtOnce$")
			cmd.Env = append(os.Environ(), "NB_TEST_FORGET="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
}

// A kill leaves half of a file. Only Forget of everything knows it to be waste:
// the file names no memo.
func TestForgetParts(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROBODE_MEMO", dir)
	square(3)
	part := filepath.Join(dir, "123.tmp")
	if err := os.WriteFile(part, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	Forget("square")
	if _, err := os.Stat(part); err != nil {
		t.Error(err)
	}
	Forget()
	if _, err := os.Stat(part); err == nil {
		t.Error("left: 123.tmp")
	}
}

type pointing struct {
	P *float64
	X []float64
}

type ring struct {
	N    int
	Next *ring
}

type panics int

func (panics) GobEncode() ([]byte, error) { panic("not today") }
func (*panics) GobDecode([]byte) error    { return nil }

// What gob changes is not kept; what it is known to keep is.
func TestEncode(t *testing.T) {
	zero, negative := 0.0, math.Copysign(0, -1)
	of := func(_ []byte, err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for _, c := range []struct{ got, want string }{
		{of(encode(pointing{P: &zero, X: []float64{1}})), "encoding/gob does not restore this nb.pointing: store its numbers, or a figure made from them"},
		{of(encode(struct{ A, B float64 }{1, negative})), "encoding/gob does not restore this struct { A float64; B float64 }: store its numbers, or a figure made from them"},
		{of(encode(struct {
			A int
			F func()
		}{1, func() {}})), "encoding/gob does not restore this struct { A int; F func() }: store its numbers, or a figure made from them"},
		{of(encode(struct{ A, b int }{1, 2})), "encoding/gob does not restore this struct { A int; b int }: store its numbers, or a figure made from them"},
		{of(encode([]*float64{nil})), "gob: encodeArray: nil element"},
		{of(encode(pointing{X: []float64{}})), ""},
		{of(encode([]float64{negative, math.NaN(), math.Inf(1), math.Nextafter(1, 2)})), ""},
		{of(encode(map[string][]int{"a": {1}, "b": nil})), ""},
		{of(encode[viz.Graphic](line("kept"))), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// To check that draws come back as they were takes little beside drawing them.
func BenchmarkEncode(b *testing.B) {
	c := &mcmc.Chains{Names: make([]string, 10), Draws: make([][][]float64, 4)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range c.Draws {
		for range 10_000 {
			x := make([]float64, 10)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			c.Draws[i] = append(c.Draws[i], x)
		}
	}
	for b.Loop() {
		if _, err := encode(c); err != nil {
			b.Fatal(err)
		}
	}
}

func line(title string) viz.Figure {
	return viz.Figure{Title: title, Panels: []viz.Panel{{Layers: []viz.Layer{
		viz.Line{X: []float64{0, 1, 2}, Y: []float64{0, 1, math.NaN()}, Color: viz.Blue},
	}}}}
}

// A figure comes back as it was, values that are no numbers included.
func TestMemoFigure(t *testing.T) {
	t.Setenv("PROBODE_MEMO", t.TempDir())
	computed := 0
	make := func() viz.Graphic {
		return Memo("figure", nil, func() (viz.Graphic, error) { computed++; return line("kept"), nil })
	}
	first, second := make(), make()
	if computed != 1 {
		t.Errorf("computed %d times", computed)
	}
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
// An outside is a method that no package knows.
type outside struct{ methods.RungeKutta }

func (outside) String() string { return "outside" }

// assessed assesses an exponential decay.
func assessed(m probode.Method) *assess.Report {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "decay", Params: []string{"k"}, X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 1},
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }},
				Data:   &bayes.Data{T: []float64{0.5, 1}, Y: [][]float64{{0.6}, {0.4}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		},
		Setup: probode.Setup{Method: m},
	}
	return Must(assess.Run(context.Background(), p, assess.Settings{Candidates: []probode.Setup{p.WithStepSize(0.5), p.WithStepSize(0.25)},
		Chains: mcmc.Settings{Draws: 100, BurnIn: 100, Chains: 2}}))
}

// An assessment comes back as it was, in words, in numbers and as a figure, whatever its
// method is: one of this module or one from outside.
func TestMemoAssessment(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Setenv("PROBODE_MEMO", t.TempDir())
	for _, m := range []probode.Method{adams.Moulton{Steps: 2}, methods.Radau{}, outside{}} {
		want, computed := assessed(m), 0
		var got *assess.Report
		for range 2 {
			got = Memo("assessment", m, func() (*assess.Report, error) { computed++; return want, nil })
		}
		if computed != 1 || got.String() != want.String() {
			t.Errorf("%v: computed %d times, got\n%v\nwant\n%v", m, computed, got, want)
		}
		if is, was := literal.Of(got), literal.Of(want); is != was {
			t.Errorf("%v: got\n%s\nwant\n%s", m, is, was)
		}
		a, err := viz.HTML(plots.Assessment(got))
		b, _ := viz.HTML(plots.Assessment(want))
		if err != nil || a != b {
			t.Errorf("%v: the figure differs: %v", m, err)
		}
	}
}

// Inputs that print alike but are not must not share a memo.
func TestMemoTellsInputsApart(t *testing.T) {
	type euler struct{ Steps int }
	type adams struct{ Steps int }
	one, two := 1.0, 2.0
	inputs := []any{
		nil, 1, 1.0, "1", true, []any{1}, []int{1}, euler{1}, adams{1}, &euler{1}, []any{"a b"}, []any{"a", "b"},
		[]string{"a", "b"}, 0.1, math.Nextafter(0.1, 1), math.NaN(), &one, &two, strings.ToUpper, strings.ToLower,
		map[string]int{"a": 1, "b": 2}, map[string]int{"a": 2, "b": 1}, []float64{1, 2}, []float64{2, 1},
	}
	circle, again := &ring{N: 1}, 1.0
	circle.Next = circle
	inputs = append(inputs, circle, &ring{N: 1})
	t.Setenv("PROBODE_MEMO", t.TempDir())
	of := func(inputs any, i int) int {
		return Memo("m", inputs, func() (int, error) { return i, nil })
	}
	for i, in := range inputs {
		if other := of(in, i); other != i {
			t.Errorf("%#v and %#v have one memo", in, inputs[other])
		}
	}
	if i := of(&again, -1); i < 0 {
		t.Error("the memo depends on an address")
	}
}
