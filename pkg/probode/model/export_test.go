package model

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Writing a problem as PEtab and reading it back gives the same problem.
func TestWritePEtab(t *testing.T) {
	for _, w := range twins {
		p := load(t, w.file)
		dir := t.TempDir()
		if d := os.Getenv("PETAB_OUT"); d != "" {
			dir = filepath.Join(d, strings.TrimSuffix(w.file, ".yaml"))
		}
		name, err := p.WritePEtab(dir)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(q.Warnings) > 0 {
			t.Errorf("%s: %v", w.file, q.Warnings)
		}
		sameExperiments(t, p, q)
		params := map[string]Parameter{}
		for _, x := range p.Params {
			x.where = source.Where{}
			params[x.ID] = x
		}
		for _, x := range q.Params {
			x.where = source.Where{}
			if want := params[x.ID]; x.Estimate && !reflect.DeepEqual(x, want) {
				t.Errorf("%s: parameter %+v: want %+v", w.file, x, want)
			}
			delete(params, x.ID)
		}
		for _, x := range params {
			if x.Estimate {
				t.Errorf("%s: parameter %s is lost", w.file, x.ID)
			}
		}
	}
}

// Writing a problem as a model file and reading it back gives the same problem. What a
// model file cannot express is refused.
func TestWriteYAML(t *testing.T) {
	for _, file := range []string{"pk.yaml", "influenza.yaml", "lynx.yaml", "cascade.yaml",
		"petab-influenza/problem.yaml", "petab-lynx/problem.yaml", "petab-cascade/problem.yaml"} {
		p := load(t, file)
		name, err := p.WriteYAML(t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		sameLikelihood(t, p, name)
	}
	p, err := loadMap(t, population, "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	name, err := p.WriteYAML(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sameLikelihood(t, p, name)
	if _, err := load(t, "petab-pk/problem.yaml").WriteYAML(t.TempDir()); err == nil || !strings.Contains(err.Error(), "event tablet4 and a measurement happen at the same time, and the event is applied after the measurement") {
		t.Error(err)
	}
	p.Models = append(p.Models, p.Models[0])
	if _, err := p.WriteYAML(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has 2 models: a model file has exactly one") {
		t.Error(err)
	}
}

// sameLikelihood fails unless p and the named file have the same log-likelihood at the
// nominal parameters, up to rounding, which the choice of steps can make larger.
func sameLikelihood(t *testing.T, p *File, name string) {
	t.Helper()
	q, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	var values [2]float64
	for i, f := range []*File{p, q} {
		l, err := f.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(t.Context(), l.Nominal(), false)
		if err != nil {
			t.Fatal(err)
		}
		values[i] = v.LogLikelihood
	}
	if math.Abs(values[0]-values[1]) > 1e-9*math.Abs(values[0]) {
		t.Errorf("%s: log-likelihoods %v and %v", p.Name, values[0], values[1])
	}
}

// PEtab problems that passed petablint give the same experiments as the model files. The
// SBML of two of them, pk and influenza, has reactions, compartments and events written
// by hand.
func TestReactions(t *testing.T) {
	for _, name := range []string{"pk", "influenza", "lynx", "cascade"} {
		p := load(t, name+".yaml")
		q := load(t, "petab-"+name+"/problem.yaml")
		if len(q.Warnings) > 0 {
			t.Errorf("%s: %v", name, q.Warnings)
		}
		sameExperiments(t, p, q)
	}
}

// In a table, null and NA mean that nothing was measured, so WritePEtab refuses them as
// names. A model file has them in quotes, and keeps them.
func TestWritePEtabRefusesMissingValues(t *testing.T) {
	for _, id := range []string{"NA", "NULL", "null", "None"} {
		for _, text := range []string{
			"parameters:\n  - {parameterId: \"ID\", nominalValue: 1}\nodes:\n  - {stateId: x, rightHandSide: \"ID\", initialValue: 0}\nobservables:\n  - {observableId: o, observableFormula: x, noiseFormula: 1}\n",
			"odes:\n  - {stateId: x, rightHandSide: 1, initialValue: 0}\nobservables:\n  - {observableId: \"ID\", observableFormula: x, noiseFormula: 1}\n",
			"odes:\n  - {stateId: x, rightHandSide: 1, initialValue: 0}\nobservables:\n  - {observableId: o, observableFormula: x, noiseFormula: 1}\nconditions:\n  - {conditionId: \"ID\"}\n",
		} {
			p, err := Parse("m", []byte(strings.ReplaceAll(text, "ID", id)))
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "new")
			if _, err := p.WritePEtab(dir); err == nil || !strings.Contains(err.Error(), "the name "+id+" means “missing value” in a PEtab table") {
				t.Errorf("%s: error %v", id, err)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s: a folder was made", id)
			}
			if _, err := p.WriteYAML(dir); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

// Events of a model file happen in the order of the file, which PEtab cannot express. Whether
// they happen at the same time may depend on the values of parameters that are not estimated,
// or on a condition; events that set different states, and do not use them, have no order.
func TestWritePEtabRefusesOrder(t *testing.T) {
	for _, c := range []struct {
		one, two string
		ok       bool
	}{
		{"time: 2, assignments: {x: 2 * x}", "time: 2, assignments: {x: x + 3}", false},
		{"time: late, assignments: {x: 2 * x}", "time: 2, assignments: {x: x + 3}", false},
		{"time: late / 2 + 1, assignments: {x: 2 * x}", "time: early + 1, assignments: {x: x + 3}", false},
		{"time: late, assignments: {z: x}", "time: 2, assignments: {x: x + 3}", false},
		{"time: late, assignments: {z: 2 * z}", "time: 2, assignments: {x: x + 3}", true},
		{"time: late, assignments: {x: 2 * x}", "time: 3, assignments: {x: x + 3}", true},
		{"time: k, assignments: {x: 2 * x}", "time: 2, assignments: {x: x + 3}", true}, // equal at one value of k only
		{"time: set, assignments: {x: 2 * x}", "time: 2, assignments: {x: x + 3}", false},
	} {
		p, err := Parse("m", []byte(`parameters:
  - {parameterId: k, nominalValue: 2, lowerBound: 0.1, upperBound: 5}
  - {parameterId: late, nominalValue: 2}
  - {parameterId: early, nominalValue: 1}
  - {parameterId: set, nominalValue: 7}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 10}
  - {stateId: z, rightHandSide: -z, initialValue: 1}
events:
  - {eventId: one, `+c.one+`}
  - {eventId: two, `+c.two+`}
observables:
  - {observableId: y, observableFormula: x + z, noiseFormula: 1}
conditions:
  - {conditionId: first}
  - {conditionId: second, set: 2}
`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.WritePEtab(t.TempDir())
		if c.ok && err != nil || !c.ok && (err == nil || !strings.Contains(err.Error(), "events one and two happen at the same time and depend on each other: PEtab cannot express their order")) {
			t.Errorf("%s, and %s: error %v", c.one, c.two, err)
		}
	}
}
