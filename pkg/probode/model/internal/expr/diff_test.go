package expr

import (
	"math"
	"math/big"
	"slices"
	"testing"
)

// The derivatives of 10,000 random expressions equal central differences. Both are
// computed with 140 bits. With h = 2⁻⁴⁴ the error of a difference is h² ≈ 3e-27 times the
// third derivative and 2⁻⁹⁶ times the value. The main error is left: Simplify rounds the
// numbers that it combines to 53 bits, 1e-16, which the expressions here magnify by up to
// a million. About one expression in 20,000 has a zero under a root by chance and its
// slope there is NaN, as documented; this seed has none.
func TestDiffAgainstDifferences(t *testing.T) {
	c := newCalc(140)
	g := newGen(1)
	h := c.num(0x1p-44)
	tested, skipped := 0, 0
	for tested < 10000 {
		n := g.number(1 + g.IntN(4))
		name := []string{"x", "y", "z"}[g.IntN(3)]
		at := map[string]*big.Float{}
		for s, v := range g.point() {
			at[s] = c.num(v)
		}
		mid := at[name]
		at[name] = c.add(mid, h)
		above := c.value(n, at)
		trace := slices.Clone(c.trace)
		at[name] = c.sub(mid, h)
		below := c.value(n, at)
		at[name] = mid
		if above == nil || below == nil || !slices.Equal(trace, c.trace) {
			skipped++
			continue
		}
		tested++
		want := c.div(c.sub(above, below), c.mul(c.num(2), h))
		d := n.Diff(name)
		got := c.value(d, at)
		if got == nil {
			t.Fatalf("d/d%s of %v at %v is not finite: want %.20g\n%v", name, n, at, want, d)
		}
		diff, _ := c.sub(got, want).Float64()
		size, _ := want.Float64()
		value, _ := above.Float64()
		if diff = max(diff, -diff); diff > 1e-10*(1+max(size, -size))+1e-27*max(value, -value) {
			t.Fatalf("d/d%s of %v at %v: %.20g, want %.20g\n%v", name, n, at, got, want, d)
		}
	}
	t.Logf("%d expressions were not finite, or at a kink", skipped)
	if skipped > 2*tested {
		t.Errorf("%d of %d expressions could not be tested: want fewer", skipped, tested+skipped)
	}
}

// The gradient of a weighted sum is the sum of the rows of the Jacobian, for random
// expressions, wherever these rows are finite. In about one of 1,000 it is inaccurate,
// because terms cancel that are far larger than the result, or NaN, because pieces that
// are not taken are nested deeply.
func TestGradient(t *testing.T) {
	g := newGen(2)
	names, weights := []string{"x", "y", "z"}, []string{"w 1", "w 2", "w 3"}
	inputs := append(slices.Clone(names), weights...)
	tested, missing := 0, 0
	for trial := range 400 {
		fs, held := []*Node{g.number(4), g.number(3), g.number(4)}, []string(nil)
		if trial%4 == 0 { // a long sum that depends on held names only
			var sum []*Node
			for k := range 20 {
				sum = append(sum, Call("times", Num(float64(k+2)), g.number(1).Substitute(map[string]*Node{"x": Sym("y")})))
			}
			fs[2], held = Call("times", Sym("x"), Call("plus", sum...)), names[1:]
		}
		gradient, jac := Gradient(fs, weights, names, held...), Jacobian(fs, names)
		var outputs []*Node
		for _, row := range append([][]*Node{gradient}, jac...) {
			for _, n := range row {
				if n == nil {
					n = Num(0)
				}
				outputs = append(outputs, n)
			}
		}
		p, err := Compile(inputs, outputs)
		if err != nil {
			t.Fatal(err)
		}
		at := g.point()
		in, out := []float64{at["x"], at["y"], at["z"], 0.7, -1.3, 2.1}, make([]float64, len(outputs))
		p.Eval(out, in)
		for j := range names {
			var want, size float64
			for i := range fs {
				v := in[3+i] * out[3+3*i+j]
				want, size = want+v, size+math.Abs(v)
			}
			if math.IsNaN(want) || math.IsInf(want, 0) || size > 1e8 {
				continue
			}
			off := math.Abs(out[j] - want)
			if math.IsNaN(off) || off > 1e-7*(1+size) && off < 1e-2*size {
				missing++
				continue
			}
			if tested++; off > 1e-7*(1+size) {
				t.Errorf("derivative %d of %v at %v: %g: want %g", j, fs, in, out[j], want)
			}
		}
	}
	if tested < 600 || missing > 2 {
		t.Errorf("%d derivatives agree and %d are NaN or inaccurate: want at least 600, at most 2", tested, missing)
	}
}

