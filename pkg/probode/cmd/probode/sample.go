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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/mcmc/store"
	"github.com/probode/probode/pkg/probode/reference"
)

var sampleHelp = manual{
	short: `Draws from the posterior of a model, and writes the draws to a directory.

  probode sample model.yaml -dir runs/mine -out mine.html
  probode sample -case lynx-hare -chains 8 -draws 5000 -dir runs/lynx
  probode summary runs/lynx

After Ctrl-C, or if the program is killed, the same command resumes the run.
`,
	flags: []string{"model", "case", "data", "dir", "out", "start", "draws", "chains", "scheme", "method"},
	long: `There is a file for each chain, in a format that ArviZ and pandas read. Whether a run was
interrupted or not, in the end the files are the same, byte for byte. Without -draws each
chain makes 1000 draws (250 with parallel tempering and NUTS), and their number is
doubled, up to 32000, until every parameter has 400 effective draws, or 100 per chain if
that is more, and R̂ is below 1.01. The run ends early if, judging by the effective draws
so far, 32000 draws would not be enough either, and it stops seven minutes after it began
to search for the modes. The same command then continues it, and -draws removes the time
limit. If the draws for a model file are not sufficient, the command computes profile
likelihoods for up to three minutes, and names the parameters that the data do not
determine. A larger -draws extends a study. With -chain the command draws only the given
chains, so that a study can be split between machines; probode merge collects the chains.

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

Without -scheme the sampler is parallel tempering for up to 15 parameters, and NUTS for
more. The equations are solved under error control at every θ, with a relative tolerance
of 1e-6; -method, -rtol, -atol or -step give another solver. At the end the command
computes the density at 100 draws with a hundredth of the tolerance, and says by how much
the solver's error shifts the medians. If the error matters, it draws again with a tenth
of the tolerance, at most twice, unless -rtol or -atol is given. probode summary repeats a
caution about the result.

With -alpha, or with a -scheme that includes noise, the error of the solver is part of the
model, as in the paper. The solver is then that of the case, or for a model file Radau5,
on a grid that is the same for all θ. Without -scheme it is hamiltonian, or pcn where that
needs gradients that the solver does not have. Noise widens the posterior and does not
correct it.

With -method ek0, ek1 or ckf, -scheme fenrir and dalton integrate the solution out.
-alpha is the diffusion κ². The measurement errors must be Gaussian or log-normal;
dalton also takes other errors whose log density is smooth, such as those of counts.

With -start fit.json the search for modes begins at the end points of an earlier fit,
so that nothing is searched for twice. If that fit computed profiles, the command names
the parameters that the data do not determine.

Each draw also has log_lik, the log density of each datum, and y_hat, the expected
value of each datum. y_hat has no observation error, so it is not a draw from the
posterior predictive distribution.

-out shows the traces, the posterior of each pair of parameters, and new data as the
model predicts them beside the data.

` + modelHelp + `
`}

func sampleVerb(ctx context.Context, args []string, out io.Writer) error {
	r := sampleRun{out: out, patience: patience}
	return r.run(ctx, args)
}

func (r *sampleRun) run(ctx context.Context, args []string) error {
	if err := r.parse(args); err != nil {
		return err
	}
	ctx = watch(ctx, r.quiet)
	limited := ctx
	if r.settings.Draws == 0 && r.settings.Only == nil {
		var end context.CancelFunc
		limited, end = context.WithTimeout(ctx, r.patience)
		defer end()
	}
	if err := r.prepare(limited); err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("the search for modes has not ended within %v: want -start, at which it begins, or -draws, which removes the time limit", r.patience)
		}
		return err
	}
	r.follow()
	for {
		words, err := r.draw(ctx, limited)
		if err != nil {
			return err
		}
		if again, err := r.finish(ctx, words); err != nil {
			return err
		} else if !again {
			return r.picture(ctx)
		}
	}
}

type sampleRun struct {
	model      *model
	start, dir string
	figure     outFile
	quiet      bool
	patience   time.Duration // the time limit without -draws
	automatic  bool          // the command chooses the sampler
	finer      int           // how often the tolerance was divided by ten
	sampler    sample.Sampler
	settings   mcmc.Settings
	options    store.Options

	p       *bayes.Posterior
	unknown string // what the profiles in the file -start say about parameters that the data do not determine
	percent int    // of the draws that have been made
	out     io.Writer
}

