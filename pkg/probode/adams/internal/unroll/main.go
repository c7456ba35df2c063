// Command unroll writes the loops over the steps of Adams–Moulton methods in one, two and
// three dimensions. The command also writes the reverse pass through a step that is
// linearised at the current state. In the generated loops, every element of a vector or
// matrix is a local variable. The directive go:generate in package adams runs this
// command.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"os"
	"strings"
	"text/template"
)

//go:embed loops.tmpl
var loops string

func main() {
	code, err := generate()
	if err == nil {
		err = os.WriteFile("unrolled.go", code, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "unroll:", err)
		os.Exit(1)
	}
}

func generate() ([]byte, error) {
	t, err := template.New("loops").Funcs(template.FuncMap{
		"list": list, "lines": lines, "all": all, "matrix": matrix, "product": product, "transposed": transposed, "largest": largest, "inverse": inverse, "singular": singular,
	}).Parse(loops)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, []int{1, 2, 3}); err != nil {
		return nil, err
	}
	return format.Source(b.Bytes())
}

// each replaces # by the number of the copy.
func each(n int, pattern string) []string {
	out := make([]string, n)
	for k := range out {
		out[k] = strings.ReplaceAll(pattern, "#", fmt.Sprint(k))
	}
	return out
}

// list, lines and all have a copy for each component, and matrix for each element in
// row-major order.
func list(d int, pattern string) string   { return strings.Join(each(d, pattern), ", ") }
func lines(d int, pattern string) string  { return strings.Join(each(d, pattern), "\n") }
func all(d int, pattern string) string    { return strings.Join(each(d, pattern), " && ") }
func matrix(d int, pattern string) string { return list(d*d, pattern) }

func product(d int, a, x string) string { return products(d, d, 1, a, x) }

func transposed(d int, a, x string) string { return products(d, 1, d, a, x) }

// products has element (i, k) of the matrix at index i × row + k × column.
func products(d, row, column int, a, x string) string {
	rows := make([]string, d)
	for i := range rows {
		terms := make([]string, d)
		for k := range terms {
			terms[k] = fmt.Sprintf("%s%d*%s%d", a, i*row+k*column, x, k)
		}
		rows[i] = strings.Join(terms, "+")
	}
	return strings.Join(rows, ", ")
}

func largest(d int, x string) string {
	if d == 1 {
		return "math.Abs(" + x + "0)"
	}
	out := x + "0"
	for k := 1; k < d; k++ {
		out = fmt.Sprintf("larger(%s, %s%d)", out, x, k)
	}
	return out
}

func inverse(d int) string {
	switch d {
	case 1:
		return "det := inv - jac[0]\na0 = 1 / det"
	case 2:
		return `g0, g3 := inv-jac[0], inv-jac[3]
			det := g0*g3 - jac[1]*jac[2]
			over := 1 / det
			a0, a1, a2, a3 = g3*over, jac[1]*over, jac[2]*over, g0*over`
	}
	return fmt.Sprintf("%s, ok = linalg.Inverse3(inv, %s)", matrix(d, "a#"), matrix(d, "jac[#]"))
}

func singular(d int) string {
	if d < 3 {
		return "det == 0 || det-det != 0"
	}
	return "!ok"
}
