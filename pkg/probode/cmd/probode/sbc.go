package main

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/bayes/sbc"
	"github.com/probode/probode/pkg/viz/plots"
)

const sbcHelp = `Simulation-based calibration: does a scheme draw from the right posterior? The command
draws parameters from their priors and data from the model, and ranks the parameters
among the draws of the scheme for these data. If the scheme is right, all ranks are
equally likely. The model is logistic growth with an unknown rate, initial value and size
of errors. Its step is so coarse that the error of the solver is as large as the errors
in the data.

  probode sbc -scheme pcn -sets 1000 -out sbc.html
  probode sbc -scheme all -sets 200
  probode sbc -scheme paper        # fails, as it should

P is the probability that a correct scheme deviates at least as much. For each quantity
the figure shows a histogram of the ranks and, below it, the difference between their
distribution function and the uniform one. With a correct scheme all bars, and the whole
curve, are within the bands with probability 0.95.

`

const maxSets = 1_000_000

// leastRanks is the smallest number of draws with which a rank shows more than whether the
// parameter is smaller or larger than the draws.
const leastRanks = 3

func sbcVerb(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sbc", flag.ContinueOnError)
	all := append(slices.Clone(samplers), sample.Reweighted{})
	all = slices.DeleteFunc(all, func(s sample.Sampler) bool { d, is := s.(sample.Deterministic); return is && d.Integral != nil })
	var names []string
	for _, s := range all {
		names = append(names, samplerName(s))
	}
	name := flags.String("scheme", "pcn", "scheme: "+strings.Join(names, ", ")+"; all means all correct schemes")
	sets := flags.Int("sets", 1000, "number of data sets")
	ranks := flags.Int("ranks", 19, "number of posterior draws among which the true value of a parameter is ranked")
	seed := flags.Uint64("seed", 1, "seed of all random numbers")
	workers := flags.Int("workers", 0, "number of data sets that are processed at the same time; 0 means one for each processor")
	file := flags.String("out", "", "`file` for the figure (.html, .png or .svg); the ranks are written to a .csv file with the same name")
	quiet := flags.Bool("quiet", false, "show no progress")
	if err := parseOnly(flags, args, sbcHelp, out); err != nil {
		return err
	}
	if err := first(inRange("sets", *sets, 1, maxSets), inRange("ranks", *ranks, leastRanks, maxSets), inRange("workers", *workers, 0, maxWorkers)); err != nil {
		return err
	}
	if err := checkEnding("out", *file, ".html", ".png", ".svg"); err != nil {
		return err
	}
	if err := checkOutputs(pageOutputs(*file)...); err != nil {
		return err
	}
	var chosen []sample.Sampler
	for i, s := range all {
		if *name == "all" && s.Target().Distribution != sample.NoTarget || *name == names[i] {
			chosen = append(chosen, s)
		}
	}
	if chosen == nil {
		return fmt.Errorf("-scheme %s: want all, %s", *name, strings.Join(names, ", "))
	}

	p := calibration()
	var results []*sbc.Result
	var failed error
	for _, s := range chosen {
		settings := sbc.Settings{Sets: *sets, Ranks: *ranks, Seed: *seed, Workers: *workers}
		show := display(s.String())
		settings.Progress = func(done, total int) {
			if !*quiet {
				show(done, total, "")
			}
		}
		r, err := sbc.Run(ctx, p, s, settings)
		show(1, 1, "") // removes the line
		if r != nil {
			results = append(results, r)
			fmt.Fprintln(out, r)
		}
		if err != nil {
			failed = err
			break
		}
	}
	checks := 0
	for _, r := range results {
		checks += len(r.Names)
	}
	// If all samplers are correct, about one run in a hundred has a p-value below
	// `limit`.
	limit, found := 0.01/float64(checks), false
	for _, r := range results {
		for k, quantity := range r.Names {
			if v := r.P(k); v < limit {
				found = true
				fmt.Fprintf(out, "%v: the ranks of %s are not uniform (P = %.1g): the scheme does not draw from the posterior\n", r.Sampler, quantity, v)
			}
		}
	}
	if !found && checks > 0 {
		fmt.Fprintf(out, "no sign of a wrong distribution: none of the %d p-values is below %.1g\n", checks, limit)
	}
	if *file == "" || len(results) == 0 {
		return failed
	}
	table := tableOf(*file)
	err := outFile{"out", table}.write(out, func(w io.Writer) error { return writeRanks(w, results) })
	if err == nil {
		err = outFile{"out", *file}.write(out, func(w io.Writer) error { return draw(w, *file, plots.Calibration(results...)) })
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %s\n", text.Printable(*file), text.Printable(table))
	return failed
}

// calibration is x′ = θx(1 − x) on [0, 4] by forward Euler with h = 1/4, observed at nine
// times, some of them between grid points.
func calibration() *bayes.Posterior {
	problem := &probode.Problem{
		Name: "logistic growth", States: []string{"x"}, Params: []string{"rate"},
		X0: []float64{0.1}, Theta: []float64{1.5}, Span: [2]float64{0, 4}, Autonomous: true,
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = theta[0] * x[0] * (1 - x[0]) },
	}
	data := &bayes.Data{}
	for i := range 9 {
		data.T = append(data.T, 0.4+0.4*float64(i))
		data.Y = append(data.Y, []float64{0}) // replaced for each data set
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "rate", Prior: distuv.LogNormal{Mu: 0.4, Sigma: 0.3}},
				{Name: "x0", Prior: distuv.Beta{Alpha: 4, Beta: 16}},
				{Name: "sigma", Prior: distuv.Gamma{Alpha: 8, Beta: 80}},
			},
			Experiments: []bayes.Experiment{{
				Problem: problem.UnknownStart(), Data: data,
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.25), Alpha: 0.05},
	}
}

func writeRanks(w io.Writer, results []*sbc.Result) error {
	out := csv.NewWriter(w)
	out.Write([]string{"scheme", "quantity", "set", "rank", "ranks"})
	for _, r := range results {
		for k, name := range r.Names {
			for i, rank := range r.Ranks[k] {
				out.Write([]string{samplerName(r.Sampler), name, strconv.Itoa(i + 1), strconv.Itoa(rank), strconv.Itoa(r.Draws + 1)})
			}
		}
	}
	out.Flush()
	return out.Error()
}
