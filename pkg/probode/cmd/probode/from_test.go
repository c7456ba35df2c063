package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/mcmc/store"
)

// Draws in a table as CmdStan writes it, with other names and lp__ of six digits: the solver that
// made them is judged, and a Jacobian that lp__ lacks is found.
func TestAssessDrawsFromATable(t *testing.T) {
	dir := t.TempDir()
	model := textFile(t, dir, "m.yaml", `
parameters:
  - {parameterId: k, objectivePriorType: logNormal, objectivePriorParameters: 0;1}
  - {parameterId: sd, objectivePriorType: logNormal, objectivePriorParameters: -2;0.5}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 1}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: sd}
data: |
  time,y
  0.5,0.63
  1,0.36
  1.5,0.24
  2,0.11
`)
	study := filepath.Join(dir, "study")
	output(t, "sample", model, "-dir", study, "-draws", "500", "-method", "am0", "-step", "0.05", "-quiet")
	chains, err := store.ReadParameters(study, nil)
	if err != nil {
		t.Fatal(err)
	}
	lp := 0
	for i, name := range chains.Quantities {
		if name == "lp__" {
			lp = i
		}
	}
	for c, draws := range chains.Draws {
		var b strings.Builder
		b.WriteString("# model = decay\nlp__,stepsize__,theta.1,theta.2\n")
		for k, x := range draws {
			fmt.Fprintf(&b, "%.6g,0.1,%.6g,%.6g\n", chains.Generated[c][k][lp]-7, x[0], x[1])
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("stan-%d.csv", c+1)), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"assess", model, "-from", filepath.Join(dir, "stan-*.csv"), "-made-by", "am0,step=0.05", "-rename", "theta.1=k,theta.2=sd", "-quiet"}
	out := output(t, args...)
	if !strings.Contains(out, "lp__: the models agree") || !strings.Contains(out, "AM0 (newton), h = 0.05: the solver's error matters.") {
		t.Error(out)
	}
	if out := output(t, "assess", model, "-from", study, "-made-by", "am0,step=0.05", "-quiet"); !strings.Contains(out, "the solver's error matters.") {
		t.Error(out)
	}
	for want, more := range map[string][]string{
		"there is no column for k: its columns are lp__, stepsize__, theta.1": {"-rename", "theta.2=sd"},
		"-made-by dp5: want a method and its tolerances":                      {"-made-by", "dp5"},
		"-made-by dp5,2: want a method and its tolerances":                    {"-made-by", "dp5,2"},
		"there is no such file":                                               {"-from", filepath.Join(dir, "none-*.csv")},
		"-rename k: want column=parameter":                                    {"-rename", "k"},
	} {
		if err := run(context.Background(), append(args, more...), new(strings.Builder)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v: want %q", more, err, want)
		}
	}
}
