package main

import (
	"os"
	"path/filepath"
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
	page, err := os.ReadFile(filepath.Join(out, "judged.html"))
	if err != nil || !strings.Contains(string(page), "petab-lynx") {
		t.Errorf("%v", err)
	}
}

func TestJudgedRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no folder of problems"},
		{[]string{"-petab", t.TempDir()}, "no problems: want folders"},
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