func (r *sampleRun) parse(args []string) error {
	flags := flag.NewFlagSet("sample", flag.ContinueOnError)
	r.model = newModel(flags)
	name := flags.String("scheme", "", "`sampler`; "+samplerNames()+"; default: see above")
	flags.Lookup("method").Usage = "`method` of the solver; " + catalog.Help + "; default: auto or, with noise in the model, the method of the case, or radau5 for a model file"
	flags.Lookup("step").Usage = "`size` of the steps; without it, error control chooses the steps, unless noise is part of the model"
	flags.StringVar(&r.model.rtol, "rtol", "", "relative `tolerance` of the solver, which chooses its steps separately for every θ; default: 1e-6")
	flags.StringVar(&r.model.atol, "atol", "", "absolute `tolerance`; default: for each component, rtol/1000 times its largest absolute value")
	flags.StringVar(&r.start, "start", "", "`file` of fit -json, nominal or prior; the search for modes begins at the best points in the file, or at the nominal parameters. Without -start, it begins at draws from the prior, or at the nominal parameters if the model has many parameters. The chains start around the modes, but with -start prior at draws from the prior")
	flags.StringVar(&r.dir, "dir", "", "`directory` for the draws")
	flags.StringVar(&r.figure.path, "out", "", "`file` (.html) for figures of the draws")
	only := flags.String("chain", "", "run only the chain with this `number`, or several chains, such as 1,3; the first chain has the number 1")
	s := &r.settings
	flags.IntVar(&s.BurnIn, "burn-in", 0, "`number` of iterations of each chain before the first draw; 0 means that the number depends on the model")
	r.options.Checkpoint = time.Second
	flags.BoolVar(&r.quiet, "quiet", false, "show no progress")
	if err := parseModel(flags, args, sampleHelp, r.out); err != nil {
		return err
	}
	switch {
	case r.dir == "":
		return errors.New("-dir: want a directory for the draws")
	}
	r.figure.flag = "out"
	if err := first(r.model.checkCounts(s.BurnIn), checkEnding("out", r.figure.path, ".html"), checkOutputs(r.figure)); err != nil {
		return err
	}
	alpha := r.model.set("alpha")
	if *name == "" && alpha {
		*name = samplerName(sample.Hamiltonian{})
	}
	var err error
	if r.automatic = *name == ""; !r.automatic {
		if r.sampler, err = samplerNamed(*name); err != nil {
			return err
		}
		warnIdle(flags, *name, r.sampler)
	}
	s.Seed, s.Chains, s.Draws = r.model.seed, r.model.chains, r.model.draws
	if s.Only, err = chainList(*only, s.Chains); err != nil {
		return err
	}
	if n := store.Length(r.dir); n > 0 && n >= s.Draws && !unfinished(r.dir, *s) {
		return nil // perhaps a complete study, which is only read
	}
	return checkFolder(r.dir)
}

func (r *sampleRun) prepare(ctx context.Context) (err error) {
	if !r.automatic && r.sampler.Algorithm().Target.Noisy() {
		r.p, err = r.model.posterior(ctx)
	} else {
		r.p, err = r.model.noiseless()
	}
	if err != nil {
		return err
	}
	from, err := r.model.starts(r.start)
	if err != nil {
		return fmt.Errorf("-start %s: %w", text.Clip(r.start), err)
	}
	r.unknown = undetermined(r.start)
	if r.automatic {
		err = r.choose(ctx, from)
	} else if r.p.Modes == nil || from != nil {
		r.search(ctx, from)
	}
	if ctx.Err() != nil {
		return stopped("stopped at 0 %; run the same command to continue")
	}
	// The chains in the directory may have been begun again with a smaller tolerance.
	for n, _ := strconv.Atoi(store.Field(r.dir, tightened)); r.finer < n && r.tighten(); {
	}
	if r.start == "prior" {
		r.settings.Start = func(_ int, rng *rand.Rand) []float64 { return r.p.DrawPrior(rng) }
	}
	return err
}

func (r *sampleRun) choose(ctx context.Context, from [][]float64) error {
	plan, err := sample.Choose(ctx, r.p, from, r.settings)
	if err != nil {
		return err
	}
	r.p, r.sampler = plan.Posterior, plan.Sampler
	r.note(plan.Why)
	r.missed()
	fmt.Fprint(r.out, r.unknown)
	return nil
}

