package model

import (
	"flag"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

var update = flag.Bool("update", false, "rewrite the generated Go that the tests compile")

var generated = []struct {
	model, file, name string
	make              func() *probode.Problem
}{
	{"pk.yaml", "generated_pk_test.go", "generatedPK", generatedPK},
	{"cascade.yaml", "generated_cascade_test.go", "generatedCascade", generatedCascade},
	{"threshold.yaml", "generated_threshold_test.go", "generatedThreshold", generatedThreshold},
}

// The generated files of this package are what File.Go writes, and they compute the same
// numbers as ODE, to the last bit.
func TestGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, c := range generated {
		p := load(t, c.model)
		e := experiments(t, p)[0]
		code, err := p.Go(e, "model", c.name)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(c.file, code, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(c.file); err != nil || string(have) != string(code) {
			t.Fatalf("%s is out of date (%v): go test -run TestGo -update", c.file, err)
		}
		q, err := p.ODE(e)
		if err != nil {
			t.Fatal(err)
		}
		g := c.make()
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.Theta, q.Theta) || !slices.Equal(g.Params, q.Params) || !slices.Equal(g.States, q.States) || g.Span != q.Span || len(g.Events) != len(q.Events) {
			t.Errorf("%s: %+v, want %+v", c.file, g, q)
		}
		pairs := [][2]*probode.Problem{{q, g}}
		if q.Hybrid != nil {
			pairs = append(pairs, [2]*probode.Problem{q.Hybrid, g.Hybrid})
		}
		for i := range 20 * len(pairs) {
			pair := pairs[i%len(pairs)]
			q := pair[0]
			d, n := q.Dim(), len(q.Theta)
			var out [2][5][]float64 // f, f and J, ∂f/∂θ, gradients, of both
			x, theta, time, weights := make([]float64, d), slices.Clone(q.Theta), 40*rng.Float64(), make([]float64, d)
			for k := range x {
				x[k], weights[k] = rng.Float64(), rng.NormFloat64()
			}
			for k := range theta {
				theta[k] *= 0.5 + rng.Float64()
			}
			for k, p := range pair {
				out[k] = [5][]float64{make([]float64, d), make([]float64, d), make([]float64, d*d), make([]float64, d*n), make([]float64, d+n)}
				p.F(out[k][0], time, x, theta)
				p.FJ(out[k][1], out[k][2], time, x, theta)
				p.FTheta(out[k][3], time, x, theta)
				dt := p.Pullback(out[k][4][:d], out[k][4][d:], weights, time, x, theta)
				out[k][4] = append(out[k][4], dt)
				x0 := make([]float64, d)
				p.Initial(x0, theta)
				out[k][3] = append(out[k][3], x0...)
				for _, e := range p.Events {
					after := slices.Clone(x)
					if e.Jump != nil {
						e.Jump(after, time, theta)
						lambda, dtheta := slices.Clone(weights), make([]float64, n)
						dt := e.JumpPullback(lambda, dtheta, x, time, theta)
						out[k][4] = append(append(append(out[k][4], lambda...), dtheta...), dt)
					}
					at := e.Time
					if e.When != nil {
						at = e.When(theta)
					}
					if e.Trigger != nil {
						at = e.Trigger(time, x, theta)
					}
					out[k][3] = append(append(out[k][3], after...), at)
				}
			}
			for part := range out[0] {
				for i, want := range out[0][part] {
					if got := out[1][part][i]; math.Float64bits(got) != math.Float64bits(want) {
						t.Errorf("%s: part %d, element %d: %v, want %v", c.file, part, i, got, want)
					}
				}
			}
		}
	}
}

func TestGoRefuses(t *testing.T) {
	p := load(t, "pk.yaml")
	e := experiments(t, p)[0]
	for _, names := range [][2]string{{"", "F"}, {"main", "main"}, {"a b", "F"}, {"p", "x()"}, {"func", "F"}, {"p", "init"}, {"p", "max"}} {
		if _, err := p.Go(e, names[0], names[1]); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", names, err)
		}
	}
}

// The generated file imports package math exactly if it uses it, whatever the names in the
// model are: Go accepts neither an import that is not used nor a package that is not
// imported.
func TestGoImportsMath(t *testing.T) {
	for _, c := range []struct {
		name, rate string
		math       bool
	}{
		{"plain", "-x", false},
		{"plain", "-exp(x)", true},
		{"an aftermath. of x", "-x", false},
		{"math.Exp(x) */ //", "-x", false},
		{"math.Exp(x)", "-exp(x)", true},
	} {
		p, err := Parse("m", []byte("name: \""+c.name+"\"\nodes:\n  - {stateId: x, rightHandSide: "+c.rate+", initialValue: 1}\n"))
		if err != nil {
			t.Fatal(err)
		}
		code, err := p.Go(experiments(t, p)[0], "main", "Problem")
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), "", code, parser.ImportsOnly)
		if err != nil {
			t.Fatalf("%v\n%s", err, code)
		}
		if imported := file.Imports[0].Path.Value == `"math"`; imported != c.math {
			t.Errorf("%q with the rate %s: math is imported: %v, want %v", c.name, c.rate, imported, c.math)
		}
	}
}
