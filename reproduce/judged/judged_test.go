package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A small collection is judged: a problem whose predictions every method gets right at a
// tight tolerance, and a folder that is not a problem. A second run computes nothing.
func TestJudged(t *testing.T) {
	collection, out := t.TempDir(), t.TempDir()
	from := filepath.Join("..", "..", "pkg", "probode", "model", "testdata", "petab-lynx")
	if err := os.CopyFS(filepath.Join(collection, "petab-lynx"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(collection, "broken")
	if err := os.Mkdir(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "broken.yaml"), []byte("format_version: 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-petab", collection, "-out", out, "-limit", "60s"}
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	list, err := results(out)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if list[0].Name != "broken" || list[0].Problem == "" || list[0].Methods != nil {
		t.Errorf("%+v", list[0])
	}
	lynx := list[1]
	if lynx.Problem != "" || lynx.Best < lynx.LogLikelihood || len(lynx.Methods) != len(methodNames) {
		t.Fatalf("%+v", lynx)
	}
	for _, m := range lynx.Methods {
		if len(m.Losses) != len(tolerances) || m.Enough == 0 || !(m.Losses[len(m.Losses)-1].D < 1e-3) {
			t.Errorf("%+v", m)
		}
		for _, l := range m.Losses {
			if l.Tolerance > m.Enough && l.D < 0.03 {
				t.Errorf("%s: D is %g at %g, but the certificate needs %g", m.Method, l.D, l.Tolerance, m.Enough)
			}
		}
	}
	mark := filepath.Join(out, "petab-lynx.json")
	before, _ := os.Stat(mark)
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(mark); !after.ModTime().Equal(before.ModTime()) {
		t.Error("the second run computed the problem again")
	}
	for _, name := range []string{"judged.html", "judged.csv", "losses.csv"} {
		page, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !strings.Contains(string(page), "petab-lynx") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A result is used again only if the files of the problem and the limit are the same.
func TestReuse(t *testing.T) {
	collection, out := t.TempDir(), t.TempDir()
	folder, stored := filepath.Join(collection, "broken"), filepath.Join(out, "broken.json")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(folder, "broken.yaml"), "format_version: 7\n")
	limit := "60s"
	for _, c := range []struct {
		what   string
		change func()
		again  bool
	}{
		{"nothing", func() {}, true},
		{"the model", func() { write(filepath.Join(folder, "broken.yaml"), "format_version: 8\n") }, false},
		{"a new table", func() { write(filepath.Join(folder, "tables", "data.tsv"), "1\t2\n") }, false},
		{"the data", func() { write(filepath.Join(folder, "tables", "data.tsv"), "1\t3\n") }, false},
		{"a name", func() {
			if err := os.Rename(filepath.Join(folder, "tables", "data.tsv"), filepath.Join(folder, "data.tsv")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"the limit", func() { limit = "61s" }, false},
		{"the result", func() { write(stored, "{") }, false},
	} {
		judged := func() *result {
			t.Helper()
			if err := run(t.Context(), []string{"-petab", collection, "-out", out, "-limit", limit}); err != nil {
				t.Fatal(err)
			}
			r, err := read(stored)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := judged()
		r.Problem = "stored"
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		write(stored, string(text))
		c.change()
		if got := judged().Problem == "stored"; got != c.again {
			t.Errorf("after a change of %s the result was used again: %v", c.what, got)
		}
	}
}

// Without time nothing is claimed, and the reason says that the time was short.
func TestJudgeWithoutTime(t *testing.T) {
	file := filepath.Join("..", "..", "pkg", "probode", "model", "testdata", "petab-lynx", "problem.yaml")
	r := judge(t.Context(), file, 1)
	if r.Methods != nil || !strings.Contains(r.Problem, errTime.Error()) || r.Parameters == 0 {
		t.Errorf("%+v", r)
	}
}

func TestLoosest(t *testing.T) {
	b := &byMethod{Losses: []loss{{Tolerance: 1e-2, D: 0.01}, {Tolerance: 1e-3, D: 0.2}, {Tolerance: 1e-4, D: 0.05}, {Tolerance: 1e-5, D: 0.01}}}
	if got := b.loosest(0.1); got != 1e-4 {
		t.Errorf("D is above the limit at 1e-3, but %g is said to be enough", got)
	}
	b.Losses[3] = loss{Tolerance: 1e-5, Failed: "too many steps"}
	if got := b.loosest(0.1); got != 0 || b.unused() {
		t.Errorf("the tightest tolerance fails, but %g is said to be enough", got)
	}
	if !(&byMethod{Losses: []loss{{Tolerance: 1e-2}}}).unused() {
		t.Error("a method without any effect is used")
	}
}

// A reason that several methods have is given once; a tolerance without a certificate
// has a dagger.
func TestRows(t *testing.T) {
	r := &result{Name: "x", Methods: []*byMethod{
		{Method: "bdf", SmallD: 1e-4, Why: "x, BDF, rtol = 1: too far (at 3): want less", Losses: []loss{{1e-2, -0.12, 2, ""}, {1e-3, 0, 0, "no"}, {1e-4, 1e-5, 0.01, ""}}, Elsewhere: 1, Ends: 2},
		{Method: "radau5", Why: "too far"},
		{Method: "dp5", Enough: 1e-3, SmallD: 1e-3},
	}}
	row := rows([]*result{r})[0]
	want := []string{"1e-04 †, 1 of 2", "–", "1e-03", "0", "bdf, radau5: too far"}
	if got := row[len(row)-5:]; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	want = []string{"x", "bdf", "-0.120", "fails", "0.000", "", "", "", ""}
	if got := lossRows([]*result{r}); len(got) != 1 || !slices.Equal(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJudgedRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "the folder of problems is not given"},
		{[]string{"-petab", t.TempDir()}, "contains no problems: want files"},
		{[]string{"-petab", "x", "-limit", "1ms"}, "-limit is 1ms"},
		{[]string{"-page", "-out", t.TempDir()}, "no results"},
	} {
		args := c.args
		if len(args) < 4 {
			args = append([]string{"-out", t.TempDir()}, args...)
		}
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}

// The page on published models says what stands in the table beside it: how many problems
// need a smaller tolerance than 0.01, and so on.
func TestFindings(t *testing.T) {
	file, err := os.Open("../../docs/data/judged.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table, err := csv.NewReader(file).ReadAll()
	if err != nil || !slices.Equal(table[0], header()) {
		t.Fatalf("%v %v", table[0], err)
	}
	// beyond counts the problems that are judged and need less than the tolerance.
	beyond := func(column int, tolerance float64) (n, of int) {
		for _, row := range table[1:] {
			var enough float64
			if _, err := fmt.Sscanf(row[column], "%g", &enough); err == nil {
				of++
				if enough < 0.99*tolerance {
					n++
				}
			}
		}
		return n, of
	}
	page, err := os.ReadFile("../../docs/model-files.md")
	if err != nil {
		t.Fatal(err)
	}
	var bdf [3]int
	of := 0
	for i, tolerance := range []float64{1e-2, 1e-3, 1e-4} {
		bdf[i], of = beyond(4, tolerance)
	}
	radau, solved := beyond(5, 1e-2)
	for _, want := range []string{
		fmt.Sprintf("for %d of %d problems at a tolerance of 0.01, for %d of %d at 0.001 and for %d of %d at 1e-4", bdf[0], of, bdf[1], of, bdf[2], of),
		fmt.Sprintf("accurate enough for %d of the %d problems", solved-radau, solved),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