// missed notes modes that the search may have missed, unless it began only at given
// points. Diagnostics do not show them, because chains that jump between the same modes
// agree.
func (r *sampleRun) missed() {
	m := r.p.Modes
	if m == nil || m.Tried == 0 {
		return
	}
	if _, ok := r.sampler.(sample.Tempering); ok {
		return // replicas also find modes that no search has found: the run says how many came
	}
	words := fmt.Sprintf("%d searches for modes: %s", m.Searches, m.Unnoticed())
	if m.Doubtful() {
		words = "caution: there may be modes without draws: " + words
	}
	r.note(words)
}

// search may fail: chains can run without known modes.
func (r *sampleRun) search(ctx context.Context, from [][]float64) {
	s := modes.Settings{Seed: r.settings.Seed, Workers: r.settings.Workers}
	if from != nil {
		s.From, s.Points, s.Starts = from, -1, 1
	}
	r.p.Modes, _ = modes.Find(ctx, r.p, s)
	if r.settings.Start = startsAt(from, r.p.Modes); r.settings.Start != nil {
		r.note("the chains start at the points given by -start, because no Gaussian approximation around the best mode was found")
	}
	if m := r.p.Modes; m != nil && m.Doubtful() {
		r.missed()
	}
}

func (r *sampleRun) note(sentence string) {
	r.options.Meta = append(r.options.Meta, mcmc.Field{Key: "note", Value: sentence})
	fmt.Fprintln(r.out, text.Printable(sentence))
}

func (r *sampleRun) follow() {
	before := unfinished(r.dir, r.settings)
	show := display("sampling")
	r.settings.Progress = func(done, total int, doing string) {
		r.percent = 100 * done / max(1, total)
		if before {
			before = false
			fmt.Fprintf(r.out, "continuing at %d %%\n", r.percent)
		}
		if !r.quiet {
			show(done, total, doing)
		}
	}
}

// draw doubles the draws, without -draws and -chain, until there are enough or `limited`
// ends.
func (r *sampleRun) draw(ctx, limited context.Context) (words string, err error) {
	s := &r.settings
	if store.Length(r.dir) == 0 { // a caution would belong to draws that have been deleted
		if err := writeCautions(r.dir, nil); err != nil {
			return "", err
		}
	}
	if s.Draws > 0 || s.Only != nil {
		return "", r.store(ctx)
	}
	s.Draws = firstDraws
	switch r.sampler.(type) {
	case sample.NUTS, sample.Tempering:
		s.Draws = fewDraws // their draws are nearly independent
	}
	s.Draws = max(s.Draws, store.Length(r.dir))
	for {
		err := r.store(limited)
		if limited.Err() != nil && ctx.Err() == nil {
			r.profile(ctx)
			return "", stopped(fmt.Sprintf("stopped after %v at %d %%; run the same command to continue, or set -draws, which removes the time limit", r.patience, r.percent))
		}
		if err != nil {
			return "", err
		}
		chains, err := store.ReadParameters(r.dir, nil)
		if err != nil {
			return "", err
		}
		report := chains.Report(nil)
		enough, hopeless, words := sufficient(chains, report.Summary)
		switch {
		case enough:
			for _, warning := range report.Warnings {
				words += "caution: " + text.Printable(warning) + "\n"
			}
			return words, nil
		case hopeless || 2*s.Draws > lastDraws:
			r.profile(ctx)
			return words, nil
		case !r.quiet:
			fmt.Fprint(os.Stderr, words)
		}
		s.Draws *= 2
	}
}

func (r *sampleRun) store(ctx context.Context) error {
	options := r.options
	if r.finer > 0 {
		options.Meta = append(slices.Clip(options.Meta), mcmc.Field{Key: tightened, Value: strconv.Itoa(r.finer)})
	}
	err := sample.Store(ctx, r.p, r.sampler, r.dir, r.settings, options)
	if errors.Is(err, context.Canceled) {
		return stopped(fmt.Sprintf("stopped at %d %%; run the same command to continue", r.percent))
	}
	return err
}

