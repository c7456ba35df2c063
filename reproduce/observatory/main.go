// Observatory measures every method on every problem at several step sizes or tolerances:
// the error, the cost, and whether the calibrated spread has the size of the errors at
// parameters other than those of the calibration.
//
//	go run ./reproduce/observatory [-quick] [-out DIR] [-only cells|answers|page] [-seed N] [-paths N] [-workers N]
//
// It writes DIR/cells.csv with a row for each rule of each cell; DIR/summary.csv with a row
// for each cell; DIR/answers.csv with a row for each posterior, remedy and step; and
// DIR/observatory.html, which needs no other file. Results in these files are not computed
// again: a run that was stopped continues where it was.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/probode/probode/reproduce/internal/shell"
)

// An observatory is one run of the program.
type observatory struct {
	subjects []subject
	entrants []entrant
	rules    []rule
	levels   int // step sizes
	others   int // number of θ at which calibrations are judged
	paths    int
	seed     uint64
	workers  int
	out      string

	questions []question
	remedies  []remedy
	draws     int // draws of each of four chains
}

func main() { shell.Main("observatory", run) }

func run(ctx context.Context, args []string) error {
	o := &observatory{subjects: subjects, entrants: entrants, rules: rules, levels: 3, others: 10,
		questions: questions, remedies: remedies, draws: 1000}
	fs := flag.NewFlagSet("observatory", flag.ContinueOnError)
	quick := fs.Bool("quick", false, "compute a few problems and methods in seconds")
	only := fs.String("only", "", "compute only `cells` or answers, or nothing (page); the page shows the results that exist")
	fs.StringVar(&o.out, "out", filepath.Join("reproduce", "out", "observatory"), "`directory` for the results")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	fs.IntVar(&o.paths, "paths", 64, "`number` of paths of an ensemble, at least 40; fewer if paths are expensive")
	fs.IntVar(&o.workers, "workers", 0, "`number` of cells at the same time, 0 for the number of cores; changes only times")
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
		o.subjects, o.entrants, o.rules = quickly()
		o.levels, o.others = 2, 3
		o.questions, o.remedies, o.draws = questions[3:4], slices.Concat(remedies[:1], remedies[2:4]), 200
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if err := o.settle(); err != nil {
		return err
	}
	rows, err := load[row](filepath.Join(o.out, "cells.csv"))
	if err == nil && (*only == "" || *only == "cells") {
		rows, err = o.observe(ctx, rows)
	}
	if err != nil {
		return err
	}
	answers, err := load[answer](filepath.Join(o.out, "answers.csv"))
	if err == nil && (*only == "" || *only == "answers") {
		answers, err = o.answerAll(ctx, answers)
	}
	if err != nil {
		return err
	}
	var small bytes.Buffer
	if err := summary(rows).Write(&small); err != nil {
		return err
	}
	if err := shell.WriteFile(filepath.Join(o.out, "summary.csv"), small.Bytes()); err != nil {
		return err
	}
	return o.writePage(filepath.Join(o.out, "observatory.html"), rows, answers)
}

// settle refuses a folder with results of other settings.
func (o *observatory) settle() error {
	path := filepath.Join(o.out, "settings")
	mine := fmt.Sprintf("seed %d, %d paths, %d other θ, %d draws", o.seed, o.paths, o.others, o.draws)
	if text, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(text)) != mine {
		return fmt.Errorf("%s has results of %s, not of %s: want another -out", o.out, strings.TrimSpace(string(text)), mine)
	}
	return shell.WriteFile(path, []byte(mine+"\n"))
}

// observe computes the cells that are missing in rows, and returns all rows in the order of
// the lists.
func (o *observatory) observe(ctx context.Context, rows []row) ([]row, error) {
	path := filepath.Join(o.out, "cells.csv")
	type job struct {
		cell
		t *truth
	}
	var mu sync.Mutex
	var failed error
	begin, said := time.Now(), time.Now()
	done, total := 0, len(o.subjects)*len(o.entrants)*o.levels
	jobs := make(chan job)
	var group sync.WaitGroup
	for range o.workers {
		group.Go(func() {
			for j := range jobs {
				got, err := j.compute(ctx, o, j.t)
				mu.Lock()
				if err == nil {
					rows = append(rows, got...)
					err = save(path, rows)
				}
				if err != nil && failed == nil {
					failed = err
				}
				done++
				if time.Since(said) > 10*time.Second {
					said = time.Now()
					fmt.Fprintf(os.Stderr, "%d of %d cells in %s: %s, %s\n", done, total, said.Sub(begin).Round(time.Second), j.t.p.Name, j.entrant.name)
				}
				mu.Unlock()
			}
		})
	}
	var truths []*truth
	err := func() error {
		defer close(jobs)
		for i := range o.subjects {
			t, err := newTruth(ctx, &o.subjects[i], o.others, o.seed)
			if err != nil {
				return err
			}
			truths = append(truths, t)
			for j := range o.entrants {
				for level := range o.levels {
					c := cell{&o.subjects[i], &o.entrants[j], level}
					if c.entrant.tols != nil && level >= len(c.entrant.tols) {
						continue
					}
					mu.Lock()
					known, stop := o.has(rows, &c, t), failed != nil
					if known {
						done++
					}
					mu.Unlock()
					if stop || ctx.Err() != nil {
						return ctx.Err()
					}
					if !known {
						jobs <- job{c, t}
					}
				}
			}
		}
		return nil
	}()
	group.Wait()
	if err == nil {
		err = failed
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted; %s has the results so far", path)
		}
		return nil, err
	}
	rows = o.inOrder(rows, truths)
	return rows, save(path, rows)
}

// has reports whether all rows of a cell exist. If a rule is missing, the cell is computed
// again.
func (o *observatory) has(rows []row, c *cell, t *truth) bool {
	_, size := c.mesh(t)
	want := map[string]bool{"none": true}
	for _, r := range o.rules {
		want[r.name] = true
	}
	for _, r := range rows {
		if r.problem == t.p.Name && r.method == c.entrant.name && r.size == size {
			if want[r.rule] = false; r.rule == "none" && r.status != "ok" {
				return true
			}
		}
	}
	for _, missing := range want {
		if missing {
			return false
		}
	}
	return true
}

// inOrder sorts rows by the lists, and removes rows that are not in them or occur twice.
func (o *observatory) inOrder(rows []row, truths []*truth) []row {
	var out []row
	for i, t := range truths {
		for j := range o.entrants {
			for level := range o.levels {
				c := cell{&o.subjects[i], &o.entrants[j], level}
				if c.entrant.tols != nil && level >= len(c.entrant.tols) {
					continue
				}
				_, size := c.mesh(t)
				for _, name := range append([]string{"none"}, o.names()...) {
					at := slices.IndexFunc(rows, func(r row) bool {
						return r.problem == t.p.Name && r.method == c.entrant.name && r.size == size && r.rule == name
					})
					if at >= 0 {
						rows[at].kind = t.kind // it may have been renamed
						out = append(out, rows[at])
					}
				}
			}
		}
	}
	return out
}

// names returns the names of the rules.
func (o *observatory) names() []string {
	var names []string
	for _, r := range o.rules {
		names = append(names, r.name)
	}
	return names
}
