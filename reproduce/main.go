// Command reproduce runs every experiment of "Implicit Probabilistic Integrators for
// ODEs" (Teymur, Lie, Sullivan & Calderhead, NeurIPS 2018) and writes a report that
// compares the results with those of the paper.
//
//	go run ./reproduce [-only fig1,fig2,alpha,alphacurve,orders,meansquare,paths]
//	                   [-data FILE] [-seed N] [-out DIR] [-quick] [-check]
//	                   [-paths N] [-iterations N] [-workers N] [-update]
//
// The experiments, each with its CSV files:
//
//	fig1        Figure 1, an ensemble of paths
//	alpha       §3.1, α* of six methods
//	alphacurve  log-probability curves of α (commented out in the source of the paper)
//	fig2        Figure 2, posteriors of (θ₂, θ₃)
//	orders      §2.4, the order after linearisation
//	meansquare  Theorem (iii), the order in mean square
//	paths       path plots of two problems (commented out in the source of the paper)
//
// Each experiment first writes its numbers to CSV files; the figures and the report are
// made from these files. For a given seed, the number of workers does not change a single
// byte of the CSV files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/internal/shell"
)

var experiments = []*experiment{&fig1, &alpha, &alphaCurve, &fig2, &orders, &meanSquare, &paths}

func main() { shell.Main("reproduce", run) }

func run(ctx context.Context, args []string) error {
	s := &study{took: make(map[string]time.Duration)}
	fs := flag.NewFlagSet("reproduce", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "usage: go run ./reproduce [flags]\n\nRuns the experiments of the paper, and writes the results and report.html to the directory given with -out.\n\n")
		fs.PrintDefaults()
	}
	var names []string
	for _, e := range experiments {
		names = append(names, e.name)
	}
	only := fs.String("only", strings.Join(names, ","), "comma-separated `list` of the experiments to compute")
	fs.StringVar(&s.dataFile, "data", "", "CSV `file` with columns t, V_obs and R_obs, instead of the built-in synthetic data")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all random numbers")
	fs.StringVar(&s.out, "out", filepath.Join("reproduce", "out"), "`directory` for the results")
	fs.BoolVar(&s.quick, "quick", false, "run every experiment in a reduced form; this takes half a minute, or up to two minutes if the program has to be compiled first")
	check := fs.Bool("check", false, "compare the results with reproduce/expected; the exit status is 1 if they differ")
	update := fs.Bool("update", false, "replace the files in reproduce/expected with the results; must be run in the root of the repository")
	fs.IntVar(&s.minPaths, "paths", 0, "smallest `number` of paths of every ensemble")
	fs.IntVar(&s.iterations, "iterations", 0, "minimum `number` of iterations of every Markov chain after burn-in")
	fs.IntVar(&s.workers, "workers", 0, "`number` of goroutines (0 means the number of cores); the results do not depend on this number")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	for _, n := range []struct {
		flag        string
		value, most int
	}{{"paths", s.minPaths, 1e9}, {"iterations", s.iterations, 1e9}, {"workers", s.workers, 4096}} {
		if n.value < 0 || n.value > n.most {
			return fmt.Errorf("-%s is %d: want a number from 0 to %d", n.flag, n.value, n.most)
		}
	}
	switch {
	case *check && *update:
		return errors.New("-check and -update: want one of them")
	case *update && (s.quick || s.dataFile != "" || s.seed != 1):
		return errors.New("-update needs a full run with seed 1 and the built-in data")
	}
	wanted := strings.Split(strings.ReplaceAll(*only, " ", ""), ",")
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only names the unknown experiment %q: want one or more of %s", name, strings.Join(names, ","))
		}
	}
	for _, e := range experiments {
		if slices.Contains(wanted, e.name) {
			s.only = append(s.only, e)
		}
	}
	if s.workers == 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	if err := s.loadData(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	start := time.Now()
	for i, e := range s.only {
		fmt.Fprintf(os.Stderr, "[%d/%d] %s: %s\n", i+1, len(s.only), e.name, e.title)
		begin := time.Now()
		if err := e.compute(ctx, s); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted during %s; the results of all earlier experiments are complete and are in %s", e.name, s.out)
			}
			return fmt.Errorf("%s: %w", e.name, err)
		}
		s.took[e.name] = time.Since(begin)
	}
	report := filepath.Join(s.out, "report.html")
	holds, of, err := s.writeReport(report)
	if err != nil {
		return err
	}
	fmt.Printf("computed in %s\n", time.Since(start).Round(time.Second/10))
	switch {
	case *update:
		err = s.update()
	case *check:
		err = s.check()
	}
	fmt.Printf("%d of %d claims of the paper hold: see %s\n", holds, of, report)
	return err
}
