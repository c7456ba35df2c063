package model

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The curves of a fit are those of the solution, at the times of the data and between them,
// for every point and every condition, and the data are those of the file: x = a exp(−k t),
// with a value of a for each condition. Parameters of distributions have no column; columns
// are in the order in which the data first have them. Curves
// are solved with a tolerance of 1e-6.
func TestCurves(t *testing.T) {
	p, err := Parse("m", []byte(`time: {start: 1}
parameters:
  - {parameterId: k, nominalValue: 0.5, lowerBound: 0.01, upperBound: 10, parameterScale: log10}
  - {parameterId: a, nominalValue: 1}
  - {parameterId: sd, nominalValue: 0.2, lowerBound: 0.01, upperBound: 10}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: a}
observables:
  - {observableId: level, observableFormula: 2 * x, noiseFormula: sd + 0.1 * level}
  - {observableId: sick, observableFormula: x, noiseDistribution: binomial, noiseFormula: 20}
conditions:
  - {conditionId: one, a: 3}
  - {conditionId: two, a: 4}
data: |
  conditionId,time,level,sick
  one,4,1,
  one,2,3,
  two,1,,2
  two,3,1.5,1
`))
	if err != nil {
		t.Fatal(err)
	}
	points := [][]float64{{0.5, 1, 0.2}, {1.25, 1, 0.7}}
	curves, data, err := p.Curves(t.Context(), points, FitSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if len(curves) != 2 || len(data) != 2 {
		t.Fatalf("%d curves and %d data: want one for each condition", len(curves), len(data))
	}
	for i, c := range []struct {
		a     float64
		names []string
		times []float64
		y     [][]float64
	}{
		{3, []string{"level"}, []float64{2, 4}, [][]float64{{3}, {1}}},
		{4, []string{"sick", "level"}, []float64{1, 3}, [][]float64{{2, math.NaN()}, {1, 1.5}}},
	} {
		q, d := curves[i], data[i]
		if !slices.Equal(q.Names, c.names) || !slices.Equal(d.Names, c.names) || !slices.Equal(d.T, c.times) {
			t.Errorf("condition %d: the columns are %v and %v, and the times of the data %v: want %v and %v", i, q.Names, d.Names, d.T, c.names, c.times)
		}
		for n, row := range c.y {
			if !slices.EqualFunc(d.Y[n], row, func(a, b float64) bool { return a == b || a != a && b != b }) {
				t.Errorf("condition %d: the data at %v are %v: want %v", i, d.T[n], d.Y[n], row)
			}
		}
		for _, at := range append(slices.Clone(c.times), 1) { // the curves begin at the start
			if !slices.Contains(q.T, at) {
				t.Errorf("condition %d: there is no value at %v", i, at)
			}
		}
		if !slices.IsSorted(q.T) || q.T[len(q.T)-1] != c.times[len(c.times)-1] || len(q.T) < 100 {
			t.Errorf("condition %d: the times are %v", i, q.T)
		}
		for point, theta := range points {
			for n, at := range q.T {
				x := c.a * math.Exp(-theta[0]*(at-1))
				for k, name := range c.names {
					want := map[string]float64{"level": 2 * x, "sick": x}[name]
					if got := q.Fit[point][n][k]; math.Abs(got-want) > 1e-5*want {
						t.Fatalf("condition %d, point %d: %s(%v) is %v: want %v", i, point, name, at, got, want)
					}
				}
			}
		}
	}
	if _, _, err := p.Curves(t.Context(), [][]float64{{0.5, 1}}, FitSettings{}); err == nil || err.Error() != "a starting point has 2 values: want 3, one for each parameter" {
		t.Errorf("a point that is too short: %v", err)
	}
}

// A file of fit -json gives the values of all parameters by name. What it lacks is taken from
// the nominal values only for parameters that are not estimated.
func TestReadEnds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"format": "probode fit", "ends": [{"log_likelihood": -3, "parameters": {"s": 2}, "optimum": true, "slope": 0.001}, {"log_likelihood": -4}]}`, ""},
		{`{"format": "probode fit", "ends": []}`, "the file contains no result of a search: want the file of a fit in which at least one search succeeded"},
		{`{"format": "probode certify", "ends": [{}]}`, `the format of the file is "probode certify": want a file written by fit -json`},
		{`{}`, `the format of the file is "": want a file written by fit -json`},
		{`time,y`, "the file was not written by fit -json: "},
		{``, "the file was not written by fit -json: unexpected end of JSON input"},
		{`[1]`, "the file was not written by fit -json: "},
		{`{"format": "probode fit", "ends": [{"log_likelihood": -4}, {"log_likelihood": -3, "parameters": {"s": 2}, "optimum": true, "slope": 0.001}]}`, ""}, // put in order
		{`{"format": "probode fit", "ends": [{"log_likelihood": -3}]} x`, "the file was not written by fit -json: invalid character"},
		{`{"format": "probode fit", "ends": [{"log_likelihood": -3}, {"log_likelihood": null}]}`, "end 2 in the file has no log-likelihood: want a number"},
		{`{"format": "probode fit", "ends": [{"log_likelihood": -3, "parameters": {"s": null}}]}`, "end 1 in the file has no value for s: want a number"},
	} {
		ends, err := ReadEnds(strings.NewReader(c.text))
		switch {
		case c.want == "" && (err != nil || len(ends) != 2 || ends[0].LogLikelihood != -3 || ends[0].Parameters["s"] != 2 || !ends[0].Optimum || ends[0].Slope != 0.001):
			t.Errorf("%s: %+v, %v", c.text, ends, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: error %v, want %q", c.text, err, c.want)
		}
	}
	p := &File{Params: []Parameter{{ID: "k", Nominal: 1, Estimate: true}, {ID: "fixed", Nominal: 2}, {ID: "free", Nominal: math.NaN(), Estimate: true}}}
	for _, c := range []struct {
		values map[string]float64
		theta  []float64
		want   string
	}{
		{map[string]float64{"k": 5, "free": 7}, []float64{5, 2, 7}, ""},
		{map[string]float64{"k": 5, "free": 7, "fixed": 9}, []float64{5, 9, 7}, ""},
		{map[string]float64{"free": 7}, nil, "there is no value for the parameter k: want a value for each estimated parameter"},
		{map[string]float64{"k": 5, "free": 7, "K": 1}, nil, "found a value for K, which is not a parameter of the model"},
	} {
		theta, err := p.Theta(c.values)
		if c.want == "" && (err != nil || !slices.Equal(theta, c.theta)) || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%v: %v, %v: want %v, %q", c.values, theta, err, c.theta, c.want)
		}
	}
}
