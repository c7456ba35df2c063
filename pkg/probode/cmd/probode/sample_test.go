package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

// quickStudy are flags of a study that takes a moment.
var quickStudy = []string{"-case", "influenza", "-data", "../../../../notebooks/data/influenza.csv", "-scheme", "deterministic",
	"-step", "0.5", "-chains", "3", "-burn-in", "300", "-draws", "50", "-quiet"}

func runCommand(t *testing.T, f func(context.Context, []string, io.Writer) error, args ...string) string {
	t.Helper()
	var out strings.Builder
	if err := f(context.Background(), args, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSample(t *testing.T) {
	dir := t.TempDir()
	whole, merged := filepath.Join(dir, "whole"), filepath.Join(dir, "merged")
	if out := runCommand(t, sampleVerb, slices.Concat(quickStudy, []string{"-dir", whole})...); !strings.HasPrefix(out, "3 of 3 chains in "+whole+"\nthe solver's error shifts no median by more than ") || strings.Count(out, "\n") != 2 {
		t.Errorf("sample says %q", out)
	}
	merging := []string{merged}
	for _, only := range []string{"2", "1,3"} {
		part := filepath.Join(dir, "part "+only)
		runCommand(t, sampleVerb, slices.Concat(quickStudy, []string{"-dir", part, "-chain", only})...)
		merging = append(merging, part)
	}
	runCommand(t, merge, merging...)
	for k := range 3 {
		name := fmt.Sprintf("chain-%d.csv", k+1)
		a, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(merged, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s is not the same when chains run alone", name)
		}
	}

	zarr := filepath.Join(dir, "study.zarr")
	runCommand(t, merge, zarr, merged)
	if info, err := os.Stat(filepath.Join(zarr, "posterior", "gamma", "2.0")); err != nil || info.Size() != 8*50 {
		t.Errorf("the third chain of gamma in a Zarr store: %v, %v", info, err)
	}
	runCommand(t, merge, zarr, merged) // replaces the store
	if err := merge(context.Background(), []string{filepath.Join(dir, "b.zarr"), merged, whole}, io.Discard); err == nil || !strings.Contains(err.Error(), "of only one directory, but 2 directories are given") {
		t.Errorf("two directories: %v", err)
	}

	table := runCommand(t, summary, merged)
	for _, hidden := range []string{"prior_", "log_density", "distuv"} {
		if strings.Contains(table, hidden) {
			t.Errorf("%q in\n%s", hidden, table)
		}
	}
	for _, want := range []string{"bulk ESS", "gamma", "3 chains of 50 draws", "caution: ESS"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in the summary\n%s", want, table)
		}
	}
	if first, _, _ := strings.Cut(table, "\n"); !strings.HasSuffix(first, "R̂") {
		t.Errorf("the summary does not begin with the table: %q", first)
	}
	all := runCommand(t, summary, "-v", merged)
	for _, want := range []string{"scheme: deterministic", "model: influenza", "note: "} {
		if strings.Contains(table, want) || !strings.Contains(all, want) {
			t.Errorf("%q is not only in summary -v:\n%s", want, all)
		}
	}

	// The table, CSV and JSON have the same quantiles.
	file := filepath.Join(dir, "summary.csv")
	var out struct {
		Parameters []map[string]any
	}
	if err := json.Unmarshal([]byte(runCommand(t, summary, "-json", "-", "-out", file, merged)), &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][0] != "parameter" || rows[3][0] != "phi" {
		t.Fatalf("%q, %v", rows, err)
	}
	for k, name := range rows[0] {
		if !strings.HasPrefix(name, "q") {
			continue
		}
		for i, row := range rows[1:] {
			if v, err := strconv.ParseFloat(row[k], 64); err != nil || v != out.Parameters[i][name] {
				t.Errorf("%s of %s is %v in JSON, and %s in CSV", name, row[0], out.Parameters[i][name], row[k])
			}
		}
	}
	page := filepath.Join(dir, "summary.html")
	runCommand(t, summary, "-out", page, "-case", "influenza", merged)
	if text, err := os.ReadFile(page); err != nil || strings.Count(string(text), "<img") != 3 {
		t.Errorf("a page with %d figures, want predictions, pairs and traces: %v", strings.Count(string(text), "<img"), err)
	}
}

// TestSampleStops interrupts at once: what there is goes on later.
// What is said of several modes, at the end.
func TestSampleModes(t *testing.T) {
	out := runCommand(t, sampleVerb, "-case", "dragons", "-step", "0.5", "-scheme", "deterministic", "-draws", "200", "-dir", filepath.Join(t.TempDir(), "runs"), "-quiet")
	for _, want := range []string{"4 of 4 chains", "beta0 = 49.11, beta1 = 4.911", "0.0689", "phantom", "reference", "only once"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestSampleStops(t *testing.T) {
	dir := t.TempDir()
	args := slices.Concat(quickStudy, []string{"-draws", "10000", "-dir", dir})
	ctx, stop := context.WithCancel(context.Background())
	watch := make(chan struct{})
	go func() { // until there is a state on the disk
		defer close(watch)
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "chain-3.state")); err == nil {
				stop()
			}
		}
	}()
	var out strings.Builder
	err := sampleVerb(ctx, args, &out)
	stop()
	<-watch
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "; run the same command to continue") {
		t.Fatal(err)
	}
	if err := summary(context.Background(), []string{dir}, &out); err != nil && !strings.Contains(err.Error(), "no draws yet") || err == nil && !strings.Contains(out.String(), "not finished") {
		t.Errorf("summary of what is not finished: %v\n%s", err, &out)
	}
	if out := runCommand(t, sampleVerb, args...); !strings.HasPrefix(out, "continuing at ") {
		t.Errorf("sample says %q", out)
	}
}

