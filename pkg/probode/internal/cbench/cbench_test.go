// Package cbench measures the library beside compiled programs that do one
// thing each (testdata/limit.c), where there is a C compiler. Single figures move with
// the machine and its other work, so both are run in turn and the ratio of
// each turn is taken; the median of these is what to look at:
//
//	go test -run '^$' -bench . ./pkg/probode/internal/cbench
package cbench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/internal/normal"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// program compiles limit.c and returns its path.
func program(tb testing.TB) string {
	tb.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		tb.Skip("no C compiler: nothing to compare with")
	}
	out := filepath.Join(tb.TempDir(), "limit")
	// Without contraction: products and sums are rounded as Go rounds them.
	cmd := exec.Command(cc, "-O3", "-march=native", "-ffp-contract=off", "-o", out, "testdata/limit.c", "-lm")
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %v\n%s", cmd, err, text)
	}
	return out
}

// limit returns the time of a unit of the C program, in ns.
func limit(tb testing.TB, program, name string, repeats int) float64 {
	text, err := exec.Command(program, name, strconv.Itoa(repeats)).Output()
	if err != nil {
		tb.Fatalf("%s %s: %v", program, name, err)
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || !(ns > 0) {
		tb.Fatalf("%s %s says %q: want a time", program, name, text)
	}
	return ns
}

// A comparison is work of the library beside that of a C program.
type comparison struct {
	name    string
	c       string // its name in limit.c
	repeats int    // of a turn, some milliseconds
	units   int    // steps or normals of one run
	run     func() error
}

// solve is a path of n steps with stored noise.
func solve(tb testing.TB, name, c string, p *probode.Problem, m probode.Method, h float64, n, repeats int) comparison {
	tb.Helper()
	p.Span[1] = p.Span[0] + float64(n)*h
	g, err := probode.UniformGrid(p, p.Theta, h)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := probode.NewSolver(p, m, g, 1e-6)
	if err != nil {
		tb.Fatal(err)
	}
	z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	probode.DrawNoise(xi, 1, 1)
	return comparison{name, c, repeats, n, func() error { return s.Solve(z, p.Theta, xi) }}
}

func comparisons(tb testing.TB) []comparison {
	nerve := func(name, c string, m probode.Method) comparison {
		return solve(tb, name, c, problems.FitzHughNagumo(), m, 1./128, 1024, 100)
	}
	am := func(s int, l adams.Linearization) probode.Method {
		return adams.Moulton{Steps: s, Linearize: l}
	}
	x := make([]float64, 2048)
	return []comparison{
		nerve("AM0 current", "am0", am(0, adams.Current)),
		nerve("AM2 current", "am2", am(2, adams.Current)),
		nerve("AM0 newton to current", "am0", am(0, adams.Newton)),
		nerve("AM2 newton to current", "am2", am(2, adams.Newton)),
		nerve("AB2", "ab2", adams.Bashforth{Steps: 2}),
		nerve("RK4", "rk4", methods.RungeKutta{}),
		solve(tb, "dense d=40", "dense", problems.Lorenz96(40), am(0, adams.Current), 1./128, 64, 10),
		solve(tb, "banded d=200", "banded", problems.Brusselator(100), am(0, adams.Current), 1./1024, 64, 10),
		{"normal", "normal", 200, len(x), func() error { normal.Fill(x, 1, 2); return nil }},
	}
}

// turn returns the times of a unit, of the library and of C.
func (c comparison) turn(tb testing.TB, program string) (ours, theirs float64) {
	best := time.Duration(1<<63 - 1)
	for range 3 { // as in limit.c
		from := time.Now()
		for range c.repeats {
			if err := c.run(); err != nil {
				tb.Fatal(err)
			}
		}
		best = min(best, time.Since(from))
	}
	return float64(best.Nanoseconds()) / float64(c.repeats*c.units), limit(tb, program, c.c, c.repeats)
}

func BenchmarkRatioToC(b *testing.B) {
	path := program(b)
	for _, c := range comparisons(b) {
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			var ours, theirs, ratio []float64
			for range b.N {
				x, y := c.turn(b, path)
				ours, theirs, ratio = append(ours, x), append(theirs, y), append(ratio, x/y)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(ours), "ns/unit")
			b.ReportMetric(median(theirs), "C-ns/unit")
			b.ReportMetric(median(ratio), "times-C")
		})
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// What is measured is what it is called: every part of limit.c runs, and the
// library's paths end where they should.
func TestPrograms(t *testing.T) {
	path := program(t)
	for _, c := range comparisons(t) {
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		limit(t, path, c.c, 1)
	}
	if out, err := exec.Command(path, "nothing", "1").CombinedOutput(); err == nil {
		t.Errorf("an unknown name is accepted: %s", out)
	}
	if s := fmt.Sprint(median([]float64{3, 1, 2}), median([]float64{4, 1})); s != "2 2.5" {
		t.Errorf("medians are %s", s)
	}
}