// Simplify keeps the value wherever the original has one.
func TestSimplifyKeepsValue(t *testing.T) {
	c := newCalc(140)
	g := newGen(2)
	for range 3000 {
		n := g.number(1 + g.IntN(5))
		at := map[string]*big.Float{}
		for s, v := range g.point() {
			at[s] = c.num(v)
		}
		want := c.value(n, at)
		if want == nil {
			continue
		}
		s := n.Simplify()
		got := c.value(s, at)
		if got == nil {
			t.Fatalf("%v at %v is %.20g, simplified it is not finite: %v", n, at, want, s)
		}
		diff, _ := c.sub(got, want).Float64()
		size, _ := want.Float64()
		if diff = max(diff, -diff); diff > 1e-10*(1+max(size, -size)) {
			t.Fatalf("%v at %v is %.20g, simplified %.20g: %v", n, at, want, got, s)
		}
	}
}

// At the edges of the domain of x^y, and at kinks, the derivative is what the
// documentation of the package says, even in a program, which computes all pieces.
func TestDiffAtEdges(t *testing.T) {
	for _, c := range []struct {
		src, by    string
		x, y, want float64
	}{
		{"x^2", "x", 0, 0, 0},
		{"x^1", "x", 0, 0, 1},
		{"x^y", "x", 0, 1, 1}, // 1·0^0
		{"x^y", "x", 0, 2, 0},
		{"x^y", "x", 0, 0, 0}, // x^0 is 1 for all x
		{"x^y", "x", 3, 0, 0},
		{"x^y", "x", -2, 3, 12},
		{"x^y", "x", 0, 0.5, inf},
		{"x^y", "y", 0, 2, 0},
		{"x^y", "y", 1, 5, 0},
		{"x^(2*y)", "y", 0, 1, 0},
		{"x^y/(2^y + x^y)", "x", 0, 2, 0}, // Hill
		{"x^y/(2^y + x^y)", "y", 0, 2, 0},
		{"x^y/(2^y + x^y)", "x", 0, 1, 0.5},
		{"(x*y)^2.5", "x", 0, 3, 0},
		{"sqrt(x)", "x", 0, 0, inf},
		{"sqrt(max(0, x))", "x", -1, 0, 0}, // 0 times an infinite slope
		{"sqrt(max(0, x))*y", "x", 4, 2, 0.5},
		{"max(0, x)^y", "x", -1, 0.5, 0},
		{"max(x, 0)^0.3", "x", -1, -1, 0},
		{"sqrt(2*piecewise(0, x < 1, x - 1)*exp(y))", "x", 0, 0, 0},
		{"sqrt(piecewise(y, y < 0, 3, x < 0, 0, x < 1, x - 1))", "x", 0, 0, 0},
		{"sqrt(piecewise(0, x < 1, x - 1))", "x", 5, 0, 0.25},
		{"acos(min(x, 1))", "x", 1.5, 0, 0},
		{"(-2)^piecewise(2, x < 1, x)", "x", 0, 0, 0},
		{"abs(x)", "x", 0, 0, 0},
		{"abs(x)", "x", -2, 0, -1},
		{"max(x, y)", "x", 1, 1, 1},
		{"max(x, y)", "y", 1, 1, 0},
		{"min(x, y)", "x", 1, 1, 1},
		{"min(y, x)", "x", 1, 1, 0},
		{"floor(x) + ceil(x) + sign(x)", "x", 1, 0, 0},
		{"piecewise(3*x, x <= 1, 5*x)", "x", 1, 0, 3},
		{"piecewise(3*x, x < 1, 5*x)", "x", 1, 0, 5},
		{"piecewise(x, x > 0, ln(x))", "x", 2, 0, 1},
		{"0*ln(x)", "x", 0, 0, 0},
		{"exp(-x)", "x", 800, 0, 0},
		{"tanh(x)", "x", 800, 0, 0},
		{"x/(x + y)", "x", 1e200, 1e200, 2.5e-201}, // the square would overflow
		{"heaviside(x)*y", "y", 2, 5, 1},
		{"x % 3", "x", 7, 0, 1},
		{"x % y", "y", 7, 3, -2},
		{"quotient(x, y)", "y", 7, 3, 0},
		{"heaviside(x)", "x", 0, 0, 0},
	} {
		d := mustParse(t, c.src).Diff(c.by)
		at := map[string]float64{"x": c.x, "y": c.y}
		got, err := d.Value(at)
		if err != nil || !(math.Abs(got-c.want) <= 1e-15*math.Abs(c.want) || got == c.want) {
			t.Errorf("d/d%s of %s at x = %v, y = %v is %v, %v: want %v; %v", c.by, c.src, c.x, c.y, got, err, c.want, d)
		}
		p, err := Compile([]string{"x", "y"}, []*Node{d})
		if err != nil {
			t.Fatal(err)
		}
		dst := []float64{0}
		if p.Eval(dst, []float64{c.x, c.y}); !same(dst[0], got) {
			t.Errorf("d/d%s of %s: program %v, tree %v", c.by, c.src, dst[0], got)
		}
	}
}

