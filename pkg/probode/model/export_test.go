package model

import (
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
