// Command observatory applies every method to every problem at several step sizes or
// tolerances. The command measures the error and the cost of each solution. The command
// also checks whether the calibrated spread is as large as the errors. The check uses
// parameter values that were not used for the calibration.
//
//	go run ./reproduce/observatory [-quick] [-out DIR] [-only cells|answers|page] [-seed N] [-paths N] [-workers N]
//
// A cell is a combination of a method, a problem, and a step size or tolerance. A rule
// determines how the noise is calibrated. The file DIR/cells.csv has a row for each rule
// in each cell, and DIR/summary.csv has a row for each cell. The file DIR/answers.csv has
// a row for each combination of a posterior, a remedy and a step size. The file
// DIR/observatory.html is a page that needs no other files. The program skips results
// that the files already contain, so an interrupted run can be continued. Each row contains
// the settings of its run. If the files contain results of other settings, the program
// stops. The program does not notice changes of its own source code.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/probode/probode/internal/shell"
)

func main() { shell.Main("observatory", run) }

func run(ctx context.Context, args []string) error {
	o := &observatory{subjects: subjects, entrants: entrants, rules: rules, levels: 3, others: 10,
		questions: questions, remedies: remedies, draws: 1000}
	fs := flag.NewFlagSet("observatory", flag.ContinueOnError)
	quick := fs.Bool("quick", false, "run only a few methods on a few problems, which takes seconds")
	only := fs.String("only", "", "`part` to compute: cells, answers, or page (makes only the page, from existing results); default: all")
	fs.StringVar(&o.out, "out", filepath.Join("reproduce", "out", "observatory"), "`directory` for the results")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	fs.IntVar(&o.paths, "paths", 64, "largest `number` of paths in an ensemble; if paths are expensive, an ensemble has fewer paths, but at least 40")
	fs.IntVar(&o.workers, "workers", 0, "`number` of parallel computations (0 means the number of cores); only the measured times depend on this number")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"", "cells", "answers", "page"}, *only):
		return fmt.Errorf("-only is %q: want cells, answers or page", *only)
	case o.paths < 40 || o.paths > 1e6:
		return fmt.Errorf("-paths is %d: want a number from 40 to 1000000", o.paths)
	case o.workers < 0 || o.workers > 4096:
		return fmt.Errorf("-workers is %d: want a number from 0 to 4096", o.workers)
	}
	if o.workers == 0 {
		o.workers = runtime.GOMAXPROCS(0)
	}
	if *quick {
		o.subjects, o.entrants = quickly()
		o.levels, o.others = 2, 3
		o.questions, o.remedies, o.draws = questions[3:4], slices.Concat(remedies[:1], remedies[2:4]), 200
	}
	return o.run(ctx, *only)
}

func (o *observatory) run(ctx context.Context, only string) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	cells, err := open(filepath.Join(o.out, "cells.csv"), (*row).key)
	if err == nil {
		err = cells.only(o.inputs(), func(r *row) string { return r.Inputs })
	}
	if err != nil {
		return err
	}
	answers, err := open(filepath.Join(o.out, "answers.csv"), (*answer).key)
	if err == nil {
		err = answers.only(o.inputs(), func(a *answer) string { return a.Inputs })
	}
	if err != nil {
		return err
	}
	if only == "" || only == "cells" {
		err = o.observe(ctx, cells)
	}
	if err == nil && (only == "" || only == "answers") {
		err = o.answerAll(ctx, answers)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted; %s has the results so far", o.out)
	case err != nil:
		return err
	}
	return o.writePage(cells.rows, answers.rows)
}
