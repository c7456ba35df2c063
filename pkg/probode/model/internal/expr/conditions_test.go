package expr

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// The jumping operators have no margin, and their conditions change again after one turn.
func jumps(n *Node) bool {
	return slices.ContainsFunc(Parts(n), func(m *Node) bool {
		return m.op == opFloor || m.op == opCeil || m.op == opQuotient || m.op == opRem || m.op == opSign
	})
}

// ties returns a point at which many comparisons are between equal numbers.
func (g gen) ties() map[string]float64 {
	at := map[string]float64{}
	for _, s := range []string{"x", "y", "z"} {
		at[s] = []float64{-1.5, -1, 0, 0.5, 1, 2}[g.IntN(6)]
	}
	return at
}

// The margin of a random condition is positive exactly where the condition is true, also
// where the two sides of a comparison are equal. A condition has no margin only if it
// compares with == or !=, or compares something that jumps. Where a number in it is NaN, every comparison is false, and its negation is true without a positive margin, so
// such points are left out.
func TestMargin(t *testing.T) {
	g := newGen(31)
	tested, equal, none := 0, 0, 0
	for range 1500 {
		n := g.condition(1 + g.IntN(3))
		m, ok := n.Margin()
		if !ok {
			if !jumps(n) && !slices.ContainsFunc(Parts(n), func(m *Node) bool { return m.op == opEq || m.op == opNe }) {
				t.Errorf("%v has no margin", n)
			}
			none++
			continue
		}
		for range 4 {
			at := g.ties()
			undefined := false
			for _, part := range Parts(n) {
				v, err := part.Value(at)
				if err != nil {
					t.Fatal(err)
				}
				undefined = undefined || v-v != 0
				if part.op.isComparison() {
					a, _ := part.args[0].Value(at)
					b, _ := part.args[1].Value(at)
					if a == b {
						equal++
					}
				}
			}
			if undefined {
				continue
			}
			tested++
			truth, _ := n.Value(at)
			if v, err := m.Value(at); err != nil || (v > 0) != (truth != 0) {
				t.Fatalf("%v is %v at %v, and its margin %v is %v, %v", n, truth != 0, at, m, v, err)
			}
		}
	}
	if tested < 2500 || equal < 250 || none < 150 {
		t.Errorf("%d margins were compared, %d comparisons were of equal numbers, and %d conditions had no margin: want more", tested, equal, none)
	}
}

// Margins of conditions of every kind, and conditions that have none. The number 5e-324 is
// the smallest that is positive: a margin jumps by it at the threshold of >= and <=.
func TestMarginsOfConditions(t *testing.T) {
	for _, c := range []struct{ src, margin string }{
		{"x < y", "y - x"},
		{"x > y", "x - y"},
		{"x <= y", "piecewise(5e-324, y == x, y - x)"},
		{"!(x < y)", "piecewise(5e-324, x == y, x - y)"},
		{"!(x >= y)", "y - x"},
		{"x < y && y < z", "min(y - x, z - y)"},
		{"!(x < y && y < z)", "max(piecewise(5e-324, x == y, x - y), piecewise(5e-324, y == z, y - z))"},
		{"!(x < y || z > 1)", "min(piecewise(5e-324, x == y, x - y), piecewise(5e-324, 1 == z, 1 - z))"},
		{"!!(x < y)", "y - x"},
		{"xor(x < 1, y < 1)", "max(min(1 - x, piecewise(5e-324, y == 1, y - 1)), min(piecewise(5e-324, x == 1, x - 1), 1 - y))"},
		{"piecewise(1, y == 2, x) > 0", "max(min(1, min(piecewise(5e-324, 2 == y, 2 - y), piecewise(5e-324, y == 2, y - 2))), min(max(y - 2, 2 - y), x - 0))"},
		{"1 < 2", "1"},
		{"2 < 1 || 3 < 1", "-1"},
	} {
		m, ok := mustParse(t, c.src).Margin()
		if !ok || !m.Equal(mustParse(t, c.margin)) {
			t.Errorf("the margin of %s is %v, %v: want %s", c.src, m, ok, c.margin)
		}
	}
	for _, src := range []string{"x == y", "x != y", "floor(x) > 1", "sign(x) < y && x < 1", "x % 2 > 1", "abs(ceil(x)) <= 3"} {
		if m, ok := mustParse(t, src).Margin(); ok {
			t.Errorf("the margin of %s is %v: want none", src, m)
		}
	}
}

