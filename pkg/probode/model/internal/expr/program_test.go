package expr

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

var xyz = []string{"x", "y", "z"}

// A program gives the same values as walking the simplified trees, to the last bit,
// whether or not the values are finite. The outputs of each program share parts, and some
// are conditions, constants or inputs.
func TestProgramAgainstTree(t *testing.T) {
	g := newGen(3)
	finite := 0
	for range 1500 {
		outputs := []*Node{g.number(2 + g.IntN(4)), g.condition(3), g.number(3)}
		outputs = append(outputs, outputs[0].Diff("x"), Sym("y"), g.leaf())
		p, err := Compile(xyz, outputs)
		if err != nil {
			t.Fatal(err)
		}
		at := g.point()
		if g.IntN(4) == 0 {
			at["x"] = []float64{0, inf, math.NaN(), -inf, 1e300, -1e-300}[g.IntN(6)]
		}
		in := []float64{at["x"], at["y"], at["z"]}
		got := make([]float64, len(outputs))
		p.Eval(got, in)
		pool := newPool() // as Compile: a product has the order in which it is first met
		for i, n := range outputs {
			want, err := pool.simplify(n)[0].Value(at)
			if err != nil {
				t.Fatal(err)
			}
			if !same(got[i], want) {
				t.Fatalf("%v at %v is %v: want %v", n, at, got[i], want)
			}
			if !math.IsNaN(want) {
				finite++
			}
		}
	}
	if finite < 4500 {
		t.Errorf("only %d of 9000 values were numbers", finite)
	}
}

// Pieces that a piecewise does not choose cannot affect its value or its slope.
func TestPiecewiseDoesNotLeak(t *testing.T) {
	n := mustParse(t, "piecewise(1, x <= 0, sqrt(x)*ln(x)/x)*y + max(piecewise(0, x == 0, 1/x), y)")
	p, err := Compile(xyz, []*Node{n, n.Diff("x"), n.Diff("y")})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 3)
	p.Eval(dst, []float64{0, 2, 0})
	if want := []float64{4, 0, 2}; !slices.Equal(dst, want) {
		t.Errorf("got %v, want %v", dst, want)
	}
}

