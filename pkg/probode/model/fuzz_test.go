package model

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// loads loads a file and checks the result: a problem that can be written out and whose
// formulas can be compiled, or an error of one line that names the file.
func loads(t *testing.T, files map[string]string, main string) *File {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, err := LoadFS(fsys, main)
	if err != nil {
		var e *source.Error
		if !errors.As(err, &e) || e.File == "" || e.Msg == "" || strings.ContainsAny(err.Error(), "\n\r") {
			t.Fatalf("error %q of type %T", err, err)
		}
		return nil
	}
	list, err := p.Instances()
	if err != nil {
		t.Fatalf("loads, and cannot be written out: %v", err)
	}
	for _, e := range list {
		p.compile(e) // panics if it fails
		if _, _, err := p.Observables(e); err != nil {
			t.Fatalf("loads, and has no observables: %v", err)
		}
	}
	return p
}

func seed(f *testing.F, names ...string) {
	for _, name := range names {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
}

func FuzzModelFile(f *testing.F) {
	seed(f, "lynx.yaml", "influenza.yaml", "pk.yaml", "cascade.yaml")
	f.Add(small["m.yaml"])
	f.Add("odes: &a [*a]")
	f.Add("odes: [{stateId: x, rightHandSide: -x, initialValue: 1}]")
	f.Fuzz(func(t *testing.T, text string) {
		loads(t, map[string]string{"m.yaml": text, "d.csv": small["d.csv"]}, "m.yaml")
	})
}

func FuzzSBML(f *testing.F) {
	f.Add(withMath(f, tiny["m.xml"]))
	f.Add(`<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>`)
	f.Add(withMath(f, level3+`<listOfCompartments><compartment id="V" size="2" constant="false"/></listOfCompartments><listOfSpecies><species id="A" compartment="V" initialConcentration="3"/></listOfSpecies>`+
		`<listOfRules><rateRule variable="V">{0.1*V}</rateRule></listOfRules><listOfEvents><event id="e"><trigger>{time > 2}</trigger><listOfEventAssignments><eventAssignment variable="A">{1}</eventAssignment></listOfEventAssignments></event></listOfEvents>`+ends))
	f.Fuzz(func(t *testing.T, text string) {
		files := map[string]string{"p.yaml": tiny["p.yaml"], "p.tsv": tiny["p.tsv"], "o.tsv": tiny["o.tsv"], "c.tsv": tiny["c.tsv"], "d.tsv": tiny["d.tsv"], "m.xml": text}
		loads(t, files, "p.yaml")
	})
}

func FuzzTables(f *testing.F) {
	f.Add(tiny["p.tsv"], tiny["o.tsv"], tiny["c.tsv"], tiny["d.tsv"])
	f.Add("\ufeff"+tiny["p.tsv"], strings.ReplaceAll(tiny["o.tsv"], "\n", "\r\n"), "conditionId\nc0\n", "time,observableId,measurement\n\"1\",a,")
	xml := withMath(f, tiny["m.xml"])
	f.Fuzz(func(t *testing.T, params, observables, conditions, data string) {
		loads(t, map[string]string{"p.yaml": tiny["p.yaml"], "m.xml": xml, "p.tsv": params, "o.tsv": observables, "c.tsv": conditions, "d.tsv": data}, "p.yaml")
	})
}

func FuzzPEtab2Tables(f *testing.F) {
	f.Add(tiny2["p.tsv"], tiny2["o.tsv"], tiny2["c.tsv"], tiny2["e.tsv"], tiny2["d.tsv"])
	f.Add(tiny2["p.tsv"], "observableId\tobservableFormula\tnoiseFormula\tobservablePlaceholders\na\tA*s\t1\ts;\n", "conditionId\ttargetId\ttargetValue\nx\tc\tc^2\n",
		"experimentId\ttime\tconditionId\ne\t-inf\t\ne\t1e300\tx\ne\t1\tx\n", "observableId\texperimentId\ttime\tmeasurement\tobservableParameters\na\te\tinf\t1\t2\n")
	xml := withMath(f, tiny2["m.xml"])
	f.Fuzz(func(t *testing.T, params, observables, conditions, experiments, data string) {
		loads(t, map[string]string{"p.yaml": tiny2["p.yaml"], "m.xml": xml, "p.tsv": params, "o.tsv": observables, "c.tsv": conditions, "e.tsv": experiments, "d.tsv": data}, "p.yaml")
	})
}

func FuzzPEtabFile(f *testing.F) {
	f.Add(tiny["p.yaml"])
	f.Add("parameter_file: [p.tsv]\nproblems: [{}]\nformat_version: 1")
	xml := withMath(f, tiny["m.xml"])
	f.Fuzz(func(t *testing.T, text string) {
		loads(t, map[string]string{"p.yaml": text, "m.xml": xml, "p.tsv": tiny["p.tsv"], "o.tsv": tiny["o.tsv"], "c.tsv": tiny["c.tsv"], "d.tsv": tiny["d.tsv"]}, "p.yaml")
	})
}

// checkLine fails if a message is long, or would not be one line in a terminal.
func checkLine(t *testing.T, err error) {
	t.Helper()
	if m := err.Error(); len(m) > 1000 || strings.ContainsAny(m, "\n\r\x1b\a") {
		t.Errorf("%q", m)
	}
}

// The ends of a fit are read in order, as finite numbers, or not at all.
func FuzzReadEnds(f *testing.F) {
	for _, ends := range []string{
		`{"log_likelihood": -1, "parameters": {"k": 2}, "optimum": true, "slope": 0}`,
		`{"log_likelihood": -1, "parameters": {"k": 2}}, {"log_likelihood": 1, "parameters": {"k": null}}`,
		`{"log_likelihood": null}`, `{}`, `null`, `{"parameters": {"\u001b": 1e999}}`, ``,
	} {
		f.Add(`{"format": "probode fit", "ends": [` + ends + `]}`)
	}
	f.Add(`{"format": "probode fit\n", "ends": 1}`)
	f.Add(`{"format": "probode fit", "ends": [{"log_likelihood": 1}]} x`)
	f.Fuzz(func(t *testing.T, text string) {
		ends, err := ReadEnds(strings.NewReader(text))
		if err != nil {
			checkLine(t, err)
			return
		}
		for i, e := range ends {
			if i > 0 && e.LogLikelihood > ends[i-1].LogLikelihood {
				t.Errorf("%q: end %d is better than the one before", text, i)
			}
			for name, v := range e.Parameters {
				if v-v != 0 {
					t.Errorf("%q: %s is %g", text, name, v)
				}
			}
		}
	})
}

// A prior that is read has a median between its ends, where its density is positive.
func FuzzParsePrior(f *testing.F) {
	for _, seed := range []string{"normal(0, 1)", "lognormal(0; 1)", "uniform(1, 2)", "loguniform(1e-3, 1e3)", "halfcauchy(1)", "gamma(2, 3)", "beta(1, 1)", "exponential(1)",
		"normal 0 1", "uniform(2, 1)", "normal(0, 1e999)", "normal(nan, 1)", "normal(\x1b, \n)", "laplace(0, 1e-300)", "", "("} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, written string) {
		d, err := ParsePrior(written)
		if err != nil {
			checkLine(t, err)
			return
		}
		low, median, high := d.Quantile(0), d.Quantile(0.5), d.Quantile(1)
		if !(low <= median && median <= high) || math.IsNaN(d.LogProb(median)) {
			t.Errorf("%q: from %g over %g to %g, log density %g", written, low, median, high, d.LogProb(median))
		}
	})
}
