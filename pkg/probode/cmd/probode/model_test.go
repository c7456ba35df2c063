package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// parsed returns the model of a command line.
func parsed(t *testing.T, args ...string) (*model, *bayes.Posterior, error) {
	t.Helper()
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	m := newModel(flags)
	if err := parse(flags, args, manual{}, new(strings.Builder)); err != nil {
		return m, nil, err
	}
	p, err := m.build()
	return m, p, err
}

// tableFile writes a file of data and returns its path.
func tableFile(t *testing.T, text string) string {
	t.Helper()
	return textFile(t, t.TempDir(), "data.csv", text)
}

// textFile writes a file into dir and returns its path.
func textFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// lynx is a model file without data, and pelts a table for it.
const (
	lynx = `name: lynx
time: {variable: year, start: 1900}
parameters:
  - {parameterId: a, nominalValue: 0.5, lowerBound: 0, objectivePriorType: normal, objectivePriorParameters: 1;0.5}
  - {parameterId: sigma, nominalValue: 0.2, objectivePriorType: logNormal, objectivePriorParameters: -1;1}
odes:
  - {stateId: prey, rightHandSide: a * prey - 0.03 * prey * predator, initialValue: 30}
  - {stateId: predator, rightHandSide: 0.02 * prey * predator - 0.5 * predator, initialValue: 4}
observables:
  - {observableId: hare, observableFormula: prey, observableTransformation: log, noiseFormula: sigma}
  - {observableId: lynx, observableFormula: predator, observableTransformation: log, noiseFormula: sigma}
`
	pelts = "year,hare,lynx\n1900,30,4\n1901,47.2,6.1\n1902,70.2,9.8\n"
)

// lotka returns flags for that model with data, and more flags.
func lotka(t *testing.T, data string, more ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lynx.yaml")
	if err := os.WriteFile(file, []byte(lynx), 0o644); err != nil {
		t.Fatal(err)
	}
	return append([]string{"-model", file, "-data", data, "-step", "0.5"}, more...)
}

// Data of another file, by columns of other names.
func TestModelData(t *testing.T) {
	data := tableFile(t, pelts)
	_, p, err := parsed(t, lotka(t, data, "-method", "am1,current")...)
	if err != nil {
		t.Fatal(err)
	}
	x := p.Experiments[0]
	if got, want := fmt.Sprint(p.Method, p.StepSize(), p.Alpha, x.Problem.Span, x.Data.Names, x.Data.Y[2]), "AM1 (current) 0.5 0 [1900 1902] [hare lynx] [70.2 9.8]"; got != want {
		t.Errorf("model %s, want %s", got, want)
	}
	other := tableFile(t, strings.Replace(pelts, "year", "t", 1))
	if _, _, err := parsed(t, lotka(t, other)...); err == nil || !strings.Contains(err.Error(), "no column year: want year; the table has t, hare, lynx") {
		t.Error(err)
	}
}

// α of auto is found at the mode, one that was given is left alone.
func TestModelAlpha(t *testing.T) {
	data := tableFile(t, pelts)
	args := lotka(t, data, "-method", "am1")
	m, _, err := parsed(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.posterior(context.Background())
	if err != nil || !(p.Alpha > 0) {
		t.Errorf("alpha %v, error %v", p.Alpha, err)
	}
	m, _, err = parsed(t, append(args, "-alpha", "0")...)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := m.posterior(context.Background()); err != nil || p.Alpha != 0 {
		t.Errorf("alpha %v, error %v", p.Alpha, err)
	}
}

func TestModelOfCase(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	for _, name := range cases.Names() {
		_, p, err := parsed(t, "-case", name, "-step", "0.25")
		if err != nil {
			t.Fatal(err)
		}
		if p.StepSize() != 0.25 || len(p.Params) < 1 {
			t.Errorf("%s: step %g, %d parameters", name, p.StepSize(), len(p.Params))
		}
	}
	_, p, err := parsed(t, "-case", "fitzhugh-nagumo", "-data", filepath.Join(root, "reproduce", "data.csv"), "-method", "ab2", "-alpha", "auto")
	if err != nil || p.Alpha != 0 || p.Method.String() != "AB2" {
		t.Errorf("alpha %v, method %v, error %v", p.Alpha, p.Method, err)
	}
}

// A case has its own method, a model file Radau's unless there is another.
func TestModelMethod(t *testing.T) {
	influenza := []string{"-case", "influenza", "-data", "../../../../notebooks/data/influenza.csv"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{influenza, "RK4"},
		{append(influenza, "-method", "ab2"), "AB2"},
		{lotka(t, tableFile(t, pelts)), "Radau5"},
	} {
		_, p, err := parsed(t, c.args...)
		if err != nil || p.Method.String() != c.want {
			t.Errorf("%q: method %v, error %v, want %s", c.args, p.Method, err, c.want)
		}
	}
}

// The largest counts that are let through are such as mcmc.Settings takes: a
// hundred times the draws, and burn-in, of all chains have room in an int.
func TestCounts(t *testing.T) {
	for _, chains := range []int{1, 4, mcmc.MaxChains} {
		for _, draws := range []int{0, 1, maxDraws} {
			m := &model{chains: chains, draws: draws}
			burnIn := min(math.MaxInt/2/chains, maxDraws)
			if err := m.checkCounts(burnIn); err != nil {
				t.Error(err)
			}
			all := big.NewInt(100 * int64(draws))
			all.Add(all, big.NewInt(int64(burnIn))).Mul(all, big.NewInt(int64(chains)))
			if !all.IsInt64() {
				t.Errorf("%d chains of %d draws: %v iterations", chains, draws, all)
			}
			for want, n := range map[string]int{"-burn-in": burnIn + 1, "-burn-in -1: want a number from 0": -1} {
				if err := m.checkCounts(n); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("burn-in %d: error %v, want %q", n, err, want)
				}
			}
		}
	}
}