// finish reports whether the draws must be made again, because the error of the solver
// matters.
func (r *sampleRun) finish(ctx context.Context, words string) (again bool, err error) {
	s := r.settings
	n := len(s.Only)
	if s.Only == nil {
		n = s.Chains
	}
	fmt.Fprintf(r.out, "%d of %d chains in %s\n%s", n, s.Chains, text.Printable(r.dir), words)
	again, err = r.caution(ctx)
	if _, controlled := r.p.Mesh.(probode.Adaptive); again || controlled || err != nil {
		return again, err
	}
	return false, r.printModes(ctx)
}

// caution looks for an effect of the solver's error, for regions without draws and for
// parameters without a finite variance. Its cautions replace those of an earlier run,
// unless those may be about other chains. The result is that of finish.
func (r *sampleRun) caution(ctx context.Context) (again bool, err error) {
	chains, err := store.Read(r.dir, r.settings.Only...)
	if err != nil {
		return false, err
	}
	var all, cautions []string
	if r.sampler.Algorithm().Target == sample.Classical {
		check, err := sample.CheckSolver(ctx, r.p, chains, r.settings.Workers)
		switch {
		case ctx.Err() != nil:
			return false, stopped("stopped during the check of the draws; the chains are complete")
		case err != nil:
			all = append(all, fmt.Sprintf("caution: the solver could not be checked: %v", err))
		case check.Matters() && r.settings.Only == nil && r.tighten():
			fmt.Fprintf(r.out, "%v; the draws are made again with %v\n", check, r.p.Mesh)
			return true, r.discard()
		case check.Matters():
			all = append(all, fmt.Sprintf("caution: %v", check))
		case check.Draws > 1:
			all = append(all, check.String())
		}
		last := compare.Points{Posterior: r.p, Theta: compare.Spread(chains.Draws, 1), Workers: r.settings.Workers}
		if d, err := last.Unseen(ctx, r.p.Setup, 0.01); err == nil && d > 0 {
			all = append(all, fmt.Sprintf("caution: the solver steps over a feature of f that a solver with %d equal steps detects (D = %.2g): declare jumps and short pulses of f as events", compare.ManySteps, d))
		}
	}
	for _, note := range slices.Concat(chains.Notes, sample.Visits(r.p, chains)) {
		if _, warning, is := strings.Cut(note, "warning: "); is && !slices.Contains(all, "caution: "+warning) {
			all = append(all, "caution: "+warning)
		}
	}
	heavy, err := bayes.HeavyTails(ctx, r.p, chains)
	if ctx.Err() != nil {
		return false, stopped("stopped during the check of the draws; the chains are complete")
	}
	if err != nil {
		return false, err
	}
	for _, k := range heavy {
		all = append(all, "caution: "+tooHeavy(r.p.Params[k].Name)+": its prior has no finite variance, and the likelihood does not rule out large values; use its quantiles, or a prior with lighter tails")
	}
	for _, words := range all {
		fmt.Fprintln(r.out, words)
		if caution, is := strings.CutPrefix(words, "caution: "); is {
			cautions = append(cautions, caution)
		}
	}
	if r.settings.Only != nil {
		old, err := readCautions(r.dir)
		if err != nil {
			return false, err
		}
		cautions = slices.Compact(slices.Sorted(slices.Values(append(cautions, old...))))
	}
	return false, writeCautions(r.dir, cautions)
}

// The draws are made again with a tenth of the tolerance up to mostFiner times. The files
// say how often.
const mostFiner, tightened = 2, "tightened"

// tighten divides the tolerance of the solver by ten, unless there is none, the user has
// given it, or it has been divided often enough.
func (r *sampleRun) tighten() bool {
	mesh, ok := r.p.Mesh.(probode.Adaptive)
	if !ok || r.model.set("rtol") || r.model.set("atol") || r.finer == mostFiner {
		return false
	}
	r.finer++
	mesh.Tolerance = mesh.Times(0.1)
	q := *r.p
	q.Mesh = mesh
	r.p = &q
	return true
}

func (r *sampleRun) discard() error {
	files, err := filepath.Glob(filepath.Join(r.dir, "chain-*"))
	for _, name := range files {
		err = cmp.Or(err, os.Remove(name))
	}
	return err
}

// A chain without -draws has firstDraws draws, which are doubled up to lastDraws until
// they suffice.
const firstDraws, lastDraws = 1000, 32_000

// fewDraws replaces firstDraws if draws are nearly independent.
const fewDraws = 250

// patience limits the search for modes and the draws together, without -draws.
const patience = 7 * time.Minute

