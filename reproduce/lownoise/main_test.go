package main

import (
	"context"
	"math"
	"strings"
	"testing"
)

// With tempering, Fenrir ends where least squares from the truth ends.
func TestTempering(t *testing.T) {
	s, err := compute(context.Background(), []search{searches[0], searches[3]}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	limit := []float64{0.1, 0.5, 0.013} // about six standard deviations
	best, tempered := s.estimates[0][0], s.estimates[1][0]
	for k, v := range tempered {
		if d := math.Log(v / best[k]); math.Abs(d) > limit[k]/20 { // 0.3 standard deviations
			t.Errorf("parameter %d is %.5g, want %.5g", k, v, best[k])
		}
	}

	s.estimates[1] = append(s.estimates[1], nil, []float64{0.2, 0.2, 3.1}, s.truth)
	if sd, stuck := s.spread(1, limit); stuck != 2 || !(sd[2] > 0 && sd[2] < limit[2]) {
		t.Errorf("%d searches got stuck, and the others have the sds %v: want 2, the failed one and one that ended far away", stuck, sd)
	}
	s.estimates[0] = append(s.estimates[0], s.truth)
	var b strings.Builder
	if err := s.write(&b); err != nil || strings.Count(b.String(), "\n") != 4 || !strings.Contains(b.String(), "stuck searches (of 2)") {
		t.Errorf("table: %v\n%s", err, &b)
	}
}

func TestFlags(t *testing.T) {
	if err := run(context.Background(), []string{"-sets", "1"}); err == nil || !strings.Contains(err.Error(), "want at least 2") {
		t.Errorf("error %v", err)
	}
}