// Errors are one line that names the flag, what was given and what is wanted.
func TestModelErrors(t *testing.T) {
	data := tableFile(t, pelts)
	ok := lotka(t, data)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want either a model file or -case"},
		{[]string{"-case", "lynx"}, "-case lynx: want lynx-hare, influenza, fitzhugh-nagumo"},
		{[]string{"-case", "influenza", "-model", "x.yaml"}, "want either a model file or -case"},
		{[]string{"-case", "influenza", "-prior", "a=normal(0,1)"}, "there is no flag -prior: see"},
		{[]string{"-case", "influenza", "-data", "nowhere.csv"}, "-data nowhere.csv:"},
		{[]string{"-case", "influenza", "-data", data}, "no column \""},
		{append(ok, "-data", "nowhere.csv"), "-data: nowhere.csv: cannot be opened"},
		{append(ok, "-method", "am9"), `-method: method "am9": want ab1 to ab5`},
		{append(ok, "-method", "ab2,current"), `-method: method "ab2,current"`},
		{append(ok, "-alpha", "-1"), "-alpha -1: want a number ≥ 0"},
		{append(ok, "-alpha", "normal(0,1)"), "-alpha normal(0,1): want a prior that excludes negative values"},
		{append(ok, "-alpha", "foo"), "-alpha foo: want a number ≥ 0, auto or a prior: want uniform(from,to), normal(mean,sd)"},
		{append(ok, "-alpha", "uniform(-1,1)"), "-alpha uniform(-1,1): want a prior that excludes negative values"},
		{append(ok, "-step", "-1"), "-step -1"},
		{append(ok, "-chains", "0"), "-chains 0"},
		{append(ok, "-chains", "1000001"), "-chains 1000001: want a number from 1 to 1000000"},
		{append(ok, "-draws", "-5"), "-draws -5"},
		{append(ok, "-draws", "1000000001"), "-draws 1000000001: want a number from 0 to 1000000000"},
	} {
		_, _, err := parsed(t, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", c.args, err, c.want)
		}
	}
}

// Flags may stand before, between and after other arguments. After -- there are none.
func TestFlagsAnywhere(t *testing.T) {
	for _, c := range []struct {
		args []string
		n    int
		rest []string
	}{
		{[]string{"-n", "1", "a", "b"}, 1, []string{"a", "b"}},
		{[]string{"a", "-n", "1", "b"}, 1, []string{"a", "b"}},
		{[]string{"a", "b", "-n=1"}, 1, []string{"a", "b"}},
		{[]string{"a", "--", "-n", "--", "b"}, 0, []string{"a", "-n", "--", "b"}},
		{nil, 0, []string{}},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		n := flags.Int("n", 0, "")
		if err := parse(flags, c.args, manual{}, io.Discard); err != nil || *n != c.n || !slices.Equal(flags.Args(), c.rest) {
			t.Errorf("%q: %d, %q, %v", c.args, *n, flags.Args(), err)
		}
	}
}
