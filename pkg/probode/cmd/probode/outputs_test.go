package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func checkPage(path string, endings ...string) error {
	if err := checkEnding("out", path, endings...); err != nil {
		return err
	}
	return checkOutputs(pageOutputs(path)...)
}

// What is in the way of a file is found out before the work.
func TestCheckOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("folder", 0o755), os.Mkdir("taken.html", 0o755), os.Mkdir("table.csv", 0o755), os.WriteFile("file", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":                 "",
		"-":                "want a name that ends in",
		".html":            "want a name that ends in",
		"out.html":         "",
		"folder/out.svg":   "",
		"out.HTM":          "-out out.HTM: want a name that ends in .html, .png or .svg",
		"out":              "want a name that ends in",
		"nodir/out.html":   "-out nodir/out.html: there is no folder nodir",
		"file/out.html":    "-out file/out.html: there is no folder file",
		"taken.html":       "-out taken.html: this is a folder",
		"table.html":       "-out's table table.csv: this is a folder",
		"nodir/a/out.html": "there is no folder nodir/a",
	} {
		err := checkPage(path, ".html", ".png", ".svg")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: error %v, want one line with %q", path, err, want)
		}
	}
	// A folder in which nobody can make a file; root can in any but this one.
	if _, err := os.Stat("/proc/self/net"); err == nil {
		if err := checkPage("/proc/self/net/out.html", ".html"); err == nil || !strings.Contains(err.Error(), "no file can be created in the folder /proc/self/net: ") {
			t.Errorf("error %v", err)
		}
	}
	for _, folder := range []string{".", "folder"} {
		if left, _ := filepath.Glob(filepath.Join(folder, "*.tmp")); left != nil {
			t.Errorf("%v left behind", left)
		}
	}
}

// No output takes the place of another, or of a file that is read, by whatever name,
// and all is as it was.
func TestOutputsInTheWay(t *testing.T) {
	csv, err := os.ReadFile("../../model/testdata/pk.csv")
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := os.ReadFile("../../model/testdata/pk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	err = errors.Join(os.WriteFile("pk.yaml", yaml, 0o644), os.WriteFile("pk.csv", csv, 0o644), os.Mkdir("folder", 0o755),
		os.Symlink("pk.csv", "link"), os.Symlink("folder", "also"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"solve -problem fhn -step 0.1 -out a.csv -json ./a.csv", "-out a.csv: this is also the file for -json"},
		{"solve -problem fhn -step 0.1 -out folder/a -json also/a", "-out folder/a: this is also the file for -json"},
		{"solve -problem fhn -step 0.1 -out - -json -", "-out -: this is also the file for -json"},
		{"solve -model pk.yaml -out pk.csv", "-out pk.csv: this is an input file"},
		{"solve -model pk.yaml -json pk.csv", "-json pk.csv: this is an input file"},
		{"solve -model pk.yaml -json link", "-json link: this is an input file"},
		{"likelihood -model pk.yaml -json pk.csv", "-json pk.csv: this is an input file"},
		{"generate pk.yaml -out pk.yaml", "-out pk.yaml: it already exists"},
		{"certify -model pk.yaml -at nominal -json folder/../pk.yaml", "this is an input file"},
		{"certify -case lynx-hare -json a.svg -out a.svg", "-json a.svg: this is also the file for -out"},
		{"assess -model pk.yaml -steps 1 -out pk.html", "-out's table pk.csv: this is an input file"},
		{"assess -case lynx-hare -out a.html -json a.csv", "-json a.csv: this is also the file for -out's table"},
		{"assess -case influenza -data pk.csv -step 1 -json pk.csv", "-json pk.csv: this is an input file"},
	} {
		err := run(context.Background(), strings.Fields(c.args), new(strings.Builder))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.args, err, c.want)
		}
	}
	for name, want := range map[string][]byte{"pk.yaml": yaml, "pk.csv": csv} {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is another one: %v", name, err)
		}
	}
	if made, _ := filepath.Glob("a*"); len(made) != 1 { // also
		t.Errorf("%q were made", made)
	}
}

// -json - is strict JSON on standard output, and nothing else.
func TestJSONToStandardOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Chdir("../../model/testdata")
	for _, args := range []string{
		"solve -problem fhn -step 0.1 -times 5 -paths 1 -alpha 1 -json -",
		"likelihood -model pk.yaml -json - -gradient",
		"certify -model pk.yaml -method dp5 -rtol 1e-3 -at nominal -json -",
		"assess -case dragons -steps 0.125 -chains 2 -draws 100 -budget 100 -quiet -json -",
	} {
		var out bytes.Buffer
		if err := run(context.Background(), strings.Fields(args), &out); err != nil {
			t.Errorf("%s: %v", args, err)
		} else if !json.Valid(out.Bytes()) {
			t.Errorf("%s: no JSON: %.200s", args, &out)
		}
	}
	if _, err := os.Lstat("-"); err == nil {
		t.Error("a file of the name - was made")
	}
}

// A directory that cannot be is found out before the search for modes.
func TestCheckFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("folder", 0o755), os.WriteFile("file", nil, 0o644), os.Symlink("nowhere", "dangling")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"folder": "", "new": "", "new/in/new": "", "folder/new": "", "./": "",
		"file":             "-dir file: this is not a directory",
		"dangling":         "-dir dangling: this is not a directory",
		"file/new/new":     "-dir file/new/new: file is no directory",
		"/proc/self/net/x": "-dir /proc/self/net/x: no directory can be created in the folder /proc/self/net: ",
	} {
		err := checkFolder(dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", dir, err, want)
		}
	}
	if left, _ := filepath.Glob("*"); len(left) != 3 {
		t.Errorf("left %q", left)
	}
}
