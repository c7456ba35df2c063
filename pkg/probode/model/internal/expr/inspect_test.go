package expr

import "testing"

// Taking a node apart and putting it together again gives the same node, for every
// operator.
func TestOperator(t *testing.T) {
	for _, src := range []string{
		"2.5", "x", "-x", "x + y + 2", "x*y*z", "x/y", "x^y", "quotient(x, y)", "rem(x, y)", "min(x, y)", "max(x, y, z)", "piecewise(x, x < y, z)",
		"exp(x)", "ln(x)", "log10(x)", "log2(x)", "sqrt(x)", "abs(x)", "sign(x)", "floor(x)", "ceil(x)", "sin(x)", "atanh(x)",
		"x < y", "x <= y", "x > y", "x >= y", "x == y", "x != y", "!(x < y)", "x < y && y < z", "x < y || y < z", "xor(x < y, y < z)",
	} {
		n, err := Parse(Names{}, src)
		if err != nil {
			t.Fatal(err)
		}
		name, args := n.Operator()
		switch name {
		case "number", "name":
			if len(args) != 0 {
				t.Errorf("%s: %s with %d arguments", src, name, len(args))
			}
			continue
		}
		again, err := apply(name, args...)
		if err != nil {
			t.Errorf("%s: %v", src, err)
		} else if !again.Equal(n) {
			t.Errorf("%s: %s of its arguments is %s", src, name, again)
		}
	}
	g := newGen(10)
	for range 500 {
		n := g.number(4)
		again := rebuild(n, func(m *Node, args []*Node) *Node {
			name, _ := m.Operator()
			if len(args) == 0 {
				return m
			}
			return Call(name, args...)
		})
		if !again.Equal(n) {
			t.Fatalf("%v is made again as %v", n, again)
		}
	}
	if name, _ := boolean(true).Operator(); name != "true" {
		t.Errorf("true is %s", name)
	}
	call, err := Parse(Names{}, "f(x)", "f")
	if err != nil {
		t.Fatal(err)
	}
	if name, args := call.Operator(); name != "call" || len(args) != 1 {
		t.Errorf("call is %s", name)
	}
}

func TestApplyAsBrackets(t *testing.T) {
	n, err := parseMathML(`<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><apply><plus/><ci>x</ci><cn>1</cn></apply></apply></math>`)
	if err != nil || n.String() != "x + 1" {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := parseMathML(`<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><apply><plus/><ci>x</ci></apply><ci>y</ci></apply></math>`); err == nil {
		t.Error("an <apply> in the place of an operator, with an argument: no error")
	}
}
