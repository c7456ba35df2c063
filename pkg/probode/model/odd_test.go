package model

import (
	"strings"
	"testing"
	"testing/fstest"
)

// oddModel is a model with room for parts that are odd.
func oddModel(t *testing.T, replace ...string) (*File, error) {
	t.Helper()
	const text = `parameters:
- {parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 10, parameterScale: log10}
odes:
- {stateId: x, initialValue: 1, rightHandSide: -k*x}
- {stateId: z, initialValue: 1, rightHandSide: k*x - z}
events:
- {eventId: e, time: 1, assignments: {x: x + 1}}
observables:
- {observableId: y, observableFormula: x + z, noiseFormula: 0.1}
data: d.csv
`
	return LoadFS(fstest.MapFS{"m.yaml": {Data: []byte(strings.NewReplacer(replace...).Replace(text))}, "d.csv": {Data: []byte("time,y\n1,1\n5,2\n")}}, "m.yaml")
}

// What sample cannot take no command takes: a logarithmic scale from 0 on, without a prior.
func TestLowerBoundOfLogarithms(t *testing.T) {
	for _, c := range []struct {
		bounds string
		ok     bool
	}{
		{"lowerBound: 0, upperBound: 10, parameterScale: log10", false},
		{"lowerBound: 0, upperBound: 10, parameterScale: log", false},
		{"lowerBound: -1, upperBound: 10, parameterScale: log", false},
		{"lowerBound: 0, upperBound: 10", true},
		{"lowerBound: 0, upperBound: 10, parameterScale: log10, objectivePriorType: logNormal, objectivePriorParameters: 0;1", true},
		{"lowerBound: 1e-300, upperBound: 10, parameterScale: log10", true},
	} {
		p, err := oddModel(t, "lowerBound: 0.1, upperBound: 10, parameterScale: log10", c.bounds)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.bounds, err)
		}
		if err == nil {
			if _, err := p.Posterior(); err != nil {
				t.Errorf("%s: loads, and then %v", c.bounds, err)
			}
		}
	}
}

// An event that happens after all data is a warning; one among them, one whose time is a
// parameter and one that repeats itself is none.
func TestLateEvents(t *testing.T) {
	for event, warned := range map[string]bool{
		"time: 1,": false, "time: 5,": false, "time: 5.1,": true, "time: 2*3,": true, "time: 7*k,": false,
		"time: 1, every: 3, count: 4,": false, "time: 6, every: 1, count: 3,": true,
	} {
		p, err := oddModel(t, "time: 1,", event)
		if err != nil {
			t.Fatal(event, err)
		}
		if got := strings.Contains(strings.Join(p.Warnings, " "), "after the last measurement at 5"); got != warned || len(p.Warnings) > 1 {
			t.Errorf("%s: %q", event, p.Warnings)
		}
	}
}
