package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The whole way, on a model that is quick to solve: answer, page and table.
func TestAssess(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	data := tableFile(t, "time,size\n1,0.27\n2,0.50\n3,0.73\n4,0.88\n")
	page := filepath.Join(t.TempDir(), "out.html")
	file := filepath.Join(t.TempDir(), "logistic.yaml")
	if err := os.WriteFile(file, []byte(`parameters: [{parameterId: r, nominalValue: 1, objectivePriorType: logNormal, objectivePriorParameters: 0;0.5}]
odes: [{stateId: x, rightHandSide: r * x * (1 - x), initialValue: 0.1}]
observables: [{observableId: size, observableFormula: x, noiseFormula: 0.02}]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"assess", "-model", file, "-data", data, "-method", "ab1", "-steps", "0.5,0.125", "-draws", "300", "-out", page, "-quiet"}
	var first string
	for range 2 {
		var out strings.Builder
		if err := run(context.Background(), args, &out); err != nil {
			t.Fatal(err)
		}
		answer := out.String()
		if lines := strings.Split(answer, "\n"); !strings.HasPrefix(lines[0], "AB1: ") || !strings.HasPrefix(lines[1], "Worst: r with AB1, h = 0.5") || !strings.HasPrefix(lines[2], "Use ") || !strings.Contains(answer, page) {
			t.Errorf("printed %s", &out)
		}
		// The same seed, the same answer.
		if first == "" {
			first = answer
		} else if answer != first {
			t.Errorf("answers differ:\n%s\n%s", first, answer)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "<!DOCTYPE html>") || !strings.Contains(string(html), "data:image/png") || !strings.Contains(string(html), "</html>") {
		t.Errorf("page of %d bytes, error %v", len(html), err)
	}
	csv, err := os.ReadFile(strings.TrimSuffix(page, ".html") + ".csv")
	for _, row := range []string{"median bias,\"AB1, h = 0.5\",r,", "sd ratio,\"AB1, h = 0.125\",r,"} {
		if err != nil || strings.Count(string(csv), "\n"+row) != 1 {
			t.Errorf("no row %q among the numbers, error %v\n%s", row, err, csv)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(page), "*.tmp")); left != nil {
		t.Errorf("%v left behind", left)
	}
}

func TestAssessErrors(t *testing.T) {
	data := tableFile(t, pelts)
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(lotka(t, data)[:4], "-steps", "1,zero"), `-steps 1,zero: "zero"`},
		{append(lotka(t, data)[:4], "-steps", "1,-1"), `-steps 1,-1: "-1"`},
		{lotka(t, data, "-threshold", "0"), "-threshold 0"},
		{lotka(t, data, "-confidence", "1"), "-confidence 1"},
		{lotka(t, data, "-confidence", "0.3"), "-confidence 0.3"},
		{lotka(t, data, "-budget", "10x"), "-budget 10x"},
		{lotka(t, data, "-budget", "10m,5m"), "-budget 10m,5m"},
		{lotka(t, data, "-budget", "0"), "-budget 0"},
		{lotka(t, data, "-scheme", "magic", "-alpha", "1"), "magic"},
		{lotka(t, data, "-scheme", "pcn"), "-scheme pcn has no meaning without -alpha"},
		{lotka(t, data, "-scheme", "deterministic", "-alpha", "1"), "uses a solver without noise"},
		{lotka(t, data, "-out", "a.csv"), "-out a.csv: want a name that ends in .html"},
		{lotka(t, data, "-out", "nodir/a.html"), "-out nodir/a.html: there is no folder nodir"},
		{lotka(t, data, "-out", strings.TrimSuffix(data, ".csv")+".html"), "data.csv: this is an input file"},
		{lotka(t, data, "-steps", "1,0.5"), "-step and -steps: give only one of them"},
		{lotka(t, data, "more"), "more and -model"},
		{lotka(t, data)[:4], "set -steps to a list"},
	} {
		var out strings.Builder
		err := assessVerb(context.Background(), c.args, &out)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", c.args, err, c.want)
		}
	}
}

// What the context ends with is said in words, and where the work was.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("interrupt signal received%w", quietly{context.Canceled})) // as signal.NotifyContext has it
	t.Chdir("../../../..")
	study := []string{"-case", "influenza", "-quiet", "-steps", "0.5"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append([]string{"assess"}, study...), "stopped (modes, RK4, h = 0.5)"},
		{append([]string{"sample", "-scheme", "pcn", "-dir", t.TempDir()}, study[:3]...), "stopped"},
		{append([]string{"sample", "-scheme", "deterministic", "-dir", t.TempDir()}, study[:3]...), "stopped at 0 %; run the same command to continue"},
		{[]string{"likelihood", "pkg/probode/model/testdata/pk.yaml"}, "stopped"},
	} {
		var out strings.Builder
		err := run(ctx, c.args, &out)
		if !errors.Is(err, context.Canceled) || err.Error() != c.want {
			t.Errorf("%q: error %v, want %q", c.args, err, c.want)
		}
	}
}

// quietly is an error without words.
type quietly struct{ error }

func (quietly) Error() string   { return "" }
func (q quietly) Unwrap() error { return q.error }

func TestAssessHelp(t *testing.T) {
	var out strings.Builder
	if err := assessVerb(context.Background(), []string{"-help-all"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"-case lynx-hare", "-steps", "MODELFILE.md", "-threshold"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help has no %q:\n%s", want, &out)
		}
	}
}
