package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A study goes on with another number of processors and after an unrelated rebuild: nothing
// of the process or of the build is part of what it says of itself. The noise of the model
// files is a formula.
func TestStudyGoesOnElsewhere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m.yaml": `parameters:
- {parameterId: k, nominalValue: 0.5, lowerBound: 0.01, upperBound: 10, parameterScale: log10}
- {parameterId: s, nominalValue: 0.1, objectivePriorType: gamma, objectivePriorParameters: 2;10}
odes:
- {stateId: x, initialValue: 10, rightHandSide: -k*x}
observables:
- {observableId: y, observableFormula: x, noiseFormula: 0.05 + s*x, observableTransformation: log10}
data: m.csv
`,
		"p.yaml": `parameters:
- {parameterId: k, nominalValue: 0.5, lowerBound: 0.01, upperBound: 10, parameterScale: log10}
- {parameterId: s, nominalValue: 0.1, lowerBound: 0.01, upperBound: 1, parameterScale: log10}
odes:
- {stateId: x, initialValue: 10, rightHandSide: -k*x}
observables:
- {observableId: y, observableFormula: x, noiseFormula: 0.05 + s*x, noiseDistribution: laplace}
data: m.csv
`,
		"m.csv": "time,y\n1,6\n2,3.5\n3,2.2\n4,1.4\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	do := func(program string, processors int, args ...string) {
		t.Helper()
		c := exec.Command(program, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), role+"=quiet", fmt.Sprintf("GOMAXPROCS=%d", processors))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%d processors, %v: %v\n%s", processors, args, err, out)
		}
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	petab, err := filepath.Abs(models + "petab-lynx")
	if err != nil {
		t.Fatal(err)
	}
	other := self
	if !testing.Short() {
		// Without inlining functions have other names and places.
		other = filepath.Join(dir, "other")
		if out, err := exec.Command("go", "build", "-gcflags=-l", "-o", other, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for name, model := range map[string][]string{
		"case": {"-case", "influenza"}, "yaml": {"-model", "m.yaml"}, "laplace": {"p.yaml"}, "petab": {petab},
	} {
		for i, processors := range []int{1, 2, 8} {
			program := self
			if i == 2 {
				program = other
			}
			do(program, processors, append([]string{"sample", "-scheme", "deterministic", "-chains", "2", "-seed", "1", "-quiet",
				"-dir", name, "-draws", fmt.Sprint(20 * (i + 1))}, model...)...)
		}
	}
}