func mustParse(t testing.TB, src string) *Node {
	t.Helper()
	n, err := Parse(Names{}, src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return n
}

func TestProgramSharesAndDrops(t *testing.T) {
	for _, c := range []struct {
		src  string
		most int // instructions
	}{
		{"2*3 + 4", 0},
		{"x", 0},
		{"(x + y)^2 + (y + x)^3", 4},       // s, s², s·s², sum
		{"x*y*z", 1},                       // fused
		{"x*y + z", 1},                     // fused
		{"z - x*y", 1},                     // fused
		{"x/(y + z)", 1},                   // fused
		{"exp(x*y)/(1 + exp(y*x))", 3},     // product, exp, quotient
		{"x^8", 3},                         // squares
		{"x^15", 6},                        // squares and products
		{"0*sin(x) + y", 0},                // nothing is left
		{"piecewise(sin(x), 1 < 0, y)", 0}, // nor here
		{"piecewise(x, x < y, x)", 0},      // nor here
		{"log10(x) + ln(x)", 3},            // one logarithm
		{"x^2 + y - x*x", 0},               // cancels
		{"-2*x*y", 1},                      // no sign of its own
		{"sqrt(x) + x^0.5 + x^1.5", 4},     // one root: root, product, 2·root, sum
		{"piecewise(1, x < y && y < z, 0, y > x, 2)", 6}, // one comparison x < y
	} {
		p, err := Compile(xyz, []*Node{mustParse(t, c.src)})
		if err != nil {
			t.Fatal(err)
		}
		if p.Len() > c.most {
			t.Errorf("%s takes %d instructions: want at most %d", c.src, p.Len(), c.most)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	call, err := Parse(Names{}, "f(x)", "f")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		inputs []string
		n      *Node
		want   string
	}{
		{nil, Sym("kon"), "kon is not defined"},
		{[]string{"x", "x"}, Sym("x"), "input x appears twice"},
		{xyz, call, "function f is not defined"},
	} {
		if _, err := Compile(c.inputs, []*Node{c.n}); err == nil || err.Error() != c.want {
			t.Errorf("error %v: want %q", err, c.want)
		}
	}
	if v, err := Compile(nil, []*Node{Sym("pi")}); err != nil || v.Len() != 0 {
		t.Errorf("pi: %v", err)
	}
	p, err := Compile([]string{"e"}, []*Node{mustParse(t, "e*pi")})
	if err != nil {
		t.Fatal(err)
	}
	dst := []float64{0}
	if p.Eval(dst, []float64{2}); dst[0] != 2*math.Pi {
		t.Errorf("e*pi with e = 2 is %v: want 2π", dst[0])
	}
	defer func() {
		if r := recover(); r == nil || !strings.HasPrefix(r.(string), "expr: ") {
			t.Errorf("Eval with a short input: %v, want a panic", r)
		}
	}()
	p.Eval(dst, nil)
}

func TestProgramAllocatesNothing(t *testing.T) {
	p, err := Compile(xyz, []*Node{mustParse(t, "x^2.5*sin(y)/(1 + z) + min(x, y, z)"), mustParse(t, "piecewise(x, y < z, ln(z))")})
	if err != nil {
		t.Fatal(err)
	}
	in, dst := []float64{1, 2, 3}, make([]float64, 2)
	if n := testing.AllocsPerRun(100, func() { p.Eval(dst, in) }); n != 0 {
		t.Errorf("Eval allocates %v times", n)
	}
	q := p.Clone()
	out := make([]float64, 2)
	q.Eval(out, in)
	p.Eval(dst, []float64{4, 5, 6})
	again := make([]float64, 2)
	q.Eval(again, in)
	if !slices.Equal(out, again) || slices.Equal(out, dst) {
		t.Errorf("a clone is not independent: %v, %v, %v", out, again, dst)
	}
}

// A program with inputs that keep their values gives the same bits as without, whichever
// inputs change from one call to the next.
func TestHeldInputs(t *testing.T) {
	g := newGen(4)
	skipped, phases := 0, 0
	for trial := range 400 {
		inputs, outputs := []string{"x", "y", "z"}, []*Node{g.number(4), g.number(3)}
		if trial%2 == 1 {
			inputs[0] = Time
			c := node([]op{opLt, opLe, opGt, opGe}[g.IntN(4)], Sym(Time), Call("times", Sym("y"), Num(float64(g.IntN(3)))))
			for i, n := range outputs {
				outputs[i] = Call("plus", Call("piecewise", Num(1), c, Sym("z")), n.Substitute(map[string]*Node{"x": Sym(Time)}))
			}
		}
		plain, err := Compile(inputs, outputs)
		if err != nil {
			t.Fatal(err)
		}
		held, err := Compile(inputs, outputs, "y", "z")
		if err != nil {
			t.Fatal(err)
		}
		if held.until[stageHeld] > 0 {
			skipped++
		}
		if len(held.thresholds) > 0 {
			phases++
		}
		in, want, got := []float64{0.3, 0.4, 0.5}, make([]float64, 2), make([]float64, 2)
		for range 20 {
			in[g.IntN(3)] = []float64{0.3, -1, 2, math.NaN(), 0, 4, 0.6}[g.IntN(7)]
			plain.Eval(want, in)
			held.Eval(got, in)
			for k := range want {
				if math.Float64bits(want[k]) != math.Float64bits(got[k]) && (want[k] == want[k] || got[k] == got[k]) {
					t.Fatalf("%v at %v: %v: want %v", outputs[k], in, got[k], want[k])
				}
			}
		}
	}
	if skipped < 200 || phases < 100 {
		t.Errorf("of 400 programs, %d have parts that depend on y and z only, and %d compare the time with such parts: want more", skipped, phases)
	}
}
