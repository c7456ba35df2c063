package main

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/pkg/viz"
)

// The functions below check and write the output files of commands.

// An outFile with an empty path is no file, and "-" is standard output.
type outFile struct{ flag, path string }

func (o outFile) write(out io.Writer, write func(io.Writer) error) error {
	var err error
	switch o.path {
	case "":
	case "-":
		return write(out)
	default:
		err = atomicfile.Write(o.path, write)
	}
	if err != nil {
		return fmt.Errorf("-%s: %w", o.flag, err)
	}
	return nil
}

// beside discards the text of a command if the file is standard output.
func (o outFile) beside(out io.Writer) io.Writer {
	if o.path == "-" {
		return io.Discard
	}
	return out
}

func checkOutputs(outputs ...outFile) error {
	for i, o := range outputs {
		if err := canWrite(o.flag, o.path); err != nil {
			return err
		}
		for _, other := range outputs[:i] {
			if samePlace(o.path, other.path) {
				return fmt.Errorf("-%s %s: this is also the file for -%s: choose another name", o.flag, o.path, other.flag)
			}
		}
	}
	return nil
}

func spare(outputs []outFile, inputs ...string) error {
	for _, o := range outputs {
		for _, in := range inputs {
			if samePlace(o.path, in) {
				return fmt.Errorf("-%s %s: this is an input file: choose another name", o.flag, o.path)
			}
		}
	}
	return nil
}

func pageOutputs(path string) []outFile {
	if path == "" {
		return nil
	}
	return []outFile{{"out", path}, {"out's table", tableOf(path)}}
}

func checkEnding(flag, path string, endings ...string) error {
	if path == "" || slices.Contains(endings, filepath.Ext(path)) && filepath.Base(path) != filepath.Ext(path) {
		return nil
	}
	last := len(endings) - 1
	want := endings[last]
	if last > 0 {
		want = strings.Join(endings[:last], ", ") + " or " + want
	}
	return fmt.Errorf("-%s %s: want a name that ends in %s", flag, path, want)
}

func canWrite(flag, path string) error {
	if path == "" || path == "-" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("-%s %s: this is a folder: choose another name", flag, path)
	case err == nil && !info.Mode().IsRegular():
		return nil // for example a pipe, which is opened only when there is something to write
	}
	to := path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		to = target // as outFile.write does
	}
	folder := filepath.Dir(to)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("-%s %s: there is no folder %s", flag, path, folder)
	}
	// The permissions of the folder do not always show whether a file can be created
	// there, so this function creates a temporary file.
	f, err := os.CreateTemp(folder, filepath.Base(to)+".*.tmp")
	if err != nil {
		return fmt.Errorf("-%s %s: no file can be created in the folder %s: %w", flag, path, folder, reason(err))
	}
	return cmp.Or(f.Close(), os.Remove(f.Name()))
}

// reason removes the operation and the path from an error.
func reason(err error) error {
	if why := (*os.PathError)(nil); errors.As(err, &why) {
		return why.Err
	}
	return err
}

func tableOf(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".csv" }

// samePlace compares files that need not exist yet. Several outputs can go to a file that
// is not regular, such as /dev/null.
func samePlace(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	s, errS := os.Stat(a)
	t, errT := os.Stat(b)
	if errS == nil && errT == nil {
		return s.Mode().IsRegular() && os.SameFile(s, t)
	}
	return errS != nil && errT != nil && whole(a) == whole(b)
}

// whole resolves symbolic links to folders.
func whole(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		return filepath.Join(folder, filepath.Base(full))
	}
	return full
}

func draw(w io.Writer, file string, f viz.Figure) error {
	var picture []byte
	var err error
	switch filepath.Ext(file) {
	case ".png":
		picture, err = viz.PNG(f)
	case ".svg":
		picture, err = viz.SVG(f)
	default:
		var fragment string
		fragment, err = viz.HTML(f)
		picture = []byte(page(f.Title, fragment))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(picture)
	return err
}

// page returns a page that also works on phones. Its figures are interactive with
// echarts.min.js beside it.
func page(title, body string) string {
	return viz.Guard(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>` + html.EscapeString(title) + `</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 940px; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { line-height: 1.2; font-size: 1.6rem; } p, li { max-width: 50rem; }
.answer { font-weight: 600; font-size: 1.1rem; }
pre { font-size: 12px; line-height: 1.35; overflow-x: auto; background: #8881; padding: .8rem; }
</style>
<script>window.probodeECharts = "./echarts.min.js";</script>
` + body + "\n</html>\n")
}