// TestSampleExtends asks a finished study for more draws.
func TestSampleExtends(t *testing.T) {
	dir, want := t.TempDir(), t.TempDir()
	runCommand(t, sampleVerb, slices.Concat(quickStudy, []string{"-dir", dir})...)
	longer := []string{"-draws", "80", "-dir"}
	runCommand(t, sampleVerb, slices.Concat(quickStudy, longer, []string{dir})...)
	runCommand(t, sampleVerb, slices.Concat(quickStudy, longer, []string{want})...)
	for k := range 3 {
		name := fmt.Sprintf("chain-%d.csv", k+1)
		a, errA := os.ReadFile(filepath.Join(dir, name))
		b, errB := os.ReadFile(filepath.Join(want, name))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s is not that of a run of 80 draws: %v, %v", name, errA, errB)
		}
	}
	err := sampleVerb(context.Background(), slices.Concat(quickStudy, []string{"-dir", dir}), new(strings.Builder))
	if err == nil || !strings.Contains(err.Error(), "num_samples is 80 in the file and 50 now): a study can be extended, but not shortened") {
		t.Errorf("fewer draws: %v", err)
	}
}

func TestSampleErrors(t *testing.T) {
	with := func(more ...string) []string { return slices.Concat(quickStudy, []string{"-dir", t.TempDir()}, more) }
	for _, test := range []struct {
		args []string
		want string
	}{
		{quickStudy, "-dir: want a directory"},
		{with("-chain", "4"), "-chain 4: want distinct numbers from 1 to 3"},
		{with("-chain", "1,1"), "-chain 1,1: want"},
		{with("-chain", "0"), "-chain 0: want"},
		{with("-scheme", "hmc"), "-scheme hmc: want deterministic, nuts, "},
		{with("-burn-in", "-1"), "-burn-in -1: want a number from 0 to "},
		{with("more"), "want either a model file or -case"},
		{with("-nonsense"), "-nonsense"},
	} {
		err := sampleVerb(context.Background(), test.args, new(strings.Builder))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", test.args, err, test.want)
		}
	}
	if err := merge(context.Background(), []string{t.TempDir()}, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "give the new directory first") {
		t.Errorf("merge of nothing: %v", err)
	}
	if err := summary(context.Background(), []string{t.TempDir()}, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "no files called chain-1.csv") {
		t.Errorf("summary of nothing: %v", err)
	}
}

