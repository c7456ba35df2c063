package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode/mcmc/store"
)

// In both models x′ = −k x is observed with so much noise that an explicit method on a grid
// for the mode gives a wrong posterior. In the first, the prior has a long tail, and the
// method is unstable at large k, where the posterior seems to end. In the second, the
// method has a mode near k = 2.2, to which all chains go. The shares of draws below
// quantiles from quadrature are right: 0.08 are four standard errors of 600 effective
// draws, of which there are more.
func TestSampleIsStable(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	times := [2][]float64{{3, 10}, {3, 6, 7, 9, 10, 10}}
	values := [2][]float64{{4.640329327273352, 3.963964779914148}, {0, 14, 46, 301, 5, 15}}
	models := [2]string{`parameters: [{parameterId: k, nominalValue: 0.3, objectivePriorType: halfCauchy, objectivePriorParameters: 1}]
odes: [{stateId: x, rightHandSide: -k * x, initialValue: 10}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 3}]
`, `parameters: [{parameterId: k, nominalValue: 0.3, lowerBound: 0, upperBound: 5}]
odes: [{stateId: x, rightHandSide: -k * x, initialValue: 500}]
observables: [{observableId: y, observableFormula: x, noiseDistribution: negativeBinomial, noiseFormula: 0.5}]
`}
	logs := [2]func(k float64) float64{func(k float64) float64 {
		sum := -math.Log1p(k * k)
		for i, at := range times[0] {
			sum -= math.Pow((values[0][i]-10*math.Exp(-k*at))/3, 2) / 2
		}
		return sum
	}, func(k float64) float64 {
		if k > 5 {
			return math.Inf(-1)
		}
		sum := 0.0
		for i, at := range times[1] {
			m := 500 * math.Exp(-k*at)
			sum += values[1][i]*math.Log(m) - (values[1][i]+0.5)*math.Log(m+0.5)
		}
		return sum
	}}
	for i, text := range models {
		dir := t.TempDir()
		text += "data: |\n  time,y\n"
		for j, at := range times[i] {
			text += fmt.Sprintf("  %v,%v\n", at, values[i][j])
		}
		file, run := textFile(t, dir, "m.yaml", text), filepath.Join(dir, "run")
		if out := runCommand(t, sampleVerb, "-model", file, "-draws", "250", "-quiet", "-dir", run); !strings.Contains(out, "the solver's error shifts no median") {
			t.Errorf("model %d: %s", i, out)
		}
		chains, err := store.Read(run)
		if err != nil {
			t.Fatal(err)
		}
		const step = 1e-3
		var mass []float64
		all := 0.0
		for u := math.Log(1e-6); u < math.Log(1e6); u += step {
			all += math.Exp(logs[i](math.Exp(u)) + u)
			mass = append(mass, all)
		}
		for _, p := range []float64{0.16, 0.5, 0.84} {
			k, below := 0, 0.0
			for mass[k] < p*all {
				k++
			}
			draws := chains.Pooled()
			for _, x := range draws {
				if math.Log(x[0]) < math.Log(1e-6)+step*float64(k) {
					below += 1 / float64(len(draws))
				}
			}
			if math.Abs(below-p) > 0.08 {
				t.Errorf("model %d: a share %.3f of the draws is below the %g-quantile", i, below, p)
			}
		}
	}
}

// The size of the errors is unknown and some data are below the limit of quantification, so
// that rates far above the mode are possible. The share of draws with k above 4.3 is that of
// quadrature: 0.05 are four standard errors of 600 effective draws, of which there are more.
// With an explicit method on a grid for the mode hardly any draw is above 4.3.
func TestSampleReachesLargeRates(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	times := []float64{2, 2, 2, 5, 5, 6, 7, 7, 7, 8}
	values := []float64{0.718444, 0.929842, 0.711301, -0.172021, -3.291593, 0.102683, -0.455642, 0.552493, 0.432318, 1.348482}
	dir := t.TempDir()
	text := `parameters:
  - {parameterId: k, nominalValue: 0.3, objectivePriorType: halfNormal, objectivePriorParameters: 3}
  - {parameterId: b, nominalValue: 1, objectivePriorType: halfCauchy, objectivePriorParameters: 2}
odes: [{stateId: x, rightHandSide: -k * x, initialValue: 3}]
observables: [{observableId: y, observableFormula: x, noiseFormula: b, lowerLimit: 0.5}]
data: |
  time,y
`
	for i, at := range times {
		text += fmt.Sprintf("  %v,%v\n", at, values[i])
	}
	file, run := textFile(t, dir, "m.yaml", text), filepath.Join(dir, "run")
	runCommand(t, sampleVerb, "-model", file, "-draws", "250", "-quiet", "-dir", run)
	const large = 4.3
	var above, all float64
	for k := 0.005; k < 15; k += 0.01 {
		for b := 0.05; b < 8; b += 0.02 {
			density := -k*k/18 - math.Log1p(b*b/4)
			for i, at := range times {
				z := (values[i] - 3*math.Exp(-k*at)) / b
				if values[i] > 0.5 {
					density -= z*z/2 + math.Log(b)
				} else {
					density += math.Log(math.Erfc(-(0.5-3*math.Exp(-k*at))/b/math.Sqrt2) / 2)
				}
			}
			p := math.Exp(density)
			if all += p; k > large {
				above += p
			}
		}
	}
	chains, err := store.Read(run)
	if err != nil {
		t.Fatal(err)
	}
	share, draws := 0.0, chains.Pooled()
	for _, x := range draws {
		if x[0] > large {
			share += 1 / float64(len(draws))
		}
	}
	if math.Abs(share-above/all) > 0.05 {
		t.Errorf("a share %.3f of the draws is above %g: want %.3f", share, large, above/all)
	}
}

