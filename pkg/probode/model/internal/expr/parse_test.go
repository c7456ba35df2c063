package expr

import (
	"math"
	"testing"
)

var inf = math.Inf(1)

func TestParsePrecedence(t *testing.T) {
	for _, c := range []struct {
		src  string
		want float64
	}{
		{"-2^2", -4}, {"2^-1", 0.5}, {"2^3^2", 512}, {"2**3", 8}, {"-2*3", -6}, {"2 - 3 - 4", -5}, {"2/4*3", 1.5}, {"2*-3", -6},
		{"8/2/2", 2}, {"--2", 2}, {"-(2)^2", -4}, {"7 % 3", 1}, {"-7 % 3", -1}, {"1 + 2 < 4", 1}, {"!(1 < 2)", 0}, {"not 1 == 2", 1},
		{"1 < 2 && 3 < 2", 0}, {"1 < 2 or 3 < 2", 1}, {"true && !false", 1}, {"log(8, 2)", 3}, {"log10(1000)", 3}, {"root(3, 8)", 2},
		{"piecewise(1, 2 < 1, 2, 2 < 3, 3)", 2}, {"piecewise(1, 2 < 1, 3)", 3}, {"min(3, 1, 2)", 1}, {"max(3, 1, 2)", 3},
		{"1e3", 1000}, {".5", 0.5}, {"5.", 5}, {"2.5E-1", 0.25}, {"factorial(5)", 120}, {"heaviside(0)", 0.5}, {"sign(-3)", -1},
		{"abs(-3) + ceil(1.2) + floor(-1.2)", 3}, {"pow(2, 10)", 1024}, {"quotient(-7, 2)", -3}, {"inf", inf}, {"cos(2*pi)", 1}, {"ln(e)", 1},
	} {
		n, err := Parse(Names{}, c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		got, err := n.Value(nil)
		if err != nil || !(math.Abs(got-c.want) <= 4e-16*math.Abs(c.want) || got == c.want) {
			t.Errorf("%s = %v, %v: want %v", c.src, got, err, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", `column 1: found the end: want a number, a name, a sign or "("`},
		{"a + ", `column 5: found the end: want a number, a name, a sign or "("`},
		{"a b", "column 3: found name b: want an operator or the end of the formula"},
		{"(a", `column 3: found the end: want an operator or the ")" that closes the bracket`},
		{"a)", `column 2: found ")": want an operator or the end of the formula`},
		{"max(a, b", `column 9: found the end: want an operator, "," or the ")" that ends the arguments of max`},
		{"(x `)`", `column 4: found name ): want an operator or the ")" that closes the bracket`},
		{"sin(x `)`", `column 7: found name ): want an operator, "," or the ")" that ends the arguments of sin`},
		{"max(x `,` y)", `column 7: found name ,: want an operator, "," or the ")" that ends the arguments of max`},
		{"3x", "column 2: found 'x' after number 3: want an operator (names must begin with a letter)"},
		{"1.2.3", "column 4: found '.' after number 1.2: want an operator (names must begin with a letter)"},
		{"1e400", "column 1: number 1e400 is too large: want at most 1.8e308"},
		{"x = 1", `column 3: found "=": want "==" to compare`},
		{"x & y", `column 3: found "&": want "&&"`},
		{"a + é*b", "column 5: found 'é': want numbers, operators, and names made of letters, digits and _"},
		{"`é` + é", "column 7: found 'é': want numbers, operators, and names made of letters, digits and _"},
		{"a +\n  é*b", "line 2, column 3: found 'é': want numbers, operators, and names made of letters, digits and _"},
		{"`a", "column 1: found a backquote that does not begin a quoted name: want `name`"},
		{"expp(x)", "column 1: function expp is not known: did you mean exp?"},
		{"2 + hill(x, 3)", "column 5: function hill is not known: want a function such as exp, ln, log10, pow, piecewise, min or sin"},
		{"2 + delay(x, 3)", "column 5: function delay: delay equations are not supported"},
		{"Piecewise((1, x > 2), (3, True))", "column 1: function Piecewise: write piecewise(value, condition, ..., otherwise)"},
		{"sin(x, y)", "column 1: sin has 2 arguments: want 1"},
		{"pow(x)", "column 1: pow has 1 argument: want 2"},
		{"root()", "column 1: root has 0 arguments: want 1 or 2"},
		{"1 + sin(x > 2)", "column 9: argument 1 of sin is a condition: want a number (piecewise(1, condition, 0) makes one)"},
		{"piecewise(1, x, 2)", "column 14: argument 2 of piecewise is a number: want a condition (such as x > 0)"},
		{"piecewise(1, x > 2, y > 3)", "column 21: argument 3 of piecewise is a condition: want a number (piecewise(1, condition, 0) makes one)"},
		{"1 + (x > 2)", `column 5: the operand to the right of "+" is a condition: want a number (piecewise(1, condition, 0) makes one)`},
		{"x && y > 1", `column 1: the operand to the left of "&&" is a number: want a condition (such as x > 0)`},
		{"-(x > 1)", `column 2: the operand to the right of "-" is a condition: want a number`},
		{"!x > 1", `column 2: the operand to the right of "!" is a number: want a condition (brackets around a comparison)`},
		{"(x > 1) == 1", `column 12: the operand to the right of "==" is a number: want a condition (such as x > 0)`},
		{"a < b < c", `column 7: found "<" after a comparison: join the comparisons with &&, or use brackets`},
		{"a < b || c < d && e < f", `column 16: found "&&" after or: put brackets around one of the two operations`},
		{"factorial(171)", "column 11: the factorial of 171: want a whole number from 0 to 170"},
		{"and", `column 1: found "and": want a number, a name, a sign or a bracket`},
		{"f(x)", "column 1: function f is not known: want a function such as exp, ln, log10, pow, piecewise, min or sin"},
	} {
		n, err := Parse(Names{}, c.src)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, %v: want %s", c.src, n, err, c.want)
		}
	}
}

// Different texts give the same expression.
func TestParseNames(t *testing.T) {
	for a, b := range map[string]string{
		"power(x, 2)": "x^2", "x**2": "x^2", "sqr(x)": "x^2", "arcsin(x)": "asin(x)", "ceiling(x)": "ceil(x)", "Abs(x)": "abs(x)", "Max(x, y)": "max(x, y)",
		"root(x)": "sqrt(x)", "root(2, x)": "sqrt(x)", "log(x, 10)": "log10(x)", "log(x, 2)": "log2(x)", "log(x)": "ln(x)", "geq(x, y)": "x >= y",
		"and(x < y, y < z)": "x < y and y < z", "not (x < y)": "!(x < y)", "INF": "inf", "True": "true", "plus(x, y, 1)": "x + y + 1", "times(x)": "x",
		"minus(x)": "-x", "divide(x, y)": "x/y", "+x": "x", "implies(x < y, y < z)": "!(x < y) || y < z", "neq(x, y)": "x != y", "csc(x)": "1/sin(x)",
		"(x < y) != (y < z)": "xor(x < y, y < z)", "`x`": "x", "((x))": "x", "x\n+ 1": "x + 1",
	} {
		if n, m := mustParse(t, a), mustParse(t, b); !n.Equal(m) {
			t.Errorf("%s is %v: want %v", a, n, m)
		}
	}
	n, err := Parse(Names{}, "f(x, sin(y)) + sin(1)", "f", "sin")
	if err != nil || len(functionsIn(n)) != 2 {
		t.Errorf("functions of the caller: %v, %v", n, err)
	}
}
