package expr

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Deep and huge input works or gives an error, in a time proportional to its size.
func TestLimits(t *testing.T) {
	deepest := strings.Repeat("(", nestMost) + "x" + strings.Repeat(")", nestMost)
	if _, err := Parse(Names{}, deepest); err != nil {
		t.Errorf("%d brackets: %v", nestMost, err)
	}
	for name, src := range map[string]string{
		"brackets": "(" + deepest + ")",
		"signs":    strings.Repeat("-", nestMost+1) + "x",
		"not":      strings.Repeat("not ", nestMost+1) + "true",
		"powers":   strings.Repeat("x^", nestMost+1) + "x",
		"calls":    strings.Repeat("sin(", nestMost+1) + "x" + strings.Repeat(")", nestMost+1),
		"open":     strings.Repeat("(", 1000000),
	} {
		_, err := Parse(Names{}, src)
		if err == nil || !strings.Contains(err.Error(), "nested more than 10000 levels deep") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// quick fails if f takes longer than any machine should need for work proportional to the
// size; quadratic work would take hours.
func quick(t *testing.T, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("%s took %v", what, d)
	}
}

func TestHuge(t *testing.T) {
	const terms = 10000
	sum := mustParse(t, "x"+strings.Repeat(" + x*y", terms))
	chain := mustParse(t, "x"+strings.Repeat("/y*x", terms/4)) // as deep as it is long
	nested := mustParse(t, strings.Repeat("sin(", nestMost-1)+"x"+strings.Repeat(")", nestMost-1))
	for name, n := range map[string]*Node{"sum": sum, "chain": chain, "nested": nested} {
		quick(t, name, func() {
			d := n.Diff("x")
			p, err := Compile([]string{"x", "y"}, []*Node{n, d})
			if err != nil {
				t.Fatal(err)
			}
			dst := make([]float64, 2)
			p.Eval(dst, []float64{1, 1})
			if math.IsNaN(dst[0]) {
				t.Errorf("%s is NaN", name)
			}
			m, err := Parse(Names{}, n.String())
			if err != nil || !m.Equal(n) {
				t.Errorf("%s does not print as it was read: %v", name, err)
			}
			n.LaTeX(strings.ToUpper)
			Conditions(n)
			n.Substitute(map[string]*Node{"y": Sym("z")})
			if _, err := GoStatements([]Assignment{{"a", n}, {"b", d}}, func(s string) (string, bool) { return s, true }, ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// An expression that shares its parts is only as large as its different parts: written
// out, this one would have 2^500 terms.
func TestSharing(t *testing.T) {
	n := Call("plus", Sym("x"), Sym("y"))
	for range 500 {
		n = Call("sin", Call("times", n, n))
	}
	quick(t, "sharing", func() {
		if l := size(n); l != 1003 {
			t.Errorf("Len is %d: want 1003", l)
		}
		d := n.Diff("x")
		if l := size(d); l > 10*500 {
			t.Errorf("the derivative has %d nodes", l)
		}
		p, err := Compile([]string{"x", "y"}, []*Node{n, d, d.Diff("y")})
		if err != nil || p.Len() > 15000 {
			t.Errorf("program of %d instructions, %v", p.Len(), err)
		}
		if s := n.String(); len(s) > printMost+100 || !strings.HasSuffix(s, "…") {
			t.Errorf("text of %d bytes", len(s))
		}
		if !n.Equal(n.Substitute(map[string]*Node{"x": Sym("x")})) {
			t.Error("not equal to itself")
		}
	})
}

// Functions that each call the next one twice double the expression at each level.
func TestExpandDoubling(t *testing.T) {
	fs := map[string]*Node{}
	name := func(i int) string { return "f" + strings.Repeat("i", i) }
	fs[name(0)] = lambda(t, "1 + sin(x)", "x")
	for i := 1; i < 60; i++ {
		body, err := Parse(Names{}, name(i-1)+"("+name(i-1)+"(x))", name(i-1))
		if err != nil {
			t.Fatal(err)
		}
		if fs[name(i)], err = Lambda([]string{"x"}, body); err != nil {
			t.Fatal(err)
		}
	}
	n, err := Parse(Names{}, name(59)+"(x)", name(59))
	if err != nil {
		t.Fatal(err)
	}
	quick(t, "expand", func() {
		if _, err := n.Expand(fs); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("error %v", err)
		}
	})
}
