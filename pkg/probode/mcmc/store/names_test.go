package store

import (
	"bytes"
	"context"
	"encoding/csv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// The header and a row give back the names of the parameters and of the quantities, whatever
// characters they contain, and each number under its own name: parameter i has the value i,
// and quantity i the value 100 + i. The columns are names that a reader of CSV finds as they
// are, without quotes. Names that differ only in characters that are replaced are refused.
func TestAnyNamesComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	pieces := []string{"a", "b", "θ", "x.1", "x.2", ".", "..", "1", "0", "__", "_", " ", ",", "\"", "'", "#", "\n", "\t", "\x00", "\xff", "/", "\\", "draw", "chain", "é", "\u2028", "\u202e", "[1]", "=", "name.1"}
	kept, refused := 0, 0
	for trial := range 1000 {
		names := func(n int) []string {
			list := make([]string, n)
			for i := range list {
				for range rng.IntN(4) {
					list[i] += pieces[rng.IntN(len(pieces))]
				}
			}
			return list
		}
		params, quantities := names(1+rng.IntN(4)), names(rng.IntN(3))
		if trial%3 == 0 {
			params = append(params, "y.1", "y.2")
		}
		l, err := newLayout(params, quantities)
		if err != nil {
			if !strings.Contains(err.Error(), "would both be called") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q, %q: %v", params, quantities, err)
			}
			refused++
			continue
		}
		kept++
		x, generated, want := make([]float64, len(params)), make([]float64, len(quantities)), map[string]float64{}
		for i, name := range params {
			x[i], want["parameter "+name] = float64(i), float64(i)
		}
		for i, name := range quantities {
			generated[i], want["quantity "+name] = 100+float64(i), 100+float64(i)
		}
		s := study{Settings: mcmc.Settings{Chains: 1, Draws: 1, Thin: 1}, maker: maker("")}
		file := l.appendRow(l.appendHeader(nil, s.fields(0)), x, generated)
		got := map[string]float64{}
		if _, err := scan(bytes.NewReader(file), everything, func(t *table, line []byte) error {
			row, err := t.parse(nil, line, len(t.columns))
			for i, v := range row {
				kind := "quantity "
				if i >= t.stats && i < t.stats+t.params {
					kind = "parameter "
				}
				got[kind+t.names[i]] = v
			}
			return err
		}); err != nil {
			t.Fatalf("%q, %q: %v in\n%s", params, quantities, err, file)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%q and %q came back as %v: want %v", params, quantities, got, want)
		}
		r := csv.NewReader(bytes.NewReader(file))
		r.Comment = '#'
		records, err := r.ReadAll()
		if err != nil || len(records) != 2 || len(records[0]) != len(want) {
			t.Fatalf("%q, %q: %v in\n%s", params, quantities, err, file)
		}
		for i, column := range records[0] {
			if column == "" || slices.Contains(records[0][:i], column) || strings.ContainsAny(column, "\",'#/\\ \t\n") || i >= len(l.front) && i < len(l.front)+len(params) && strings.HasSuffix(column, "__") {
				t.Errorf("%q, %q: the columns are %q", params, quantities, records[0])
			}
		}
	}
	if kept < 300 || refused < 50 {
		t.Errorf("the names of %d studies can be told apart, and those of %d cannot: want more", kept, refused)
	}
}

// Length is the number of draws that a study will have: of one that is finished, extended or
// interrupted; and 0 without a study.
func TestLength(t *testing.T) {
	dir := t.TempDir()
	s := streamed(1)
	s.Draws, s.Chains = 50, 2
	check := func(what string, want int) {
		t.Helper()
		if n := Length(dir); n != want {
			t.Errorf("%s: %d draws, want %d", what, n, want)
		}
	}
	check("nothing", 0)
	if n := Length(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("no directory: %d draws", n)
	}
	mustStream(t, dir, s)
	check("finished", 50)
	s.Draws = 2000
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, walkers(0), dir, s); err == nil {
		t.Fatal("a cancelled run has no error")
	}
	check("an extension that was interrupted", 2000)
	mustStream(t, dir, s)
	check("extended", 2000)
	if err := os.WriteFile(filepath.Join(dir, "chain-3.csv"), []byte("a,b\n1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("beside a file of somebody else", 2000)
}
