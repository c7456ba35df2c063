package model

import (
	"math"
	"strings"
	"testing"
)

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
		v, err := l.At(t.Context(), l.p.Nominal(), false)
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
