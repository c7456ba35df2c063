package model

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

const linear = `indices: {i: 3, j: 3}
parameters:
  - parameterId: A[i,j]
    nominalValue: [[-1, 0.5, 0.25], [0.3, -2, 0], [0.1, 0.2, -0.4]]
    lowerBound: -3
    upperBound: 3
  - {parameterId: "start[i]", nominalValue: [1, 2, 4]}
odes:
  - {stateId: "x[i]", rightHandSide: "sum(j, A[i, j]*x[j])", initialValue: "start[i]"}
derived:
  trace: sum(i, A[i,i])
  diagonal[i]: product(j, piecewise(A[i,i], i == j, 1))
assignments:
  - {assignmentId: "next[i]", formula: "x[mod(i, 3) + 1] * i"}
events:
  - {eventId: "e[i]", time: 1, assignments: {"x[i]": "x[i] + i - 2"}}
observables:
  - {observableId: "y[i]", observableFormula: "next[i]", noiseFormula: 1}
data: |
  time,y[1],y[2],y[3]
  0.5,1,1,1
  2,1,1,1
`

// The states are exp(At) x₀, to which the event at 1 adds −1, 0 and 1.
func TestVectorsAndMatrices(t *testing.T) {
	a := mat.NewDense(3, 3, []float64{-1, 0.5, 0.25, 0.3, -2, 0, 0.1, 0.2, -0.4})
	x := mat.NewVecDense(3, []float64{1, 2, 4})
	flow := func(t float64) {
		var m, e mat.Dense
		m.Scale(t, a)
		e.Exp(&m)
		x.MulVec(&e, x)
	}
	var want []float64
	next := func() { want = append(want, x.AtVec(1), 2*x.AtVec(2), 3*x.AtVec(0)) }
	flow(0.5)
	next()
	flow(0.5)
	x.AddVec(x, mat.NewVecDense(3, []float64{-1, 0, 1}))
	flow(1)
	next()
	compare(t, simulated(t, linear), want...)

	p, err := Parse("m.yaml", []byte(linear))
	if err != nil {
		t.Fatal(err)
	}
	if q := p.Params[5]; q.ID != "A[2,3]" || q.Nominal != 0 || p.Params[3].Nominal != 0.3 {
		t.Errorf("parameters %+v", p.Params)
	}
	names, at, err := p.Derived()
	theta := []float64{-1, 0.5, 0.25, 0.3, -2, 0, 0.1, 0.2, -0.4}
	if err != nil || strings.Join(names, " ") != "trace diagonal[1] diagonal[2] diagonal[3]" || math.Abs(at(theta)[0]+3.4) > 1e-15 || at(theta)[2] != -2 {
		t.Errorf("derived %v %v %v", names, at(theta), err)
	}
	name, err := p.WriteYAML(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []*File{p, again} {
		l, err := q.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), q.Nominal(), false)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.
		for _, w := range want {
			sum -= (1-w)*(1-w)/2 + math.Log(2*math.Pi)/2
		}
		if math.Abs(v.LogLikelihood-sum) > 1e-6 {
			t.Errorf("log-likelihood %v: want %v", v.LogLikelihood, sum)
		}
	}
}

func TestMistakesInIndices(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"{i: 3, j: 3}", "{i: 3, j: 2.5}", "index j has the largest value 2.5: want a whole number from 1 to 1000"},
		{"{i: 3, j: 3}", "{i: 3, j: 2}", "nominalValue has 3 items: want 2, one for each value of j"},
		{"{i: 3, j: 3}", "{i: 3, j: 3, time: 2}", "an index is the name time, which is reserved for time"},
		{"trace: sum", "j: sum", "j is also the name of an index"},
		{"[[-1, 0.5, 0.25], [0.3, -2, 0], [0.1, 0.2, -0.4]]", "[1, 2, 3]", "nominalValue has a list for fewer indices than its entry: want a list of lists"},
		{"[[-1, 0.5, 0.25], [0.3, -2, 0], [0.1, 0.2, -0.4]]", "[[-1, 0.5, 0.25], 1, [0.1, 0.2, -0.4]]", "nominalValue has a list for fewer indices than its entry"},
		{"sum(j, A[i, j]*x[j])", "sum(i, A[i, i]*x[i])", "the index i is in use: want another index for the sum"},
		{"sum(j, A[i, j]*x[j])", "sum(k, A[i, k]*x[k])", "function sum: its first argument is no index of the file"},
		{"sum(j, A[i, j]*x[j])", "A[i, j]*x[j]", "found an index that is not known: want a whole number from 1 on, or a formula of i, j"},
		{"sum(j, A[i, j]*x[j])", "sum(j, A[i, j]*x[j + 1])", "x[4], which is not defined"},
		{"sum(j, A[i, j]*x[j])", "sum(j, x[j)", `found ")": want "," or the "]" that ends the indices`},
		{"sum(j, A[i, j]*x[j])", "sum(j x[j])", `want "," after the index j`},
		{`"x[i]", right`, `"x[", right`, "x[: column 3: found the end: want a number"},
		{"time,y[1]", "time,y[4]", "column y[4] is not an observable"},
	} {
		if _, err := Parse("m.yaml", []byte(strings.Replace(linear, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v: want %s", c.new, err, c.want)
		}
	}
}
