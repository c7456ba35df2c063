package model

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// Large models are read, compiled and solved in seconds: many states that each depend on
// few others, many that depend on all others, and a sum of all states. All states of a model
// are equal, so there are closed forms.
func TestLargeModels(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	write := func(d int, assignments string, rate func(i int) string) string {
		var b strings.Builder
		b.WriteString("parameters: [{parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 10}]\n" + assignments + "odes:\n")
		for i := range d {
			fmt.Fprintf(&b, "- {stateId: x%d, initialValue: 1, rightHandSide: %q}\n", i, rate(i))
		}
		b.WriteString("observables: [{observableId: y, observableFormula: x3, noiseFormula: 0.1}]\ndata: d.csv\n")
		return b.String()
	}
	var sum strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&sum, "+ x%d ", i)
	}
	for name, c := range map[string]struct {
		text string
		at1  float64 // every state at time 1
	}{
		"sparse": {write(10000, "", func(i int) string { return fmt.Sprintf("-k*x%d + 0.1*x%d", i, (i*7919)%10000) }), math.Exp(-0.9)},
		"band":   {write(10000, "", func(i int) string { return fmt.Sprintf("-k*x%d + 0.1*x%d", i, max(0, i-1)) }), math.Exp(-0.9)},
		"dense": {write(1500, "assignments: [{assignmentId: all, formula: \""+sum.String()+"\"}]\n",
			func(i int) string { return fmt.Sprintf("-k*x%d*all", i) }), 1. / 1501},
	} {
		begin := time.Now()
		p, err := LoadFS(fstest.MapFS{"m.yaml": {Data: []byte(c.text)}, "d.csv": {Data: []byte("time,y\n1,1\n")}}, "m.yaml")
		if err != nil {
			t.Fatal(err)
		}
		q, err := p.ODEs()
		if err != nil {
			t.Fatal(err)
		}
		f := make([]float64, q[0].Dim())
		x := make([]float64, q[0].Dim())
		q[0].Initial(x, q[0].Theta)
		q[0].F(f, 0, x, q[0].Theta)
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(t.Context(), l.p.Nominal(), false)
		if want := -math.Pow((1-c.at1)/0.1, 2)/2 - math.Log(0.1*math.Sqrt(2*math.Pi)); err != nil || math.Abs(v.LogLikelihood-want) > 1e-6 {
			t.Errorf("%s: log-likelihood %v, %v: want %.10g", name, v, err, want)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// The time to read min or max of many terms, and a chain of kinks, grows linearly with
// their number: these two took more than a minute when it grew with its cube.
func TestManyKinks(t *testing.T) {
	var terms, chain strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&terms, ", A*%d", i+2)
		fmt.Fprintf(&chain, "  - {assignmentId: a%d, formula: abs(a%d - 0.001)}\n", i+1, i)
	}
	text := "parameters:\n  - {parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 3}\nassignments:\n  - {assignmentId: a0, formula: A + 2}\n" + chain.String() +
		"odes:\n  - {stateId: A, rightHandSide: \"-k * min(A" + terms.String() + ") + 0 * a1000 - k * (a1000 - A - 1)\", initialValue: 1}\n" +
		"observables:\n  - {observableId: y, observableFormula: A, noiseFormula: 1}\ndata: |\n  time,y\n  1,0\n"
	m, err := Parse("m", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(t.Context(), []float64{1}, true)
	// A′ = −k A, so the slope of −e^{−2k}/2 is e^{−2k}.
	if want := math.Exp(-2); err != nil || math.Abs(v.Gradient[0]-want) > 1e-6 {
		t.Errorf("gradient %v, %v: want %v", v, err, want)
	}
}
