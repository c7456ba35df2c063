package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What follows is said of all commands in docs/json.md: with a status other than 0 there
// is no file, unless an assessment or a fit is interrupted.

// counts is a model that PEtab cannot express, and a model file can.
const counts = `parameters:
  - {parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 5}
odes:
  - {stateId: A, rightHandSide: -k * A, initialValue: 10}
observables:
  - {observableId: n, observableFormula: A, noiseDistribution: poisson}
data: |
  time,n
  1,3
  2,2
`

// inFolder changes to a new folder that contains a file.
func inFolder(t *testing.T, name, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// left returns the names of the files in the working directory.
func left(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// An error leaves no JSON, and prints none.
func TestNoResultsAfterAnError(t *testing.T) {
	inFolder(t, "counts.yaml", counts)
	for _, c := range []struct{ args, want string }{
		{"likelihood -model counts.yaml -rtol 1e-3,1e-4 -json a.json", "-rtol and -atol: want one number each"},
		{"likelihood -model counts.yaml -at k=-800 -json a.json", ""}, // A overflows
		{"solve -model counts.yaml -times 5 -json a.json", "-times: 5 is outside the span"},
		{"fit -model counts.yaml -starts 1 -confidence 2 -profiles -json a.json", "-confidence 2: want a number between 0 and 1"},
	} {
		var out bytes.Buffer
		err := run(context.Background(), strings.Fields(c.args), &out)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", c.args, err, c.want)
		}
		if files := left(t); out.Len() > 0 || files != "counts.yaml" {
			t.Errorf("%s: printed %q, and the files are %s", c.args, &out, files)
		}
	}
}

// A fit that is interrupted writes the searches and profiles that have ended, or nothing,
// and its error leads to the status 130. How fast the machine is is not known, so the time
// before the interrupt grows until the fit is complete.
func TestInterruptedFit(t *testing.T) {
	inFolder(t, "counts.yaml", counts)
	for wait := time.Millisecond; ; wait += wait/2 + time.Millisecond {
		os.Remove("a.json")
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(wait, cancel)
		var out bytes.Buffer
		err := run(ctx, strings.Fields("fit -model counts.yaml -starts 30 -profiles -json a.json"), &out)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("after %v: error %v, want that of an interrupt", wait, err)
		}
		data, readErr := os.ReadFile("a.json")
		if readErr != nil {
			if err == nil || out.Len() > 0 {
				t.Fatalf("after %v: error %v, no file, and printed\n%s", wait, err, &out)
			}
			continue
		}
		var got struct {
			Searches, Failed int
			Ends             []struct {
				LogLikelihood float64 `json:"log_likelihood"`
			}
			Profiles []struct{ Identified bool }
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if n := len(got.Ends); n == 0 || got.Failed != got.Searches-n || len(got.Profiles) > 0 && n < 30 {
			t.Errorf("after %v: %d of %d searches have ended, %d have not, and there are %d profiles", wait, n, got.Searches, got.Failed, len(got.Profiles))
		}
		for i := 1; i < len(got.Ends); i++ {
			if got.Ends[i].LogLikelihood > got.Ends[i-1].LogLikelihood {
				t.Fatalf("after %v: end %d is better than the one before it", wait, i)
			}
		}
		if said := strings.Contains(out.String(), "warning: stopped early; these are the results so far"); said != (err != nil) {
			t.Errorf("after %v: error %v, printed\n%s", wait, err, &out)
		}
		if err == nil {
			if len(got.Profiles) != 1 || !got.Profiles[0].Identified {
				t.Errorf("the complete profiles are %+v", got.Profiles)
			}
			return
		}
	}
}
