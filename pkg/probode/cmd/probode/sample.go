package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
	"github.com/probode/probode/pkg/probode/reference"
)

const sampleHelp = `Draws from the posterior of a model and writes the draws to a directory, one file
per chain, in a format that ArviZ and pandas read. After Ctrl-C, or if the program is
killed, the same command resumes the run, and in the end the files are the same,
byte for byte. Without -draws each chain makes 1000 draws, and their number is doubled, up
to 32000, until every parameter has 400 effective draws, or 100 per chain if that is
more, and R̂ is below 1.01. The run ends early if 32000 draws would not be enough either,
judging by the effective draws so far, and it stops after eight minutes. The same command
then continues it, and -draws sets no limit of time. If the draws of a model are not enough,
the command computes profile likelihoods for up to two minutes, and names the parameters
that the data do not determine. A larger -draws extends a study. With -chain it
draws only the given chains, so that a study can be split between machines; probode merge
collects the chains.

  probode sample -case lynx-hare -chains 8 -draws 5000 -dir runs/lynx
  probode summary runs/lynx

The same study with one process for each chain, two at a time:

  seq 8 | xargs -P 2 -I{} probode sample -case lynx-hare … -chains 8 -chain {} \
    -dir runs/parts/{}
  probode merge runs/lynx runs/parts/*

On Slurm use a job array: environment/slurm/array.sbatch. In Python (for ArviZ 1.0
and later see probode merge -help):

  post = arviz.from_cmdstan(posterior="runs/lynx/chain-*.csv",
                            log_likelihood="log_lik")
  arviz.summary(post, var_names=["~y_hat"])
  pandas.read_csv("runs/lynx/chain-1.csv", comment="#")

Without -scheme the draws come from the posterior of an accurate solver. The command
looks for the modes of the posterior, takes the cheapest solver whose error at the modes
is at most 0.01 posterior standard deviations, and chooses between NUTS, split HMC,
parallel tempering and random walks (deterministic). A line says what it chose and why. In
the end it compares the solver with an accurate one at some of the draws.

With -scheme nothing is chosen, and the solver is that of -method and -step. With -method
or -step alone, an accurate solver checks each move that this solver accepts
(delayed-acceptance-accurate). With -alpha the error of the solver is part of the model, as in
the paper (hamiltonian, or pcn where that needs gradients that the solver does not have):
that widens the posterior and does not correct it.

With -method ek0, ek1 or ckf, -scheme fenrir and dalton integrate the solution out. -alpha is
the diffusion κ². The measurement errors must be Gaussian or log-normal; dalton also takes
others whose log density is smooth, such as counts.

With -start fit.json the search for modes begins at the ends of an earlier probode fit,
so that nothing is searched for twice. If that fit computed profiles, the command names
the parameters that the data do not determine.

Each draw also has log_lik, the log density of each datum, and y_hat, the expected
value of each datum. y_hat has no observation error, so it is not a draw from the
posterior predictive distribution.

`

