package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// headers are the promise to those who read the files with programs.
var headers = map[string]string{
	"alpha":      "method,linearisation,h,alpha_star,alpha_star_se,alpha_paper",
	"alphacurve": "method,linearisation,h,alpha,log_density",
	"orders":     "method,linearisation,h,max_error,observed_order",
	"meansquare": "method,linearisation,h,ms_error,se",
	"fig1":       "t,component,mean,sd,deterministic,reference",
	"fig2":       "method,scheme,h,parameter,mean,sd,q025,q975,ess,rhat,accept",
	"paths":      "problem,h,alpha,t,component,mean,sd,deterministic,reference",
	"fig2_draws": "method,scheme,h,chain,draw,theta1,theta2,theta3",
}

// The quick form runs, agrees with the expected results within the tolerances,
// writes the promised files with a number or NaN in every cell, and a report
// that needs nothing beside it. The last line counts the claims of the report that hold.
func TestQuick(t *testing.T) {
	out := t.TempDir()
	said, err := os.Create(filepath.Join(out, "said"))
	if err != nil {
		t.Fatal(err)
	}
	terminal := os.Stdout
	os.Stdout = said
	err = run(context.Background(), []string{"-quick", "-check", "-out", out})
	os.Stdout = terminal
	said.Close()
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range headers {
		b, err := os.ReadFile(filepath.Join(out, name+".csv"))
		if err != nil {
			t.Error(err)
			continue
		}
		if first, _, _ := strings.Cut(string(b), "\n"); first != header {
			t.Errorf("%s.csv: header %q, want %q", name, first, header)
		}
		tab, err := readTable(filepath.Join(out, name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		if len(tab.rows) == 0 {
			t.Errorf("%s.csv has no rows", name)
		}
		for _, r := range tab.rows {
			for i, c := range r {
				if c == "" {
					t.Fatalf("%s.csv: empty cell in column %s", name, tab.header[i])
				}
			}
		}
	}
	report, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	holds, differs := bytes.Count(report, []byte(">holds<")), bytes.Count(report, []byte(">differs<"))
	words, err := os.ReadFile(said.Name())
	if want := fmt.Sprintf("\n%d of %d claims of the paper hold: see %s\n", holds, holds+differs, filepath.Join(out, "report.html")); err != nil || holds == 0 || !strings.HasSuffix(string(words), want) {
		t.Errorf("%q does not end with %q", words, want)
	}
	for _, e := range experiments {
		if !bytes.Contains(report, []byte(fmt.Sprintf("id=%q", e.name))) {
			t.Errorf("report has no section %s", e.name)
		}
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllSubmatch(report, -1) {
		if !bytes.HasPrefix(m[1], []byte("data:")) && !bytes.HasPrefix(m[1], []byte("#")) {
			t.Errorf("report needs %s", m[1])
		}
	}
}

// The same seed gives the same bytes for any number of workers, and another
// seed other bytes.
func TestWorkers(t *testing.T) {
	files := func(args ...string) map[string][]byte {
		out := t.TempDir()
		if err := run(context.Background(), append([]string{"-quick", "-only", "fig1,meansquare,paths", "-out", out}, args...)); err != nil {
			t.Fatal(err)
		}
		got := make(map[string][]byte)
		for _, name := range []string{"fig1", "meansquare", "paths"} {
			b, err := os.ReadFile(filepath.Join(out, name+".csv"))
			if err != nil {
				t.Fatal(err)
			}
			got[name] = b
		}
		return got
	}
	one, three, other := files("-workers", "1"), files("-workers", "3"), files("-seed", "2")
	for name := range one {
		if !bytes.Equal(one[name], three[name]) {
			t.Errorf("%s.csv depends on the number of workers", name)
		}
		if bytes.Equal(one[name], other[name]) {
			t.Errorf("%s.csv does not depend on the seed", name)
		}
	}
}

// -check names the rows that differ.
func TestCheck(t *testing.T) {
	spec, err := expected("tolerances")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range experiments {
		for _, name := range e.tables {
			rules := spec.where(name)
			if len(rules.rows) == 0 {
				continue
			}
			want, err := expected(name)
			if err != nil {
				t.Fatal(err)
			}
			if lines := compare(want, want, rules, false); len(lines) > 0 {
				t.Errorf("%s differs from itself: %s", name, lines[0])
			}
			checked := 0
			for _, r := range rules.rows {
				if r[2] == "key" {
					continue
				}
				// A change by half of the value and some, in one row.
				got := &table{name: want.name, header: want.header, rows: append([][]string(nil), want.rows...)}
				c, i := want.column(r[1]), len(want.rows)/2
				got.rows[i] = append([]string(nil), want.rows[i]...)
				got.rows[i][c] = cell(2*number(want.rows[i][c]) + 30)
				if name == "alphacurve" {
					got.rows[i][c] = cell(number(want.rows[i][c]) - 1e5)
				}
				if lines := compare(got, want, rules, true); len(lines) != 1 || !strings.Contains(lines[0], r[1]) {
					t.Errorf("%s: a wrong %s is reported as %q", name, r[1], lines)
				}
				checked++
			}
			if checked == 0 {
				t.Errorf("%s: no column is compared", name)
			}
			short := &table{name: want.name, header: want.header, rows: want.rows[1:]}
			if lines := compare(short, want, rules, false); len(lines) != 1 || !strings.HasSuffix(lines[0], "missing") {
				t.Errorf("%s without a row: %q", name, lines)
			}
		}
	}
}

func TestBadFlags(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.csv")
	if err := os.WriteFile(bad, []byte("t,V_obs\n1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`-only names the unknown experiment "fig3": want one or more of fig1,alpha,`: {"-only", "fig1,fig3"},
		`no column "R_obs": the header has t, V_obs`:                                 {"-data", bad},
		"no such file":               {"-data", filepath.Join(dir, "none.csv")},
		`unexpected argument "fig1"`: {"fig1"},
		"-paths is -1: want a number from 0 to 1000000000":                       {"-paths", "-1"},
		"-workers is 1000000000: want a number from 0 to 4096":                   {"-workers", "1000000000"},
		"-iterations is 9223372036854775807: want a number from 0 to 1000000000": {"-iterations", "9223372036854775807"},
		"-update needs a full run with":                                          {"-quick", "-update", "-only", "fig1", "-out", filepath.Join(dir, "none")},
		"-check and -update: want one of them":                                   {"-check", "-update"},
	} {
		err := run(context.Background(), args)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want one line with %q", args, err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 { // all of that is said before the work
		t.Errorf("written: %v", left)
	}
}

// An interrupted run leaves no half-written file.
func TestInterrupted(t *testing.T) {
	out := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := run(ctx, []string{"-quick", "-only", "fig2", "-out", out})
	if err == nil || !strings.Contains(err.Error(), "interrupted during fig2") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(out); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The user's own data take the place of the built-in ones; a row may miss a
// value.
func TestOwnData(t *testing.T) {
	out := t.TempDir()
	file := filepath.Join(out, "mine.csv")
	if err := os.WriteFile(file, []byte("who,t,R_obs,V_obs\na,1,0.97,1.95\nb,2,0.35,\nc,4,-0.5,1.5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), []string{"-quick", "-only", "fig2", "-check", "-data", file, "-out", out}); err != nil {
		t.Fatal(err)
	}
	got, err := readTable(filepath.Join(out, "fig2.csv"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := expected("fig2")
	if err != nil {
		t.Fatal(err)
	}
	// Three observations in place of twenty.
	key := []string{"backward-euler", "deterministic", "0.05", "theta3"}
	if a, b := got.where(key...).floats("sd")[0], want.where(key...).floats("sd")[0]; a < 2*b {
		t.Errorf("sd of theta3 is %.3f with three observations, %.3f with twenty", a, b)
	}
}

// data.csv is what its comment says it is.
func TestBuiltInData(t *testing.T) {
	times := make([]float64, 20)
	for i := range times {
		times[i] = float64(i + 1)
	}
	x, err := accurate(context.Background(), fhn(), times)
	if err != nil {
		t.Fatal(err)
	}
	xi := make([]float64, 40)
	probode.DrawNoise(xi, 2018, 0)
	s := &study{}
	if err := s.loadData(); err != nil {
		t.Fatal(err)
	}
	for i := range times {
		for k := range 2 {
			if got, want := s.data.Y[i][k], x[2*i+k]+sigma*xi[2*i+k]; s.data.T[i] != times[i] || math.Abs(got-want) > 5.1e-7 { // six decimals
				t.Errorf("t = %g, component %d: %v, want %v", times[i], k, got, want)
			}
		}
	}
}