// profile names parameters that the data do not determine. It stops after three minutes,
// and does nothing if an earlier fit (see -start) has found some.
func (r *sampleRun) profile(ctx context.Context) {
	file, out := r.model.loaded, r.out
	if file == nil || r.unknown != "" {
		return
	}
	f := fitFlags{profiles: true, level: 0.95, budget: 3 * time.Minute}
	start := r.start
	if start == "" || start == "prior" {
		// A profile around a point that is not the best optimum contains little
		// information, so search for the best optimum first.
		start, f.set.Starts, f.set.Seed = "nominal", 100, r.settings.Seed
	}
	var err error
	f.set.From, err = startsOf(file, start, nearBest)
	fmt.Fprint(out, "The draws are not sufficient. Profile likelihoods show which parameters the data determine:\n\n")
	if err == nil {
		err = f.run(ctx, file, out)
	}
	if err != nil {
		fmt.Fprintf(out, "caution: the profile likelihoods are not complete: %v\n", err)
	}
	fmt.Fprintln(out)
}

// sufficient wants R̂ below 1.01 and 400 effective draws, or 100 for each chain. It is
// hopeless if lastDraws would probably not be enough.
func sufficient(c *mcmc.Chains, summary diag.Summary) (enough, hopeless bool, words string) {
	const listed = 6
	wanted := float64(max(400, 100*len(c.Draws)))
	least, most, few, apart := math.Inf(1), 0., "", ""
	var names []string
	for _, m := range summary {
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
	words = fmt.Sprintf("%d draws from each chain: at least %.0f effective draws (fewest for %s), R̂ at most %.3f (largest for %s)\n",
		n, math.Floor(least), text.Printable(few), most, text.Printable(apart))
	if names == nil {
		return true, false, words
	}
	if more := len(names) - listed; more > 0 {
		names = append(names[:listed], fmt.Sprintf("%d more", more))
	}
	words += fmt.Sprintf("caution: the draws of %s are not sufficient: want %.0f effective draws and R̂ below 1.01\n", strings.Join(names, ", "), wanted)
	if hopeless = !(least*lastDraws >= wanted*float64(n)); hopeless {
		words += fmt.Sprintf("At this rate even %d draws would not be sufficient. To continue anyway, choose a number of draws with -draws.\n", lastDraws)
	}
	return false, hopeless, words
}

func (r *sampleRun) picture(ctx context.Context) error {
	if r.figure.path == "" {
		return nil
	}
	chains, err := store.Read(r.dir, r.settings.Only...)
	if err != nil {
		return err
	}
	return drawDraws(ctx, r.figure, chains, r.p)
}

// printModes does so if there are several, all chains are in the directory, and the draws
// fit into memory.
func (r *sampleRun) printModes(ctx context.Context) error {
	const most = 4_000_000 // draws
	p, s := r.p, r.settings
	if p.Modes == nil || len(p.Modes.Modes) < 2 || s.Chains*s.Draws > most {
		return nil
	}
	chains, err := store.Read(r.dir)
	if err != nil {
		return nil // other machines draw the other chains
	}
	table, err := assess.ModeTable(ctx, p, p.Modes, chains, probode.Setup{Mesh: reference.Accurate{}})
	if err != nil {
		if ctx.Err() != nil {
			return stopped("stopped during the search for modes of the reference posterior; the chains are complete")
		}
		fmt.Fprintf(r.out, "caution: %v\n", err)
		return nil
	}
	if table != "" {
		fmt.Fprintf(r.out, "\n%s", table)
	}
	return nil
}

func chainList(text string, chains int) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var out []int
	seen := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > chains || seen[n] {
			return nil, fmt.Errorf("-chain %s: want distinct numbers from 1 to %d", text, chains)
		}
		seen[n] = true
		out = append(out, n-1)
	}
	return out, nil
}

// checkFolder reports before the search for modes that the directory cannot be made.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	if _, there := os.Lstat(dir); there == nil && (err != nil || !info.IsDir()) {
		return fmt.Errorf("-dir %s: this is not a directory: want a directory, or a name that does not exist yet", dir)
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
		return fmt.Errorf("-dir %s: no directory can be created in the folder %s: %w", dir, above, reason(err))
	}
	return cmp.Or(f.Close(), os.Remove(f.Name()))
}

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