// With such small errors of measurement the default tolerance is not enough: the draws are
// made again with a tenth of it, and the command says so. A run that is stopped after that
// continues with the smaller tolerance, to the same files. The draws agree with the closed
// form: k is normal with mean −log(0.5)/1 and standard deviation 0.02 sd, 3 standard errors of
// 200 effective draws are 0.2 of it. A tolerance that the user gives is kept.
func TestSampleAgainWithSmallerTolerance(t *testing.T) {
	const sd = 2e-7
	dir := t.TempDir()
	file := textFile(t, dir, "m.yaml", fmt.Sprintf(`parameters: [{parameterId: k, nominalValue: 0.7, lowerBound: 0.5, upperBound: 1}]
odes: [{stateId: x, rightHandSide: -k * x, initialValue: 100}]
observables: [{observableId: y, observableFormula: x, noiseFormula: %g}]
data: |
  time,y
  1,50
`, sd))
	run, other := filepath.Join(dir, "run"), filepath.Join(dir, "other")
	args := []string{"-model", file, "-chains", "2", "-draws", "100", "-burn-in", "200", "-quiet", "-dir"}
	out := runCommand(t, sampleVerb, append(args, run)...)
	if !strings.Contains(out, "the draws are made again with rtol = 1e-07") || strings.Contains(out, "caution") || !strings.Contains(out, "the solver's error shifts no median") {
		t.Error(out)
	}
	chains, err := store.Read(run)
	if err != nil {
		t.Fatal(err)
	}
	if m := chains.Summary()[0]; !(math.Abs(m.Mean-math.Ln2) < 0.2*sd/50) || !(m.BulkESS > 100) {
		t.Errorf("%+v, want a mean of %.10f", m, math.Ln2)
	}
	if err := os.MkdirAll(other, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chain-1.csv", "chain-1.state"} {
		content, err := os.ReadFile(filepath.Join(run, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(other, name), content, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out := runCommand(t, sampleVerb, append(args, other)...); strings.Contains(out, "made again") {
		t.Error(out)
	}
	for _, name := range []string{"chain-1.csv", "chain-2.csv"} {
		a, _ := os.ReadFile(filepath.Join(run, name))
		if b, err := os.ReadFile(filepath.Join(other, name)); err != nil || string(a) != string(b) {
			t.Errorf("%s differs, %v", name, err)
		}
	}
	if out := runCommand(t, sampleVerb, append(args, filepath.Join(dir, "given"), "-rtol", "1e-6")...); !strings.Contains(out, "caution: the solver's error shifts a median by about") {
		t.Error(out)
	}
}

// The model `decay` has one parameter and one datum.
const decay = `parameters: [{parameterId: k, nominalValue: 0.5, lowerBound: 0.1, upperBound: 5}]
odes: [{stateId: x, rightHandSide: -k * x, initialValue: 5}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.2}]
data: |
  time,y
  1,3.1
`

// What sample writes at the end about its solver, summary repeats, until the draws are
// deleted and others are made.
func TestSummaryRepeatsTheCaution(t *testing.T) {
	dir := t.TempDir()
	file, run := textFile(t, dir, "m.yaml", decay), filepath.Join(dir, "run")
	runCommand(t, sampleVerb, "-model", file, "-draws", "20", "-quiet", "-dir", run)
	const said = "the draws may be wrong"
	repeats := func(want bool) {
		for _, args := range [][]string{{run}, {"-json", "-", run}} {
			if out := runCommand(t, summary, args...); strings.Contains(out, said) != want {
				t.Errorf("caution %t: %s", want, out)
			}
		}
	}
	for _, cautions := range [][]string{nil, {said}, nil, {"first", said}} {
		if err := writeCautions(run, cautions); err != nil {
			t.Fatal(err)
		}
		repeats(cautions != nil)
	}
	files, err := filepath.Glob(filepath.Join(run, "chain-*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	runCommand(t, sampleVerb, "-model", file, "-scheme", "deterministic", "-draws", "20", "-quiet", "-dir", run)
	repeats(false)
}

// The command that made a study can be repeated where nothing can be written: it makes,
// replaces and removes no file.
func TestRerunWritesNothing(t *testing.T) {
	dir := t.TempDir()
	file := textFile(t, dir, "m.yaml", decay)
	stamps := func(study string) string {
		var b strings.Builder
		if err := filepath.WalkDir(study, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				fmt.Fprintln(&b, path, info.ModTime().UnixNano())
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for what, flags := range map[string][]string{
		"a given scheme": {"-scheme", "deterministic"},
		"a chosen one":   nil,
		"one chain":      {"-scheme", "deterministic", "-chain", "2"},
	} {
		study := filepath.Join(dir, what)
		args := append([]string{"-model", file, "-draws", "20", "-chains", "2", "-quiet", "-dir", study}, flags...)
		runCommand(t, sampleVerb, args...)
		before := stamps(study)
		time.Sleep(20 * time.Millisecond) // longer than a tick of the file system's clock
		runCommand(t, sampleVerb, args...)
		if after := stamps(study); after != before {
			t.Errorf("%s: before\n%safter\n%s", what, before, after)
		}
	}
	if err := writeCautions(dir, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	before := stamps(dir)
	time.Sleep(20 * time.Millisecond)
	if err := writeCautions(dir, []string{"a", "b"}); err != nil || stamps(dir) != before {
		t.Errorf("the same cautions are written again, %v", err)
	}
}

// Each process of a study that is split with -chain checks the solver at the draws of its
// own chains, and merge keeps the cautions of all processes.
func TestSplitStudyKeepsTheCaution(t *testing.T) {
	dir := t.TempDir()
	file := textFile(t, dir, "m.yaml", decay)
	one, two, all := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "all")
	args := []string{"-model", file, "-draws", "20", "-chains", "3", "-quiet"}
	for part, chains := range map[string]string{one: "1,3", two: "2"} {
		out := runCommand(t, sampleVerb, append(args, "-chain", chains, "-dir", part)...)
		if !strings.Contains(out, "the solver's error shifts no median by more than") {
			t.Errorf("chains %s: the solver was not checked: %s", chains, out)
		}
	}
	const said = "the draws of chain 2 may be wrong"
	if err := writeCautions(two, []string{said}); err != nil {
		t.Fatal(err)
	}
	runCommand(t, sampleVerb, append(args, "-chain", "2", "-dir", two)...) // all draws exist
	runCommand(t, merge, all, one, two)
	if out := runCommand(t, summary, all); strings.Count(out, "caution: "+said) != 1 {
		t.Error(out)
	}
	runCommand(t, merge, all+".zarr", all)
	if content, err := os.ReadFile(filepath.Join(all+".zarr", "posterior", ".zattrs")); err != nil || !strings.Contains(string(content), said) {
		t.Errorf("error %v, or no caution in %s", err, content)
	}
}

// A pulse of width 5e-4 lies between many runs' steps over a span of 10. Without it, k is 2
// and not 1. sample does not say that the solver's error is small, and likelihood says what
// it cannot know.
func TestPulseBetweenTheSteps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pulse.yaml")
	if err := os.WriteFile(file, []byte(`parameters: [{parameterId: k, nominalValue: 1, objectivePriorType: logNormal, objectivePriorParameters: 0;1}]
odes: [{stateId: x, rightHandSide: k*(0.1 + exp(-((time-3.3)/0.0005)^2/2)/(0.0005*2.5066282746)), initialValue: 0}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
data: |
  time,y
  1,0.1
  2,0.2
  5,1.5
  10,2
`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := runCommand(t, sampleVerb, "-model", file, "-rtol", "1e-6", "-draws", "30", "-chains", "2", "-burn-in", "50", "-quiet", "-dir", filepath.Join(t.TempDir(), "run")); !strings.Contains(out, "steps over a feature of f") || strings.Contains(out, "shifts no median") {
		t.Error(out)
	}
	for _, method := range []string{"dp5", "auto"} { // their steps meet this pulse
		if out := runCommand(t, likelihood, "-model", file, "-method", method); !strings.Contains(out, "log-likelihood 5.5345862") {
			t.Error(out)
		}
	}
	if out := runCommand(t, likelihood, "-model", file, "-method", "radau5"); !strings.Contains(out, "if f has no pulse shorter than 1/1000 of the time span") {
		t.Error(out)
	}
}
