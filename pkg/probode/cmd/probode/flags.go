package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
)

// parse reads the flags of a command. Help goes to out.
func parse(flags *flag.FlagSet, args []string, help string, out io.Writer) error {
	flags.SetOutput(io.Discard) // errors are one line, written by main
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, help)
		listFlags(flags, out)
	}
	return err
}

// groups are the headings under which help lists many flags, with their flags.
// What is in none of them stands under the last.
var groups = []struct {
	title string
	names []string
}{
	{"The model", []string{"model", "condition", "case", "problem", "data", "time", "columns", "errors", "prior", "fix", "unknown-start", "t0", "theta", "span"}},
	{"The solver", []string{"method", "linearize", "step", "steps", "rtol", "atol", "alpha", "noise", "reference"}},
	{"The draws", []string{"scheme", "draws", "min-ess", "chains", "chain", "burn-in", "thin", "seed", "workers", "paths"}},
	{"The judgement", []string{"threshold", "confidence", "weighed", "auto", "budget", "enough", "strict"}},
	{"What is written", nil},
}

// listFlags prints the flags, under headings if there are many.
func listFlags(flags *flag.FlagSet, out io.Writer) {
	total := 0
	flags.VisitAll(func(*flag.Flag) { total++ })
	if total < 12 {
		flags.SetOutput(out)
		flags.PrintDefaults()
		return
	}
	for k, g := range groups {
		some := flag.NewFlagSet("", flag.ContinueOnError)
		some.SetOutput(out)
		n := 0
		flags.VisitAll(func(f *flag.Flag) {
			mine := slices.Contains(g.names, f.Name)
			if k == len(groups)-1 {
				mine = !slices.ContainsFunc(groups, func(g struct {
					title string
					names []string
				}) bool {
					return slices.Contains(g.names, f.Name)
				})
			}
			if mine {
				some.Var(f.Value, f.Name, f.Usage)
				some.Lookup(f.Name).DefValue = f.DefValue
				n++
			}
		})
		if n > 0 {
			fmt.Fprintf(out, "%s:\n", g.title)
			some.PrintDefaults()
			fmt.Fprintln(out)
		}
	}
}
