package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/pkg/internal/text"
	modelfile "github.com/probode/probode/pkg/probode/model"
)

var generateHelp = manual{
	short: `Writes a model as Go code, or as a model file.

  probode generate model.yaml > model.go
  probode generate problem.yaml -condition control -out control.go
  probode generate Boehm_JProteomeRes2014 -out boehm
`,
	flags: []string{"model", "condition", "data", "out", "outside"},
	long: `The Go code is a function that returns a probode.Problem with the equations, their
Jacobian, the derivatives with respect to the parameters, the initial state and the
events. If -out is the name of a new folder, the model, for example a PEtab problem, is
written there as a model file with a table of its data.
`}

func generate(_ context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	var m modelFile
	m.define(flags)
	condition := flags.String("condition", "", "`ID` of the condition whose equations are written; default: the first condition in the data, or in the model if there are no data")
	file := flags.String("out", "-", "`file` (.go) for Go code, or a new folder for a model file; default: Go code on standard output")
	if err := parseModel(flags, args, generateHelp, out); err != nil {
		return err
	}
	to := outFile{"out", *file}
	if err := checkOutputs(to); err != nil {
		return err
	}
	folder := *file != "-" && filepath.Ext(*file) != ".go"
	if _, err := os.Lstat(*file); folder && err == nil {
		return fmt.Errorf("-out %s: it already exists: want a name that ends in .go, or the name of a new folder", text.Clip(*file))
	}
	m.outputs = []outFile{to}
	p, err := m.load()
	if err != nil {
		return err
	}
	if folder {
		if given(flags, "condition") {
			return fmt.Errorf("-condition has no meaning with -out %s: a model file has all conditions", text.Clip(*file))
		}
		return newFolder(*file, p)
	}
	e, err := experimentOf(p, *condition)
	if err != nil {
		return err
	}
	code, err := p.Go(e, "main", "Problem")
	if err != nil {
		return err
	}
	return to.write(out, func(w io.Writer) error { _, err := w.Write(code); return err })
}

// newFolder leaves no folder behind after an error.
func newFolder(dir string, p *modelfile.File) error {
	dir = filepath.Clean(dir)
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // has no effect after success
	if _, err = p.WriteYAML(tmp); err != nil {
		return err
	}
	if err = os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	return atomicfile.Rename(tmp, dir)
}