// sampleVerb draws from a posterior and writes the draws to a directory.
func sampleVerb(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sample", flag.ContinueOnError)
	model := newModel(flags)
	name := flags.String("scheme", "", "how to draw: "+samplerNames()+"; default: see above")
	start := flags.String("start", "", "where to begin the search for the modes around which the chains start: a `file` written by probode fit -json, the word nominal, or the word prior; the default is prior or, with many parameters, nominal")
	dir := flags.String("dir", "", "`directory` for the draws")
	only := flags.String("chain", "", "draw only the chain with this `number`, or the chains of a list such as 1,3; the first chain has the number 1")
	burnIn := flags.Int("burn-in", 0, "iterations of each chain before the first draw; 0: the number depends on the model")
	thin := flags.Int("thin", 1, "number of iterations for each draw that is kept")
	workers := flags.Int("workers", 0, "number of chains that run at the same time; 0: one for each processor")
	every := flags.Duration("checkpoint", 5*time.Second, "time between two saved states of the chains")
	quiet := flags.Bool("quiet", false, "show no progress")
	if err := parseOnly(flags, args, sampleHelp+modelHelp+"\n", out); err != nil {
		return err
	}

	var s mcmc.Settings
	switch {
	case *dir == "":
		return errors.New("-dir: want a directory for the draws")
	case *every <= 0:
		return fmt.Errorf("-checkpoint %v: want a time > 0", *every)
	}
	if err := first(inRange("workers", *workers, 0, maxWorkers), model.checkCounts(*burnIn, *thin)); err != nil {
		return err
	}
	if err := checkFolder(*dir); err != nil {
		return err
	}
	automatic := *name == "" && !model.set("alpha") && !model.set("method") && !model.set("step")
	switch {
	case *name != "":
	case model.set("alpha"):
		*name = samplerName(sample.Hamiltonian{})
	default:
		*name = samplerName(sample.DelayedAcceptance{Second: probode.Setup{Mesh: reference.Accurate{}}})
	}
	sampler, err := samplerNamed(*name)
	if err != nil {
		return err
	}
	if !sampler.Target().Noisy() {
		if idle := needs(flags, "with -scheme "+*name+", which draws without noise in the solver", "alpha", "noise"); idle != nil {
			fmt.Fprintln(os.Stderr, "warning:", idle)
		}
	}
	ctx = watch(ctx, *quiet)
	s.BurnIn, s.Thin, s.Workers = *burnIn, *thin, *workers
	s.Seed, s.Chains, s.Draws = model.seed, model.chains, model.draws
	if s.Only, err = chainList(*only, s.Chains); err != nil {
		return err
	}
	// A scheme that ignores the error of the solver needs no α, so the slow calibration
	// is skipped.
	build := func(ctx context.Context) (*bayes.Posterior, error) { return model.posterior(ctx) }
	if !sampler.Target().Noisy() {
		build = func(context.Context) (*bayes.Posterior, error) { return model.build() }
	}
	p, err := build(ctx)
	if err != nil {
		return err
	}

	// The chains start around these modes, and the report at the end lists them.
	from, err := model.starts(*start)
	if err != nil {
		return fmt.Errorf("-start %s: %w", text.Clip(*start), err)
	}
	unknown := undetermined(*start)
	options := store.Options{Checkpoint: *every}
	var plan *sample.Plan
	if automatic {
		if plan, err = sample.Choose(ctx, p, from, s); err == nil {
			p, sampler, s.Start = plan.Posterior, plan.Sampler, plan.Start
			options.Meta = []mcmc.Field{{Key: "note", Value: plan.Why}}
			fmt.Fprintf(out, "%s\n%s", text.Printable(plan.Why), unknown)
		}
	} else if p.Modes == nil || from != nil {
		search := modes.Settings{Seed: s.Seed, Workers: s.Workers}
		if from != nil {
			search.From, search.Points, search.Starts = from, -1, 1
		}
		p.Modes, err = modes.Find(ctx, p, search)
		if s.Start = startsAt(from, p.Modes); s.Start != nil {
			note := "chains start at the points of -start: no mode with a Gaussian shape was found"
			options.Meta = []mcmc.Field{{Key: "note", Value: note}}
			fmt.Fprintln(out, note)
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return stopped("stopped at 0 %; run the same command to continue")
	case ctx.Err() != nil, err != nil && automatic:
		return err
	}
	if *start == "prior" {
		s.Start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
	}

	// The first report shows what an earlier call has done.
	var percent int
	before := unfinished(*dir, s)
	show := display("sampling")
	s.Progress = func(done, total int, doing string) {
		percent = 100 * done / max(1, total)
		if before {
			before = false
			fmt.Fprintf(out, "continuing at %d %%\n", percent)
		}
		if !*quiet {
			show(done, total, doing)
		}
	}
	words := ""
	// Without -draws, the draws of all chains so far determine how many more are made.
	open, limited := s.Draws == 0 && s.Only == nil, ctx
	if open {
		var end context.CancelFunc
		limited, end = context.WithTimeout(ctx, patience)
		defer end()
		s.Draws = max(firstDraws, store.Length(*dir))
		switch sampler.(type) {
		case sample.NUTS, sample.SplitHMC:
			s.Draws = max(fewDraws, store.Length(*dir)) // their draws are nearly independent
		}
	}
	for {
		err = sample.Store(limited, p, sampler, *dir, s, options)
		if limited.Err() != nil && ctx.Err() == nil {
			if unknown == "" {
				model.profile(ctx, *start, out)
			}
			return stopped(fmt.Sprintf("stopped after %v at %d %%; run the same command to continue, or with -draws, which sets no limit of time", patience, percent))
		}
		if errors.Is(err, context.Canceled) {
			return stopped(fmt.Sprintf("stopped at %d %%; run the same command to continue", percent))
		}
		if err != nil {
			return err
		}
		if !open {
			break
		}
		chains, err := store.Read(*dir)
		if err != nil {
			return err
		}
		var enough, hopeless bool
		if enough, hopeless, words = sufficient(chains); enough || hopeless || 2*s.Draws > lastDraws {
			if enough {
				for _, warning := range chains.Warnings() {
					words += "caution: " + text.Printable(warning) + "\n"
				}
			} else if unknown == "" {
				model.profile(ctx, *start, out)
			}
			break
		}
		if !*quiet {
			fmt.Fprint(os.Stderr, words)
		}
		s.Draws *= 2
	}
	n := len(s.Only)
	if s.Only == nil {
		n = s.Chains
	}
	fmt.Fprintf(out, "%d of %d chains in %s\n%s", n, s.Chains, text.Printable(*dir), words)
	if plan != nil && s.Only == nil {
		if chains, err := store.Read(*dir); err == nil {
			words, err := plan.Check(ctx, chains)
			if ctx.Err() != nil {
				return stopped("the chains are complete; stopped while the solver was being checked")
			}
			if err != nil {
				words = fmt.Sprintf("caution: the solver could not be checked: %v", err)
			}
			fmt.Fprintln(out, words)
		}
	}
	if plan != nil || sampler.Target().Distribution == sample.Accurate {
		return nil // p.Modes belong to an accurate posterior, or to another one
	}
	return printModes(ctx, p, *dir, s, out)
}

// Without -draws, each chain generates firstDraws draws. Their number is doubled, up to
// lastDraws, until they are sufficient.
const firstDraws, lastDraws = 1000, 32_000

// fewDraws replaces firstDraws for samplers whose draws are nearly independent.
const fewDraws = 250

// patience is the time after which a run without -draws stops.
const patience = 8 * time.Minute

// profile computes the profile likelihoods of a model from a file, within two minutes, so
// that it can name the parameters that the data do not determine.
func (m *model) profile(ctx context.Context, start string, out io.Writer) {
	if m.loaded == nil {
		return
	}
	ctx, end := context.WithTimeout(ctx, 2*time.Minute)
	defer end()
	f := fitFlags{profiles: true, level: 0.95}
	f.set.Starts = 20
	var err error
	if start != "" && start != "prior" {
		f.set.Starts = 0
		f.set.From, err = startsOf(m.loaded, start, nearBest)
	}
	fmt.Fprint(out, "The draws are not enough. Profile likelihoods show which parameters the data determine:\n\n")
	if err == nil {
		err = f.run(ctx, m.loaded, out)
	}
	if err != nil {
		fmt.Fprintf(out, "caution: the profile likelihoods are not complete: %v\n", err)
	}
	fmt.Fprintln(out)
}

// sufficient reports whether every parameter has 400 effective draws, or 100 for each
// chain if that is more, and an R̂ below 1.01. If not, hopeless says whether, at the
// present rate, even lastDraws draws per chain would give too few effective draws. The
// result words describes the draws, and names the parameters with too few effective draws
// or too large an R̂.
func sufficient(c *mcmc.Chains) (enough, hopeless bool, words string) {
	const listed = 6
	wanted := float64(max(400, 100*len(c.Draws)))
	least, most, few, apart := math.Inf(1), 0., "", ""
	var names []string
	for _, m := range c.Summary() {
		ess := min(m.BulkESS, m.TailESS)
		if !(ess >= least) && !math.IsNaN(least) {
			least, few = ess, m.Name
		}
		if !(m.RHat <= most) && !math.IsNaN(most) {
			most, apart = m.RHat, m.Name
		}
		if !(ess >= wanted && m.RHat < 1.01) {
			names = append(names, text.Printable(m.Name))
		}
	}
	n := len(c.Draws[0])
	words = fmt.Sprintf("%d draws from each chain: at least %.0f effective draws (%s), R̂ at most %.3f (%s)\n",
		n, math.Floor(least), text.Printable(few), most, text.Printable(apart))
	if names == nil {
		return true, false, words
	}
	if more := len(names) - listed; more > 0 {
		names = append(names[:listed], fmt.Sprintf("%d more", more))
	}
	words += fmt.Sprintf("caution: that is not enough for %s: want %.0f effective draws and R̂ below 1.01\n", strings.Join(names, ", "), wanted)
	if hopeless = !(least*lastDraws >= wanted*float64(n)); hopeless {
		words += fmt.Sprintf("At this rate even %d draws would not be enough. If you set -draws, the study is continued up to that number.\n", lastDraws)
	}
	return false, hopeless, words
}

// printModes prints a table of the modes if there are several modes, all chains are in
// dir, and the draws fit into memory.
func printModes(ctx context.Context, p *bayes.Posterior, dir string, s mcmc.Settings, out io.Writer) error {
	const most = 4_000_000 // draws
	if p.Modes == nil || len(p.Modes.Modes) < 2 || s.Chains*s.Draws > most {
		return nil
	}
	chains, err := store.Read(dir)
	if err != nil {
		return nil // other machines draw the other chains
	}
	table, err := assess.ModeTable(ctx, p, p.Modes, chains, probode.Setup{Mesh: reference.Accurate{}})
	if err != nil {
		if ctx.Err() != nil {
			return stopped("the chains are complete; stopped during the search for modes of the accurate posterior")
		}
		fmt.Fprintf(out, "caution: %v\n", err)
		return nil
	}
	if table != "" {
		fmt.Fprintf(out, "\n%s", table)
	}
	return nil
}

// chainList reads the numbers of chains, which begin at 1. Nil means all.
func chainList(text string, chains int) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var out []int
	seen := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > chains || seen[n] {
			return nil, fmt.Errorf("-chain %s: want numbers from 1 to %d, each at most once", text, chains)
		}
		seen[n] = true
		out = append(out, n-1)
	}
	return out, nil
}

// checkFolder returns an error if the directory cannot be created. It is called before
// the search for modes, which takes time.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	if _, there := os.Lstat(dir); there == nil && (err != nil || !info.IsDir()) {
		return fmt.Errorf("-dir %s: it is not a directory: want the name of a directory, or a new name", dir)
	}
	above := filepath.Clean(dir)
	for err != nil && filepath.Dir(above) != above {
		above = filepath.Dir(above)
		if info, err = os.Stat(above); err == nil && !info.IsDir() {
			return fmt.Errorf("-dir %s: %s is no directory", dir, above)
		}
	}
	f, err := os.CreateTemp(above, "probode.*.tmp")
	if err != nil {
		return fmt.Errorf("-dir %s: no directory can be made in the folder %s: %w", dir, above, reason(err))
	}
	return cmp.Or(f.Close(), os.Remove(f.Name()))
}

// unfinished reports whether a chain in dir is not complete.
func unfinished(dir string, s mcmc.Settings) bool {
	only := s.Only
	if only == nil {
		for i := range s.Chains {
			only = append(only, i)
		}
	}
	for _, i := range only {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("chain-%d.csv.part", i+1))); err == nil {
			return true
		}
	}
	return false
}