// At points where comparisons are between equal numbers, the derivative lies between the
// one-sided differences, which are computed with 300 bits and a step of 2⁻⁸⁰. The error of a
// difference is of the order of the step. About one expression in 5,000 is at several kinks
// at once, or has an infinite slope inside, as documented; more than 2 in 1,000 would be an
// error.
func TestDiffAtKinks(t *testing.T) {
	c := newCalc(300)
	g := newGen(34)
	tested, kinks, outside := 0, 0, 0
	for range 1000 {
		n := g.number(1 + g.IntN(3))
		values := g.ties()
		at := map[string]*big.Float{}
		for s, v := range values {
			at[s] = c.num(v)
		}
		mid, value := at["x"], c.value(n, at)
		difference := func(h float64) (slope float64, smooth bool) {
			var q [2]float64
			for i, step := range []float64{h, h / 2} {
				at["x"] = c.add(mid, c.num(step))
				v := c.value(n, at)
				if v == nil || value == nil {
					return 0, false
				}
				q[i], _ = c.div(c.sub(v, value), c.num(step)).Float64()
			}
			return q[0], math.Abs(q[0]-q[1]) < 1e-9*(1+math.Abs(q[0]))
		}
		right, ok := difference(0x1p-80)
		left, also := difference(-0x1p-80)
		if !ok || !also { // not defined, a jump, or an infinite slope
			continue
		}
		tested++
		if math.Abs(left-right) > 1e-6 {
			kinks++
		}
		d, err := n.Diff("x").Value(values)
		if err != nil {
			t.Fatal(err)
		}
		// Simplify rounds the numbers that it combines.
		tol := 1e-7 * (1 + math.Abs(left) + math.Abs(right))
		if !(d >= min(left, right)-tol && d <= max(left, right)+tol) {
			outside++
			t.Logf("d/dx of %v at %v is %v: the one-sided differences are %v and %v", n, values, d, left, right)
		}
	}
	if tested < 600 || kinks < 5 || outside > 2 {
		t.Errorf("%d of %d derivatives, %d of them at kinks, are not between the one-sided differences: want at most 2, of at least 600, with 5 at kinks", outside, tested, kinks)
	}
	at := map[string]float64{"x": 0}
	if d, err := mustParse(t, "max(x, 0) - max(0, x)").Diff("x").Value(at); err != nil || d != 1 {
		t.Errorf("the derivative of max(x, 0) − max(0, x) at 0 is %v, %v: the documentation says 1", d, err)
	}
}

func TestJacobian(t *testing.T) {
	fs := []*Node{mustParse(t, "-k*x*y"), mustParse(t, "k*x*y - y"), mustParse(t, "3 + 0*x + z - z"), mustParse(t, "floor(x)*y")}
	names := []string{"x", "y", "z", "k"}
	jac := Jacobian(fs, names)
	pattern := [][]bool{{true, true, false, true}, {true, true, false, true}, {false, false, false, false}, {false, true, false, false}}
	for i, f := range fs {
		for j, name := range names {
			if (jac[i][j] != nil) != pattern[i][j] {
				t.Errorf("∂f%d/∂%s: %v, want present: %v", i, name, jac[i][j], pattern[i][j])
				continue
			}
			if jac[i][j] != nil && !jac[i][j].Equal(f.Diff(name)) {
				t.Errorf("∂f%d/∂%s is %v: want %v", i, name, jac[i][j], f.Diff(name))
			}
		}
	}
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"x + sin(y)", nil},
		{"piecewise(1, t < 5 && x >= y, 2, t < 5, 3)", []string{"t < 5", "x >= y"}},
		{"min(x, y, z)", []string{"x <= y", "min(x, y) <= z"}},
		{"abs(x) + sign(x)", []string{"x >= 0"}},
		{"floor(x)", []string{"sin(3.141592653589793*x) >= 0"}},
		{"piecewise(1, 2 < 1, 2)", []string{"2 < 1"}},
	} {
		var got []string
		for _, n := range Conditions(mustParse(t, c.src)) {
			got = append(got, n.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("conditions of %s: %q, want %q", c.src, got, c.want)
		}
	}
}
