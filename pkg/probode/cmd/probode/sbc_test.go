package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command writes the figure and the ranks, the same ones for any number of
// workers, and finds the paper's scheme out: a correct one would be by chance in
// one of a hundred runs, and this run has a fixed seed.
func TestSBC(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	var tables []string
	for _, workers := range []string{"1", "2"} {
		file := filepath.Join(t.TempDir(), "sbc.html")
		var out strings.Builder
		err := sbcVerb(context.Background(), []string{"-scheme", "paper", "-sets", "60", "-ranks", "9", "-quiet", "-workers", workers, "-out", file}, &out)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"paper: 60 data sets, ranks 0 to 9", "paper: the ranks of log_lik are not uniform"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
		page, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(page), "simultaneous 95 % bands") {
			t.Errorf("page of %d bytes, %v", len(page), err)
		}
		table, err := os.ReadFile(strings.TrimSuffix(file, ".html") + ".csv")
		if err != nil || strings.Count(string(table), "\n") != 1+4*60 || !strings.HasPrefix(string(table), "scheme,quantity,set,rank,ranks\npaper,rate,1,") {
			t.Errorf("table %.80q, %v", table, err)
		}
		tables = append(tables, string(table))
	}
	if tables[0] != tables[1] {
		t.Error("the ranks depend on the number of workers")
	}
}

func TestSBCAndSpeedErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"-scheme gibbs: want all, deterministic, nuts": {"-scheme", "gibbs"},
		"-sets 0: want a number":                       {"-sets", "0"},
		"-ranks -1: want a number":                     {"-ranks", "-1"},
		"-ranks 1: want a number from 3":               {"-ranks", "1"},
		"-sets 1000001: want a number":                 {"-sets", "1000001"},
		"-workers -1: want a number":                   {"-workers", "-1"},
		"-out nodir/a.png: there is no folder nodir":   {"-out", "nodir/a.png"},
		"-out a.pdf: want a name that ends in":         {"-out", "a.pdf"},
		`"pcn" is not a flag`:                          {"pcn"},
	} {
		err := sbcVerb(context.Background(), args, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}
