package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
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
	want, err := ReadSoFar(calm, nil)
	if err != nil || len(want.Draws[0]) != 300 {
		t.Fatalf("a finished run: %v, notes %q", err, want.Notes)
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
	interrupt(begun, s.Chains*s.BurnIn/2)
	if _, err := ReadSoFar(begun, nil); err == nil || !strings.Contains(err.Error(), "no draws yet") {
		t.Errorf("during the burn-in: %v", err)
	}
	fresh := t.TempDir()
	interrupt(fresh, s.Chains*(s.BurnIn+s.Draws*s.Thin/2))
	interrupt(extended, s.Chains*s.Draws*s.Thin/2)
	for _, dir := range []string{fresh, extended} {
		got, err := ReadSoFar(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := len(got.Draws[0])
		if n < 1 || n >= 300 || !strings.Contains(strings.Join(got.Notes, " "), "of 300 draws") {
			t.Errorf("%d draws, notes %q", n, got.Notes)
		}
		for k := range want.Draws {
			if !reflect.DeepEqual(got.Draws[k], want.Draws[k][:n]) || !reflect.DeepEqual(got.Generated, want.Generated) && !reflect.DeepEqual(got.Generated[k], want.Generated[k][:n]) {
				t.Errorf("chain %d differs from the finished run", k+1)
			}
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
	if _, err := ReadSoFar(fresh, nil); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("a damaged file: %v", err)
	}
}
