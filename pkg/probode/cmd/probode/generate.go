package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
)

const generateHelp = `Writes a model as Go: a function that returns a probode.Problem with the equations,
their Jacobian, the derivatives with respect to the parameters, the initial state and
the events.

  probode generate model.yaml > model.go
  probode generate problem.yaml -condition control -package mine -out control.go

The flags:

`

func generate(_ context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	condition := flags.String("condition", "", "`ID` of the condition whose equations are written; default: the first condition in the data, or in the model if there are no data")
	pkg := flags.String("package", "main", "`name` of the package")
	function := flags.String("name", "Problem", "`name` of the function")
	file := flags.String("out", "", "`file` for the Go code; default: standard output")
	name := flags.String("model", "", "YAML `file`: a model file or a PEtab problem; -model may be omitted")
	outside := flags.Bool("outside", false, outsideHelp)
	if err := parse(flags, args, generateHelp, out); err != nil {
		return err
	}
	names := flags.Args()
	if *name != "" {
		names = append(names, *name)
	}
	if len(names) != 1 {
		return fmt.Errorf("generate: %d model files are given: want one (see probode generate -help)", len(names))
	}
	to := outFile{"out", cmp.Or(*file, "-")}
	if err := checkOutputs(to); err != nil {
		return err
	}
	p, err := loadModel(names[0], *outside, to)
	if err != nil {
		return err
	}
	e, err := experimentOf(p, *condition)
	if err != nil {
		return err
	}
	code, err := p.Go(e, *pkg, *function)
	if err != nil {
		return err
	}
	return to.write(out, func(w io.Writer) error { _, err := w.Write(code); return err })
}
