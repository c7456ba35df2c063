package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/internal/jsonfile"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

var summaryHelp = manual{
	short: `Prints a summary of the draws in a directory: means, standard deviations and quantiles
with their diagnostics, and warnings, if there are any.

  probode summary runs/lynx
  probode summary runs/lynx -out lynx.html -case lynx-hare
  probode summary runs/mine -model model.yaml -times 1,2,30 -out new.csv
`,
	flags: []string{"v", "out", "model", "case", "data", "times", "json"},
	long: `Of a run that is not finished, or is still running, it takes the draws that have been
saved. -out shows the traces and the posterior of each pair of parameters; with the model,
-model or -case, also new data as the model predicts them, beside the data.

With -model the summary includes the derived quantities of the model file, and the
quantiles of the prior, from 4000 draws. With -times, which may lie after the data, -out
file.csv has the predictions at these times: the median and the central 95 % interval of
new data and of their expected values.
`}

func summary(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("summary", flag.ContinueOnError)
	m := newExact(flags)
	verbose := flags.Bool("v", false, "print also how the draws were made, with the notes of the chains")
	place := outFile{flag: "out"}
	flags.StringVar(&place.path, "out", "", "`file` for figures (.html), or for the table (.csv); the table has all digits")
	when := flags.String("times", "", "`list` of times for predictions, in the file -out")
	file := flags.String("json", "", "`file` for the numbers as JSON; \"-\" is standard output; see docs/json.md")
	if err := parse(flags, args, summaryHelp, out); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("summary: want one directory")
	}
	numbers := outFile{"json", *file}
	if err := first(checkEnding("out", place.path, ".html", ".csv"), checkOutputs(numbers, place)); err != nil {
		return err
	}
	if m.preset == "" && m.file == "" {
		if err := needs(flags, "without -model or -case", "data", "method", "step", "times"); err != nil {
			return err
		}
	}
	dir := flags.Arg(0)
	cautions, err := readCautions(dir)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // there may be many millions of draws
	chains, missing, err := store.ReadSoFar(dir, counted("reading"))
	if err != nil {
		return err
	}
	if missing != "" {
		cautions = append(cautions, missing)
	}
	chains.Notes = slices.DeleteFunc(chains.Notes, func(note string) bool {
		caution, is := warned(note)
		if is && !slices.Contains(cautions, caution) {
			cautions = append(cautions, caution)
		}
		return is || !*verbose
	})
	table, p, err := m.derive(chains)
	if err != nil {
		return err
	}
	report := table.Report(counted("diagnostics"))
	prior := m.prior(p, table.Names)
	for _, w := range heavyTails(report.Summary) {
		known, _, _ := strings.Cut(w, "(")
		if !slices.ContainsFunc(cautions, func(c string) bool { return strings.HasPrefix(c, strings.TrimSpace(known)) }) {
			cautions = append(cautions, w)
		}
	}
	if err := numbers.write(out, func(w io.Writer) error { return writeSummary(w, chains, report, prior, cautions) }); err != nil {
		return err
	}
	if *when != "" {
		err = m.predictTo(ctx, p, place, dir, *when)
	} else if filepath.Ext(place.path) == ".csv" {
		err = place.write(out, func(w io.Writer) error { return writeTable(w, report, prior) })
	} else if place.path != "" {
		err = drawRun(ctx, p, place, dir, chains)
	}
	if err != nil {
		return err
	}
	out = numbers.beside(out)
	fmt.Fprint(out, report)
	if prior != nil {
		fmt.Fprintln(out)
		rows := [][]string{{"prior", "2.5%", "50%", "97.5%"}}
		for i, q := range prior {
			rows = append(rows, []string{text.Printable(table.Names[i]), fmt.Sprintf("%.4g", q[0]), fmt.Sprintf("%.4g", q[1]), fmt.Sprintf("%.4g", q[2])})
		}
		fmt.Fprint(out, text.Table(rows, text.First))
	}
	for _, w := range cautions {
		fmt.Fprintf(out, "caution: %s\n", w)
	}
	if *verbose {
		fmt.Fprintln(out)
		for _, f := range chains.Meta {
			switch f.Key {
			case "method", "step", "noise": // these contain no names, and in a file no blanks
				f.Value = strings.ReplaceAll(f.Value, "_", " ")
			}
			if !identifies(f.Key) {
				fmt.Fprintf(out, "%s: %s\n", f.Key, f.Value)
			}
		}
	}
	return nil
}

