package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// The draws of an unfinished run are the first ones of the finished run, also if it extends
// a shorter run, and a damaged file is refused.
func TestReadSoFar(t *testing.T) {
	s := streamed(3)
	s.Draws, s.Workers = 300, 1
	calm := t.TempDir()
	mustStream(t, calm, s)
	want, unfinished, err := ReadSoFar(calm, nil)
	if err != nil || len(want.Draws[0]) != 300 || unfinished != "" {
		t.Fatalf("a finished run: %v, %q", err, unfinished)
	}
	// interrupt ends a run at the given step.
	interrupt := func(dir string, at int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		steps := 0
		if err := run(ctx, func(i int) mcmc.Kernel {
			return &observed{walkers(0)(i).(*walker), func() {
				if steps++; steps == at {
					cancel()
				}
			}}
		}, dir, s); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	extended := t.TempDir()
	short := s
	short.Draws = 40
	mustStream(t, extended, short)
	begun := t.TempDir()
	interrupt(begun, 1)
	if _, _, err := ReadSoFar(begun, nil); err == nil || !strings.Contains(err.Error(), "no draws yet") {
		t.Errorf("during the burn-in: %v", err)
	}
	fresh := t.TempDir()
	interrupt(fresh, s.Chains*(s.BurnIn+s.Draws*s.Thin/2))
	interrupt(extended, s.Chains*s.Draws*s.Thin/2)
	for _, dir := range []string{fresh, extended} {
		got, unfinished, err := ReadSoFar(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := len(got.Draws[0])
		if n < 1 || n*len(got.Draws) >= 900 || !strings.Contains(unfinished, "of 300 draws of ") {
			t.Errorf("%d draws of %d chains, %q", n, len(got.Draws), unfinished)
		}
		for k := range got.Draws {
			if !slices.ContainsFunc(want.Draws, func(w [][]float64) bool { return reflect.DeepEqual(got.Draws[k], w[:n]) }) {
				t.Errorf("chain %d differs from the finished run", k+1)
			}
		}
	}
	// Of a study whose other chains are elsewhere, and of chains of different lengths, as many
	// draws are taken as possible.
	alone := t.TempDir()
	for _, name := range []string{"chain-1.csv", "chain-3.csv"} {
		copyOf(t, filepath.Join(calm, name), filepath.Join(alone, name))
	}
	got, unfinished, err := ReadSoFar(alone, nil)
	if err != nil || len(got.Draws) != 2 || !reflect.DeepEqual(got.Draws[1], want.Draws[2]) || !strings.Contains(unfinished, "the first 300 of 300 draws of 2 of 3 chains") {
		t.Errorf("two of three chains: %v, %q", err, unfinished)
	}
	for lengths, kept := range map[[4]int][2]int{{5, 0, 100, 90}: {2, 90}, {30, 30, 30, 50}: {4, 30}, {1, 1, 1, 10}: {1, 10}} {
		s := set{}
		for _, n := range lengths {
			s.chains = append(s.chains, &table{drawn: make([][]float64, n)})
		}
		if least := s.longest(); least != kept[1] || len(s.chains) != kept[0] {
			t.Errorf("chains of %v draws: %d of %d, want %v", lengths, len(s.chains), least, kept)
		}
	}
	part := filepath.Join(fresh, "chain-1.csv.part")
	data, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(part, []byte(strings.Replace(string(data), "1", "2", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadSoFar(fresh, nil); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("a damaged file: %v", err)
	}
}

func copyOf(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
