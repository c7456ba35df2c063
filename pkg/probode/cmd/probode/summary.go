package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

const summaryHelp = `Prints a summary of the draws in a directory: the settings of the run; means,
standard deviations and quantiles with their diagnostics; and warnings, if there are
any.

  probode summary runs/lynx

`

// summary prints the table of the draws in a directory.
func summary(_ context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("summary", flag.ContinueOnError)
	table := flags.Bool("csv", false, "print only the table, with all digits, as comma-separated values")
	if err := parse(flags, args, summaryHelp, out); err != nil {
		return err
	}
	if err := folders(flags); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("summary: want one directory")
	}
	chains, err := store.Read(flags.Arg(0))
	if err != nil {
		return err
	}
	if !*table {
		for _, f := range chains.Meta {
			fmt.Fprintf(out, "%s: %s\n", f.Key, f.Value)
		}
		_, err := fmt.Fprint(out, "\n", chains)
		return err
	}
	w := csv.NewWriter(out)
	w.Write([]string{"parameter", "mean", "sd", "q2.5", "q50", "q97.5", "mcse_mean", "ess_bulk", "ess_tail", "r_hat"})
	for _, m := range chains.Summary() {
		row := []string{text.Printable(m.Name)}
		for _, v := range []float64{m.Mean, m.SD, m.Q025, m.Median, m.Q975, m.MCSE, m.BulkESS, m.TailESS, m.RHat} {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		w.Write(row)
	}
	w.Flush()
	return w.Error()
}