// TestSamplers takes each name to the scheme with that name.
func TestSamplers(t *testing.T) {
	for _, s := range samplers {
		if got, err := samplerNamed(samplerName(s)); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s is %v, %v", samplerName(s), got, err)
		}
	}
}

// Without -draws a study goes on until all parameters have enough effective draws, and says
// what they have. It is the study of the same number of draws; the same command finds it
// complete.
func TestSampleUntilEnough(t *testing.T) {
	dir := t.TempDir()
	open, fixed := filepath.Join(dir, "open"), filepath.Join(dir, "fixed")
	args := []string{"-case", "influenza", "-scheme", "deterministic", "-chains", "2", "-quiet", "-dir"}
	first := runCommand(t, sampleVerb, append(args, open)...)
	chains, err := store.Read(open)
	if err != nil {
		t.Fatal(err)
	}
	n := len(chains.Draws[0])
	if n%firstDraws != 0 || !strings.HasPrefix(first, "2 of 2 chains in "+open+"\n"+fmt.Sprint(n)+" draws from each chain: at least ") || strings.Contains(first, "caution") {
		t.Errorf("%d draws, and sample says %q", n, first)
	}
	for _, m := range chains.Summary() {
		if !(m.BulkESS >= 400 && m.TailESS >= 400 && m.RHat < 1.01) {
			t.Errorf("%s has %.0f and %.0f effective draws and R̂ %.3f", m.Name, m.BulkESS, m.TailESS, m.RHat)
		}
	}
	if again := runCommand(t, sampleVerb, append(args, open)...); again != first {
		t.Errorf("sample says %q, once more %q", first, again)
	}
	runCommand(t, sampleVerb, append(args, fixed, "-draws", fmt.Sprint(n))...)
	for _, name := range []string{"chain-1.csv", "chain-2.csv"} {
		a, _ := os.ReadFile(filepath.Join(open, name))
		b, err := os.ReadFile(filepath.Join(fixed, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from that of a study of %d draws: %v", name, n, err)
		}
	}
}

// Without flags for the solver and the scheme both are chosen, and one line says which. The same
// command finds the study complete. A model file starts at its nominal point or at the ends
// of a fit.
func TestSampleChooses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	dir := t.TempDir()
	write := func(name, text string) string { return textFile(t, dir, name, text) }
	write("counts.csv", "time,bacteria\n0,1.1\n1,2.0\n2,4.6\n3,9.8\n4,18\n6,39\n8,47\n")
	file := write("growth.yaml", `name: growth
parameters:
  - {parameterId: rate, nominalValue: 0.8, lowerBound: 0.01, upperBound: 10, parameterScale: log10}
  - {parameterId: capacity, nominalValue: 50, lowerBound: 1, upperBound: 1000, parameterScale: log10}
odes:
  - {stateId: N, rightHandSide: rate * N * (1 - N / capacity), initialValue: 1}
observables:
  - {observableId: bacteria, observableFormula: N, noiseFormula: 0.5}
data: counts.csv
`)
	fit := write("fit.json", `{"format": "probode fit", "ends": [{"log_likelihood": -5, "parameters": {"rate": 0.79, "capacity": 48}, "optimum": true}],
		"profiles": [{"parameter": "rate"}, {"parameter": "capacity", "upper_open": true}]}`)
	for i, flags := range [][]string{{"-case", "pk-mm"}, {"-model", file, "-start", "nominal"}, {"-model", file, "-start", fit}} {
		args := slices.Concat(flags, []string{"-chains", "2", "-quiet", "-dir", filepath.Join(dir, fmt.Sprint(i))})
		first := runCommand(t, sampleVerb, args...)
		for _, want := range []string{"Sampler: tempering (", ". Solver: " + catalog.Default().Method.String() + ", rtol = 1e-06.", "2 of 2 chains", "the solver's error shifts no median by more than 0.000"} {
			if !strings.Contains(first, want) {
				t.Errorf("%v: no %q in\n%s", flags, want, first)
			}
		}
		if named := strings.Contains(first, "fit.json, the data do not determine capacity. "); named != (i == 2) {
			t.Errorf("%v: names capacity as not determined: %v\n%s", flags, named, first)
		}
		if again := runCommand(t, sampleVerb, args...); again != first {
			t.Errorf("%v: sample says\n%s\nonce more\n%s", flags, first, again)
		}
	}
	for want, flags := range map[string][]string{
		"want prior: all other values require -model": {"-case", "pk-mm", "-start", "nominal"},
		"the file was not written by fit -json":       {"-model", file, "-start", file},
	} {
		err := sampleVerb(context.Background(), slices.Concat(flags, []string{"-dir", filepath.Join(dir, "none")}), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", flags, err, want)
		}
	}
}

