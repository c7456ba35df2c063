package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The whole way, on a model that is quick to solve: answer, page and table.
func TestAssess(t *testing.T) {
	data := tableFile(t, "day,size\n1,0.27\n2,0.50\n3,0.73\n4,0.88\n")
	page := filepath.Join(t.TempDir(), "out.html")
	args := []string{"assess", "-problem", "logistic", "-data", data, "-time", "day", "-columns", "size", "-errors", "gaussian(0.02)",
		"-prior", "r=lognormal(0,0.5)", "-fix", "K=1", "-method", "ab1", "-steps", "0.5,0.125", "-draws", "300", "-weighed", "200", "-out", page, "-quiet"}
	var first string
	for range 2 {
		var out strings.Builder
		if err := run(context.Background(), args, &out); err != nil {
			t.Fatal(err)
		}
		answer, _, _ := strings.Cut(out.String(), "h  ")
		if !strings.Contains(out.String(), "AB1 on logistic") || !strings.Contains(answer, "The solver's error") || !strings.Contains(out.String(), page) {
			t.Errorf("printed %s", &out)
		}
		// The same seed, the same answer; only times differ.
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
	if n := strings.Count(string(csv), "\n"); err != nil || n != 1+2*2*1 {
		t.Errorf("%d lines of numbers, error %v", n, err)
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
		{lotka(data, "-steps", "1,zero"), `-steps 1,zero: "zero"`},
		{lotka(data, "-steps", "1,-1"), `-steps 1,-1: "-1"`},
		{lotka(data, "-threshold", "0"), "-threshold 0"},
		{lotka(data, "-weighed", "3"), "-weighed 3"},
		{lotka(data, "-scheme", "magic"), "magic"},
		{lotka(data, "-out", "a.csv"), "-out a.csv"},
		{lotka(data, "-workers", "-1"), "-workers -1"},
		{lotka(data, "more"), `"more" is not a flag`},
		{lotka(data)[:len(lotka(data))-2], "-steps: want a list"},
	} {
		var out strings.Builder
		err := assess(context.Background(), c.args, &out)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", c.args, err, c.want)
		}
	}
}

func TestAssessHelp(t *testing.T) {
	var out strings.Builder
	if err := assess(context.Background(), []string{"-help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"-case lynx-hare", "-steps", "lotka-volterra-20", "-threshold", "halfnormal"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help has no %q:\n%s", want, &out)
		}
	}
}