// Jumps does not change values, also where they jump, and leaves only comparisons, sign and
// floor.
func TestJumps(t *testing.T) {
	for src, want := range map[string]string{
		"ceil(x)": "floor(-x)", "x % 2": "floor(abs(x/2)), x/2 >= 0", "quotient(x, y)": "floor(abs(x/y)), x/y >= 0",
		"sign(floor(x) - 1)": "floor(x), sign(floor(x) - 1)", "piecewise(1, x < ceil(y), heaviside(x))": "floor(-y), x < -floor(-y), sign(x)", "abs(x) + max(x, 1)": "",
	} {
		n := mustParse(t, src)
		equal, parts := Jumps(n)
		var list []string
		for _, p := range parts {
			list = append(list, p.String())
		}
		if got := strings.Join(list, ", "); got != want {
			t.Errorf("%s jumps through %s: want %s", src, got, want)
		}
		for _, x := range []float64{-4, -3.5, -2, -0.5, 0, 0.5, 2, 3, 4.25} {
			at := map[string]float64{"x": x, "y": 2}
			want, _ := n.Value(at)
			if v, err := equal[0].Value(at); err != nil || v != want {
				t.Errorf("%s is %v at x = %v, and %v is %v, %v", src, want, x, equal[0], v, err)
			}
		}
	}
}

// If Linear returns a and b, they do not contain the name, and n = a + b × name. A sum of
// products of the name with other expressions is found to be linear however it is written.
func TestLinear(t *testing.T) {
	g := newGen(32)
	found := 0
	near := func(n, a, b *Node) {
		if slices.Contains(SymbolsOf(a, b), "x") {
			t.Fatalf("%v = %v + %v x: want terms without x", n, a, b)
		}
		for range 3 {
			at := g.point()
			want, _ := n.Value(at)
			v, _ := a.Value(at)
			w, _ := b.Value(at)
			// Terms may cancel that are up to a million times as large.
			if got := v + w*at["x"]; want-want == 0 && !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want)+math.Abs(v)+math.Abs(w))) {
				t.Fatalf("%v at %v is %v: %v + %v x is %v", n, at, want, a, b, got)
			}
		}
	}
	for range 1500 {
		n := g.number(1 + g.IntN(3))
		if a, b, ok := n.Linear("x"); ok {
			if slices.Contains(n.Symbols(), "x") {
				found++
			}
			near(n, a, b)
		}
	}
	if found < 50 {
		t.Errorf("%d random expressions with x were linear: want more", found)
	}
	for _, c := range []struct{ src, a, b string }{
		{"x", "0", "1"},
		{"y", "y", "0"},
		{"3 - 2*x", "3", "-2"},
		{"(x + y)/z - x", "y/z", "1/z - 1"},
		{"-(y - x)*z", "-(y*z)", "z"},
		{"x^1 + x^0", "1", "1"},
		{"max(y, z)*x + exp(y)", "exp(y)", "max(y, z)"},
		{"piecewise(x, y < 1, z)", "piecewise(0, y < 1, z)", "piecewise(1, y < 1, 0)"},
	} {
		n := mustParse(t, c.src)
		a, b, ok := n.Linear("x")
		if !ok {
			t.Errorf("%s is not linear in x", c.src)
			continue
		}
		near(n, a, b)
		for range 3 {
			at := g.point()
			for _, p := range [][2]*Node{{a, mustParse(t, c.a)}, {b, mustParse(t, c.b)}} {
				v, _ := p[0].Value(at)
				w, _ := p[1].Value(at)
				if math.Abs(v-w) > 1e-12*(1+math.Abs(w)) {
					t.Errorf("%s is %v + %v x: want %s and %s", c.src, a, b, c.a, c.b)
				}
			}
		}
	}
	for _, src := range []string{"x^2", "x*x", "1/x", "abs(x)", "max(x, y)", "piecewise(x, x < 1, y)", "sin(x)", "y^x", "floor(x)"} {
		if a, b, ok := mustParse(t, src).Linear("x"); ok {
			t.Errorf("%s is %v + %v x: want no such form", src, a, b)
		}
	}
}

// Wherever a comparison, an abs, a min or a max in an expression goes another way at a
// second point, one of the conditions of the expression changes between the points. The
// way is found by an evaluation with 140 bits.
func TestConditionsSeeEveryKink(t *testing.T) {
	c := newCalc(140)
	g := newGen(33)
	changes := 0
	for range 1500 {
		n := g.number(1 + g.IntN(3))
		if jumps(n) {
			continue
		}
		var ways [2][]int8
		var truth [2][]float64
		conditions := Conditions(n)
		a := g.point()
		b := map[string]float64{"x": a["x"] + 1, "y": a["y"], "z": a["z"] - 1}
		defined := true
		for i, at := range []map[string]float64{a, b} {
			exact := map[string]*big.Float{}
			for s, v := range at {
				exact[s] = c.num(v)
			}
			c.trace = c.trace[:0]
			defined = c.value(n, exact) != nil && defined
			ways[i] = slices.Clone(c.trace)
			for _, condition := range conditions {
				v, err := condition.Value(at)
				if err != nil {
					t.Fatal(err)
				}
				truth[i] = append(truth[i], v)
			}
		}
		if !defined || slices.Equal(ways[0], ways[1]) {
			continue
		}
		if changes++; slices.Equal(truth[0], truth[1]) {
			t.Errorf("%v goes another way at %v than at %v, yet none of %v changes", n, a, b, conditions)
		}
	}
	if changes < 50 {
		t.Errorf("%d expressions went another way: want more", changes)
	}
}