// The data show only that a rate is above about 3; its bound is 10000. An explicit method on
// a grid for the mode would be unstable for most of these rates. A share of draws above 200 near that of quadrature shows it: 0.1 are three
// standard errors of 200 effective draws. The profile of the rate is open.
func TestSampleReachesTheBound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	dir := t.TempDir()
	textFile(t, dir, "level.csv", "time,level\n1,0.99\n2,1.02\n3,1.01\n4,0.98\n5,1.00\n")
	file := textFile(t, dir, "filling.yaml", `name: filling
parameters:
  - {parameterId: rate, nominalValue: 5, lowerBound: 0.1, upperBound: 10000, parameterScale: log10}
odes:
  - {stateId: x, rightHandSide: rate * (1 - x), initialValue: 0}
observables:
  - {observableId: level, observableFormula: x, noiseFormula: 0.02}
data: level.csv
`)
	run := filepath.Join(dir, "run")
	runCommand(t, sampleVerb, "-model", file, "-start", "nominal", "-draws", "200", "-quiet", "-dir", run)
	chains, err := store.Read(run)
	if err != nil {
		t.Fatal(err)
	}
	var above, draws, mass, all float64
	for _, x := range chains.Pooled() {
		draws++
		if x[0] > 200 {
			above++
		}
	}
	for u := math.Log(0.1); u < math.Log(10000); u += 1e-3 {
		ll := 0.
		for i, y := range []float64{0.99, 1.02, 1.01, 0.98, 1} {
			z := (y - 1 + math.Exp(-math.Exp(u)*float64(i+1))) / 0.02
			ll -= z * z / 2
		}
		if all += math.Exp(ll); u > math.Log(200) {
			mass += math.Exp(ll)
		}
	}
	if got, want := above/draws, mass/all; !(math.Abs(got-want) < 0.1) {
		t.Errorf("%.3f of the draws are above 200, want %.3f", got, want)
	}

	flags := flag.NewFlagSet("sample", flag.ContinueOnError)
	m := newModel(flags)
	var words strings.Builder
	if err := flags.Parse([]string{"-model", file}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.build(); err != nil {
		t.Fatal(err)
	}
	(&sampleRun{model: m, out: &words}).profile(context.Background())
	if !strings.Contains(words.String(), "The data do not determine rate: ") {
		t.Errorf("the profiles say\n%s", words.String())
	}
}

