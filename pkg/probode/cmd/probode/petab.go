package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/probode/probode/pkg/internal/text"
	modelfile "github.com/probode/probode/pkg/probode/model"
)

const petabHelp = `Reads and evaluates PEtab problems. For each problem that can be read, the table shows
the log-likelihood at the nominal parameters (including all constants, without priors)
and the time of the computation. For each problem that is refused, it shows the reason.

  probode petab Benchmark-Models
  probode petab Boehm_JProteomeRes2014 Fiedler_BMCSystBiol2016

A DIR is the folder of a problem, or a folder of such folders.

The flags:

`

func petab(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("petab", flag.ContinueOnError)
	limit := flags.Duration("limit", time.Minute, "longest `time` per problem")
	outside := flags.Bool("outside", false, outsideHelp)
	if err := parse(flags, args, petabHelp, out); err != nil {
		return err
	}
	switch {
	case flags.NArg() == 0:
		return errors.New("petab: no folders are given (see probode petab -help)")
	case *limit <= 0:
		return fmt.Errorf("-limit %v: want a time > 0", *limit)
	}
	var files []string
	for _, dir := range flags.Args() {
		found, err := problemsIn(dir)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%s: neither this folder nor any folder in it contains the YAML file of a problem", text.Clip(dir))
		}
		files = append(files, found...)
	}
	rows := [][]string{{"problem", "states", "estimated", "conditions", "points", "log-likelihood", "error", "seconds", "refused"}}
	show, loaded, computed := display("problems"), 0, 0
	for i, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, ok, err := tryProblem(ctx, f, *limit, *outside)
		if loads(row) {
			loaded++
		}
		if ok {
			computed++
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		rows = append(rows, row)
		show(i+1, len(files), "")
	}
	fmt.Fprint(out, text.Table(rows, func(c int) bool { return c == 0 || c == 8 }))
	_, err := fmt.Fprintf(out, "\n%d of %d problems could be read, and the log-likelihood was computed for %d\n", loaded, len(files), computed)
	return err
}

func loads(row []string) bool { return row[1] != "" }

func tryProblem(ctx context.Context, file string, limit time.Duration, outside bool) (row []string, ok bool, err error) {
	name := filepath.Base(filepath.Dir(file))
	if base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)); base != name && base != "problem" {
		name += "/" + base
	}
	row = make([]string, 9)
	row[0] = text.Clip(name)
	begin := time.Now()
	refused := func(err error) ([]string, bool, error) {
		row[7], row[8] = fmt.Sprintf("%.2f", time.Since(begin).Seconds()), text.Printable(err.Error())
		return row, false, err
	}
	p, err := loadFile(file, outside)
	if err != nil {
		return refused(err)
	}
	list, err := p.Instances()
	if err != nil {
		return refused(err)
	}
	states := 0
	for _, m := range p.Models {
		states = max(states, len(m.States))
	}
	free, points := p.Size()
	for i, n := range []int{states, free, len(list), points} {
		row[1+i] = strconv.Itoa(n)
	}
	l, err := p.LogLikelihood(modelfile.LikelihoodSettings{})
	if err != nil {
		return refused(err)
	}
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the log-likelihood took longer than %v: set a larger -limit", limit))
	defer cancel()
	v, err := l.At(within, p.Nominal(), false)
	if err != nil {
		if within.Err() != nil {
			err = context.Cause(within)
		}
		return refused(err)
	}
	row[5], row[6], row[7] = fmt.Sprintf("%.8f", v.LogLikelihood), fmt.Sprintf("%.0e", math.Max(v.Error, 1e-12)), fmt.Sprintf("%.2f", time.Since(begin).Seconds())
	return row, true, nil
}

// problemsIn returns the YAML files in a folder or, if it has none, in its subfolders.
func problemsIn(dir string) ([]string, error) {
	own, folders, err := yamlFiles(dir)
	if err != nil || len(own) > 0 {
		return own, err
	}
	var list []string
	for _, f := range folders {
		files, _, err := yamlFiles(f)
		if err != nil {
			return nil, err
		}
		list = append(list, files...)
	}
	return list, nil
}

func yamlFiles(dir string) (files, folders []string, err error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, nil, fmt.Errorf("%s: cannot be read: %w", text.Clip(dir), reason(err))
	}
	for _, e := range entries {
		full := filepath.Join(dir, e.Name())
		info, err := os.Stat(full) // a link counts as its target
		switch {
		case err != nil || strings.HasPrefix(e.Name(), "."):
		case info.IsDir():
			folders = append(folders, full)
		case strings.HasSuffix(e.Name(), ".yaml") || strings.HasSuffix(e.Name(), ".yml"):
			files = append(files, full)
		}
	}
	return files, folders, nil
}
