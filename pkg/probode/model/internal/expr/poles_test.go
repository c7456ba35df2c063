package expr

import (
	"slices"
	"strings"
	"testing"
)

func TestPoles(t *testing.T) {
	positive := func(name string) bool { return strings.HasPrefix(name, "K") }
	for formula, want := range map[string][]string{
		"x / (K + x)":                {"x/(K + x): K + x"},
		"x / (K + x) + y / (K + x)":  {"x/(K + x): K + x"},
		"x / (K + y^2)":              nil, // a square is not negative
		"x / (K + exp(-y) + abs(x))": nil,
		"x / (1 + (x / K)^4)":        nil,
		"1 / (K + sqrt(x))":          {"sqrt(x): x"},
		"1 / max(x, K)":              nil,
		"1 / min(-x^2, y)":           nil,
		"1 / x^2":                    {"1/x^2: x"},
		"y * x^(-3)":                 {"x^-3: x"},
		"x^3 + x^2.5":                {"x^2.5: x"},
		"x^n / (K^n + x^n)":          {"x^n: x", "x^n/(K^n + x^n): K^n + x^n"},
		"1 / ((x - 1) * -y)":         {"1/((x - 1)*y): x - 1", "1/((x - 1)*y): y"},
		"log(K / x)":                 {"K/x: x"},
		"log(1 + x)":                 {"ln(1 + x): 1 + x"},
		"tan(x)":                     {"tan(x): cos(x)"},
		"x / K + x / 3":              nil,
		"V / (exp(V) - 1)":           {"V/(exp(V) - 1): exp(V) - 1"},
		"piecewise(1 / x, x > 2, 1 / (K + piecewise(1, x < y, K)))": {"1/x: x"},
	} {
		n, err := Parse(Names{}, formula)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range Poles(positive, n.Simplify()) {
			if zero := p.Zero.String(); slices.ContainsFunc(p.Zero.Symbols(), func(s string) bool { return !positive(s) && s != "n" }) {
				got = append(got, p.Part.String()+": "+zero)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", formula, got, want)
		}
	}
}