// Where the best mode has no Gaussian shape, because the data say nothing about p, -start
// nominal makes the chains begin at the nominal parameters, and says so. At draws from the
// prior all four first values of p would be below 100 with a probability of 4e-5. A point at
// which the equations cannot be solved is refused.
func TestSampleStartsAtNominal(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const yaml = `parameters:
  - {parameterId: k, nominalValue: 0.5, objectivePriorType: logNormal, objectivePriorParameters: 0;1}
  - {parameterId: p, nominalValue: 12.5, objectivePriorType: normal, objectivePriorParameters: 0;1000}
odes:
  - {stateId: x, rightHandSide: -k * x * (1 + 1e-9 * p), initialValue: 2}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.05}
data: d.csv
`
	write("d.csv", "time,y\n1,1.25\n2,0.74\n")
	args := []string{"-method", "rk4", "-step", "0.1", "-scheme", "deterministic", "-start", "nominal", "-burn-in", "1", "-draws", "1", "-quiet"}
	run := filepath.Join(dir, "run")
	const note = "the chains start at the points given by -start, because no Gaussian approximation around the best mode was found"
	if out := runCommand(t, sampleVerb, slices.Concat(args, []string{"-model", write("flat.yaml", yaml), "-dir", run})...); !strings.Contains(out, note) {
		t.Errorf("no note in\n%s", out)
	}
	chains, err := store.Read(run)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range chains.Parameter(1) {
		if math.Abs(x[0]) > 100 {
			t.Errorf("chain %d: the first p is %g: want a value near 12.5", i+1, x[0])
		}
	}
	file := write("never.yaml", strings.Replace(yaml, "initialValue: 2", "initialValue: sqrt(k - 0.6)", 1))
	err = sampleVerb(context.Background(), slices.Concat(args, []string{"-model", file, "-dir", filepath.Join(dir, "none")}), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no start was found for chain 1 in 100 tries") || strings.Contains(err.Error(), "\n") {
		t.Errorf("from a point without a solution: %v", err)
	}
}

// The summary for programs has the numbers of the table.
func TestSummaryJSON(t *testing.T) {
	dir := t.TempDir()
	runCommand(t, sampleVerb, slices.Concat(quickStudy, []string{"-dir", dir})...)
	var got struct {
		Format     string
		Parameters []struct {
			Name     string
			Mean, SD float64
			Q025     float64 `json:"q2.5"`
			Q50      float64
			Q975     float64 `json:"q97.5"`
			RHat     float64 `json:"rhat"`
			ESSBulk  float64 `json:"ess_bulk"`
			ESSTail  float64 `json:"ess_tail"`
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(runCommand(t, summary, dir, "-json", "-")), &got); err != nil {
		t.Fatal(err)
	}
	chains, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range chains.Summary() {
		p := got.Parameters[i]
		if p.Name != m.Name || p.Mean != m.Mean || p.SD != m.SD || p.RHat != m.RHat || p.ESSBulk != m.BulkESS || p.ESSTail != m.TailESS || p.Q025 != m.Q025 || p.Q50 != m.Median || p.Q975 != m.Q975 {
			t.Errorf("%+v for %+v", p, m)
		}
	}
	if got.Format != "probode summary" || len(got.Warnings) == 0 {
		t.Errorf("format %q and %d warnings", got.Format, len(got.Warnings))
	}
}

// The data say nothing about k, whose prior is a half-Cauchy distribution: k has no mean, and
// summary says so. The parameter a is known well. With 4000 independent
// draws the tail index of k would be 0.98 ± 0.15; a caution is missing if it is below 0.51,
// which happens less than once in a hundred runs.
func TestSummaryOfHeavyTails(t *testing.T) {
	file := textFile(t, t.TempDir(), "m.yaml", `name: heavy
parameters:
  - {parameterId: k, nominalValue: 1, objectivePriorType: halfCauchy, objectivePriorParameters: 1}
  - {parameterId: a, nominalValue: 7, objectivePriorType: normal, objectivePriorParameters: 5;10}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: a}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 1}
data: |
  time,y
  0,7
`)
	dir := filepath.Join(t.TempDir(), "run")
	runCommand(t, sampleVerb, "-model", file, "-draws", "1000", "-dir", dir, "-quiet")
	for _, args := range [][]string{{dir}, {dir, "-json", "-"}} {
		text := runCommand(t, summary, args...)
		if strings.Count(text, "the tails of k are so heavy") != 1 || strings.Contains(text, "the tails of a ") {
			t.Errorf("%v:\n%s", args, text)
		}
	}
}

// The likelihood tends to a positive constant as k goes to infinity, so k has no mean. Few
// draws are in this tail, but sample looks for it with the model.
func TestSampleOfUnseenTail(t *testing.T) {
	file := textFile(t, t.TempDir(), "m.yaml", `name: switch
parameters:
  - {parameterId: T, nominalValue: 5, objectivePriorType: normal, objectivePriorParameters: 5;3}
  - {parameterId: k, nominalValue: 1, objectivePriorType: halfCauchy, objectivePriorParameters: 1}
odes:
  - {stateId: x, rightHandSide: "piecewise(k, time > T, 0) * (1 - x)", initialValue: 0}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.1}
data: |
  time,y
  1,.0618
  2,-.005
  3,-.0851
  4,.0135
  5,.207
  6,.6839
  7,.7081
  8,1.0887
  9,1.0366
`)
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"-model", file, "-scheme", "deterministic", "-start", "nominal", "-draws", "300", "-dir", dir, "-quiet"}
	for _, text := range []string{runCommand(t, sampleVerb, args...), runCommand(t, summary, dir)} {
		if strings.Count(text, "the tails of k are so heavy") != 1 || strings.Contains(text, "the tails of T ") {
			t.Error(text)
		}
	}
}

