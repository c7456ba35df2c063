package reference

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// Robertson's y1 falls to 2e-8 beside a y3 near 1. Rounding errors of y3 leave y1 a
// relative error of about 1e-8, so a tolerance near that cannot be reached. The error says
// by how much it is missed, and not that the solution ends. With the tolerance that it
// suggests there is a solution.
func TestToleranceBelowRounding(t *testing.T) {
	p := problems.Robertson()
	p.Span[1] = 1e11
	s := Settings{Tolerance: probode.Tolerance{Relative: 1e-8, Absolute: []float64{1e-16, 1e-16, 1e-16}}, Global: true, MaxSteps: 20000}
	_, err := Solve(context.Background(), p, []float64{1e11}, s)
	if err == nil || strings.Contains(err.Error(), "solution may end") || !strings.Contains(err.Error(), "rounding") {
		t.Fatalf("error %v", err)
	}
	m := regexp.MustCompile(`of (y\d) at .* absolute one of (\S+) for`).FindStringSubmatch(err.Error())
	if m == nil {
		t.Fatalf("error %v", err)
	}
	k := int(m[1][1] - '1')
	if s.Absolute[k], err = strconv.ParseFloat(m[2], 64); err != nil || s.Absolute[k] > 1e-12 {
		t.Fatalf("%s: %v", m, err)
	}
	x, err := Solve(context.Background(), p, []float64{1e11}, s)
	if err != nil {
		t.Fatal(err)
	}
	// 2.08334015e-8 is what tolerances from 1e-9 to 1e-12 agree on, up to 1e-8 of it.
	if off := x.X[0] - 2.08334015e-8; off > x.Error[0] || -off > x.Error[0] {
		t.Errorf("y1 = %v, off by %.2g with a claim of %.2g", x.X[0], off, x.Error[0])
	}
	// A solution that does end is still said to end.
	q := &probode.Problem{Name: "blow-up", X0: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = x[0] * x[0] }}
	if _, err := Solve(context.Background(), q, []float64{2}, Settings{Tolerance: probode.Tolerance{Relative: 1e-8}, Global: true}); err == nil || !strings.Contains(err.Error(), "may end") {
		t.Errorf("error %v", err)
	}
}