var priorColumns = []string{"prior_q2.5", "prior_q50", "prior_q97.5"}

func writeTable(to io.Writer, report *mcmc.Report, prior [][]float64) error {
	header := []string{"parameter", "mean", "sd", "q2.5", "q50", "q97.5", "mcse_mean", "ess_bulk", "ess_tail", "r_hat"}
	if prior != nil {
		header = append(header, priorColumns...)
	}
	rows := [][]string{header}
	for i, m := range report.Summary {
		values := []float64{m.Mean, m.SD, m.Q025, m.Median, m.Q975, m.MCSE, m.BulkESS, m.TailESS, m.RHat}
		if prior != nil {
			values = append(values, prior[i]...)
		}
		rows = append(rows, cells([]string{text.Printable(m.Name)}, values...))
	}
	return csv.NewWriter(to).WriteAll(rows)
}

// cells appends numbers in the shortest form that reads back exactly.
func cells(row []string, values ...float64) []string {
	for _, v := range values {
		row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return row
}

// identifies reports whether a field, such as a hash, serves only resuming.
func identifies(key string) bool {
	for _, name := range []string{"prior_", "errors", "data", "log_density"} {
		if strings.HasPrefix(key, name) {
			return true
		}
	}
	return false
}

// heavyTails recommends quantiles, which always exist.
func heavyTails(summary diag.Summary) (warnings []string) {
	for _, m := range summary {
		if m.TailIndex > 0 {
			warnings = append(warnings, fmt.Sprintf("%s (the tail index is %.2f): use its quantiles, or a prior with lighter tails", tooHeavy(m.Name), m.TailIndex))
		}
	}
	return warnings
}

func tooHeavy(name string) string {
	return fmt.Sprintf("the tails of %s are so heavy that its mean and sd are poor summaries", text.Printable(name))
}

const cautionName = "caution.txt"

const maxCautions = 1 << 20 // bytes

// writeCautions does not touch a file that is right: the folder may be read-only.
func writeCautions(dir string, cautions []string) error {
	path := filepath.Join(dir, cautionName)
	old, err := plainfile.ReadUnlinked(path, maxCautions)
	if len(cautions) == 0 {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return os.Remove(path)
	}
	content := strings.Join(cautions, "\n") + "\n"
	if err == nil && string(old) == content {
		return nil
	}
	return atomicfile.Replace(path, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
}

// warned returns what a note warns of.
func warned(note string) (caution string, is bool) {
	if _, caution, is = strings.Cut(note, "warning: "); !is {
		caution, is = strings.CutPrefix(note, "caution: ")
	}
	return text.Printable(caution), is
}

func readCautions(dirs ...string) (cautions []string, err error) {
	for _, dir := range dirs {
		content, err := plainfile.ReadUnlinked(filepath.Join(dir, cautionName), maxCautions)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for line := range strings.Lines(string(content)) {
			cautions = append(cautions, text.Printable(strings.TrimSpace(line)))
		}
	}
	slices.Sort(cautions)
	return slices.Compact(cautions), nil
}

func writeSummary(w io.Writer, chains *mcmc.Chains, report *mcmc.Report, prior [][]float64, cautions []string) error {
	all := report.Summary
	return jsonfile.Object{
		"format", "probode summary", "version", 2, "chains", len(chains.Draws), "draws", len(chains.Draws[0]),
		"parameters", jsonfile.List(len(all), func(i int) jsonfile.Object {
			m := all[i]
			o := jsonfile.Object{"name", m.Name, "mean", m.Mean, "sd", m.SD,
				"q2.5", m.Q025, "q50", m.Median, "q97.5", m.Q975,
				"mcse_mean", m.MCSE, "rhat", m.RHat, "ess_bulk", m.BulkESS, "ess_tail", m.TailESS}
			if prior != nil {
				for k, name := range priorColumns {
					o = append(o, name, prior[i][k])
				}
			}
			return o
		}),
		"warnings", append(report.Warnings, cautions...),
	}.Write(w)
}