// A sine observed once in a unit of time looks the same at the frequencies w + 2πk, ten of
// which lie within the bounds. The search finds only some of these modes, and in twenty draws few
// points come from the prior. So sample and summary say that there may be other modes.
// The size of the errors is unknown, which makes many more modes with little mass.
func TestSampleSaysWhatSearchesMissed(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const model = `name: sine
parameters:
  - {parameterId: w, nominalValue: 1, lowerBound: 0.1, upperBound: 60}
  - {parameterId: s, nominalValue: 0.3, lowerBound: 0.01, upperBound: 10, parameterScale: log10}
odes:
  - {stateId: x, rightHandSide: w * v, initialValue: 0}
  - {stateId: v, rightHandSide: -w * x, initialValue: 1}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: s}
data: |
  time,y
  0.0,-0.2874
  1.0,1.3712
  2.0,0.8693
  3.0,-0.6773
  4.0,-0.9767
  5.0,-1.0545
  6.0,0.1227
  7.0,0.8417
  8.0,0.3709
  9.0,-0.2915
`
	file := textFile(t, t.TempDir(), "m.yaml", model)
	dir := filepath.Join(t.TempDir(), "run")
	said := runCommand(t, sampleVerb, "-model", file, "-draws", "20", "-chains", "1", "-dir", dir, "-quiet")
	for _, text := range []string{said, runCommand(t, summary, dir)} {
		if !strings.Contains(text, "caution: there may be modes without draws: ") || !strings.Contains(text, "of further searches that would end in new modes") {
			t.Errorf("no caution:\n%s", text)
		}
	}
}

// What is not enough is said with its numbers; a parameter that did not move is not enough.
func TestSufficient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	c := &mcmc.Chains{Names: []string{"a", "still"}}
	for range 4 {
		var chain [][]float64
		for range 500 {
			chain = append(chain, []float64{rng.NormFloat64(), 1})
		}
		c.Draws = append(c.Draws, chain)
	}
	if enough, hopeless, words := sufficient(c, c.Summary()); enough || hopeless || !strings.Contains(words, "R̂ at most NaN (largest for still)") || !strings.Contains(words, "caution: the draws of still are not sufficient: want 400") {
		t.Errorf("%v, %v, %q", enough, hopeless, words)
	}
	c.Names = c.Names[:1]
	if enough, _, words := sufficient(c, c.Summary()); !enough || !strings.HasPrefix(words, "500 draws from each chain: at least ") || strings.Count(words, "\n") != 1 {
		t.Errorf("%v, %q", enough, words)
	}
	// Chains that never meet have about one effective draw each, however long they are.
	for i, chain := range c.Draws {
		for _, x := range chain {
			x[0] += 100 * float64(i)
		}
	}
	if enough, hopeless, words := sufficient(c, c.Summary()); enough || !hopeless || !strings.Contains(words, "the draws of a are not sufficient: ") {
		t.Errorf("%v, %v, %q", enough, hopeless, words)
	}
}

