package nb

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
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
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
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

type runner struct{ n int }

func (r runner) run() (int, error) { return r.n, nil }

func size[T any]() (int, error) { return reflect.TypeFor[T]().Bits(), nil }

func three() (int, error) { return 3, nil }

// A receiver or a type that is not in the key would let one result pass for another.
func TestMemoRefusesWithoutSource(t *testing.T) {
	t.Setenv("PROBODE_MEMO", t.TempDir())
	var computed bool
	memo := func(f func() (int, error)) (said any) {
		defer func() { said = recover() }()
		computed = Memo("m", 1, f) != 0
		return nil
	}
	for name, f := range map[string]func() (int, error){
		"a method value":                       runner{1}.run,
		"a method value of a pointer":          (&runner{1}).run,
		"a method value of an interface":       interface{ run() (int, error) }(runner{1}).run,
		"a method value of a generic receiver": sized[int8]{}.run,
		"an instance":                          size[int8],
		"a function made by reflection": reflect.MakeFunc(reflect.TypeFor[func() (int, error)](), func([]reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(1), reflect.Zero(reflect.TypeFor[error]())}
		}).Interface().(func() (int, error)),
	} {
		said := fmt.Sprint(memo(f))
		if computed || !strings.Contains(said, "compute must be a function literal or a declared function of the notebook") {
			t.Errorf("%s: %s", name, said)
		}
		computed = false
	}
	for name, f := range map[string]func() (int, error){
		"a declared function":         three,
		"a literal":                   func() (int, error) { return runner{2}.run() },
		"a literal of a generic type": sized[int8]{}.literal(),
	} {
		if said := memo(f); said != nil || !computed {
			t.Errorf("%s: %v", name, said)
		}
		computed = false
	}
}

type sized[T any] struct{}

func (sized[T]) run() (int, error) { return size[T]() }

func (s sized[T]) literal() func() (int, error) {
	return func() (int, error) { return s.run() }
}

// Names that one file name could stand for have memos of their own.
func TestMemoNames(t *testing.T) {
	t.Setenv("PROBODE_MEMO", t.TempDir())
	names := []string{"é", "è", "_", "a b", "a_b", "a-b", ""}
	names = append(names, fileName("é"), fileName("a b")+"-0123456789abcdef")
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
	// The name is in the key too, should two file names agree in spite of all.
	f := runtime.FuncForPC(reflect.ValueOf(three).Pointer())
	if key("é", 1, f, "int") == key("è", 1, f, "int") {
		t.Error("two names, one key")
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
		{of(encode(pointing{P: &zero, X: []float64{1}})), "encoding/gob makes “P: nil” of “P: &0”"},
		{of(encode([]pointing{{}, {P: &zero}})), "encoding/gob makes “P: nil” of “P: &0”"},
		{of(encode(struct{ A, B float64 }{1, negative})), "encoding/gob makes “B: 0” of “B: -0”"},
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
	return Must(assess.Run(context.Background(), p, assess.Settings{Steps: []float64{0.5, 0.25}, Weighed: 100, Sampler: sample.Deterministic{},
		Chains: mcmc.Settings{Draws: 100, BurnIn: 100, Chains: 2}, Calibrate: calibrate.Settings{Paths: 40}}))
}

// An assessment comes back as it was, in words, in numbers and as a figure, whatever its
// method is: one of this module or one from outside.
func TestMemoAssessment(t *testing.T) {
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
		{reflect.TypeFor[assess.Report](), ""},
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
	f := runtime.FuncForPC(reflect.ValueOf(three).Pointer())
	of := func(inputs any) string { return key("m", inputs, f, "int") }
	seen := map[string]any{}
	for _, in := range inputs {
		k := of(in)
		if other, ok := seen[k]; ok {
			t.Errorf("%#v and %#v have one key", in, other)
		}
		seen[k] = in
	}
	again := 1.0
	if of(&one) != of(&again) {
		t.Error("the key depends on an address")
	}
	circle := &ring{N: 1}
	circle.Next = circle
	if of(circle) == of(&ring{N: 1}) {
		t.Error("a circle has the key of its first element")
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

// Without source, as with -trimpath, the program and the line tell functions apart.
func TestKeyWithoutSource(t *testing.T) {
	of := func(f func() (int, error)) string {
		fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
		if file, _ := fn.FileLine(fn.Entry()); filepath.Base(file) != "gone.go" {
			t.Errorf("the function is in %s", file)
		}
		return key("m", 1, fn, "int")
	}
	first := of(gone)
	if of(goneToo) == first {
		t.Error("two functions, one key")
	}
	if of(gone) != first {
		t.Error("one function, two keys")
	}
	if len(program()) != 64 {
		t.Errorf("the program was not read: its hash is %s", program())
	}
}

// The compiler takes the rest to be in a file that does not exist.
//
//line gone.go:1
func gone() (int, error) { return 1, nil }

func goneToo() (int, error) { return 2, nil }