// Without -scheme the sampler is chosen, with -alpha it is that of the paper.
func TestSampleDefault(t *testing.T) {
	dir := t.TempDir()
	quick := []string{"-case", "pk-mm", "-step", "0.5", "-chains", "2", "-burn-in", "50", "-draws", "10", "-quiet"}
	for i, c := range []struct {
		flags []string
		want  string
	}{
		{nil, "tempering"},
		{[]string{"-alpha", "0.1"}, "hamiltonian"},
		{[]string{"-alpha", "0.1", "-scheme", "deterministic"}, "deterministic"},
	} {
		out := filepath.Join(dir, fmt.Sprint(i))
		runCommand(t, sampleVerb, slices.Concat(quick, c.flags, []string{"-dir", out})...)
		if got := runCommand(t, summary, "-v", out); !strings.Contains(got, "\nscheme: "+c.want) {
			t.Errorf("%v: no %s in\n%s", c.flags, c.want, got)
		}
	}
}

// α can have a prior with a model file, too, wherever the chains start. It is then the last
// parameter, and within the support of its prior.
func TestPriorOfAlphaWithModel(t *testing.T) {
	inFolder(t, "counts.yaml", counts)
	output(t, "fit", "-model", "counts.yaml", "-starts", "2", "-json", "fit.json")
	for i, start := range [][]string{nil, {"-start", "nominal"}, {"-start", "fit.json"}, {"-start", "prior"}} {
		dir := fmt.Sprint("run", i)
		output(t, append([]string{"sample", "-model", "counts.yaml", "-method", "dp5", "-alpha", "uniform(0.1,0.2)", "-scheme", "pcn", "-draws", "50", "-burn-in", "20", "-chains", "1", "-quiet", "-dir", dir}, start...)...)
		chains, err := store.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(chains.Names, []string{"k", "alpha"}) || len(chains.Draws[0]) != 50 {
			t.Errorf("%v: %d draws of %v", start, len(chains.Draws[0]), chains.Names)
		}
		for _, x := range chains.Draws[0] {
			if !(x[0] >= 0.1 && x[0] <= 5 && x[1] >= 0.1 && x[1] <= 0.2) {
				t.Errorf("%v: a draw is %v", start, x)
				break
			}
		}
	}
	// An assessment from the end points of a fit begins at the median of the prior.
	if out := output(t, "assess", "-model", "counts.yaml", "-method", "dp5", "-rtol", "1e-2", "-draws", "100", "-chains", "1", "-quiet", "-scheme", "pcn", "-alpha", "uniform(0.1,0.2)", "-start", "fit.json"); !strings.Contains(out, "rtol = 0.01") {
		t.Errorf("an assessment:\n%s", out)
	}
}

// Without -draws the time limit holds for the search for modes too.
func TestSampleSearchIsLimited(t *testing.T) {
	for _, scheme := range []string{"", "deterministic"} {
		r := sampleRun{out: io.Discard, patience: time.Millisecond}
		args := []string{"-case", "lynx-hare", "-dir", t.TempDir(), "-scheme", scheme}
		if scheme == "" {
			args = args[:4]
		}
		if err := r.run(t.Context(), args); err == nil || !strings.Contains(err.Error(), "has not ended within 1ms") {
			t.Errorf("scheme %q: error %v", scheme, err)
		}
	}
}
