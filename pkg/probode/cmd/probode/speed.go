package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

const speedHelp = `Effective draws per second of every scheme, on the FitzHugh–Nagumo problem of the
paper and on lynx and hare, what a draw by pcn costs in deterministic ones, and
how much faster two cores are than one. The last two are ratios of the best of
several short runs in turn, which a busy machine disturbs least.

  probode speed
  probode speed -draws 500

Run it where the data are found: notebooks/data and reproduce under the current
directory.

`

// speed measures how fast the schemes are.
func speed(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("speed", flag.ContinueOnError)
	draws := flags.Int("draws", 2000, "draws of each of four chains")
	seed := flags.Uint64("seed", 1, "seed of all random numbers")
	quiet := flags.Bool("quiet", false, "show no progress")
	if err := parse(flags, args, speedHelp, out); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("speed: %q is not a flag: see probode speed -help", flags.Arg(0))
	case *draws < 10 || *draws > maxDraws:
		return fmt.Errorf("-draws %d: want a number from 10 to %d", *draws, maxDraws)
	}
	models, err := speedModels(ctx, *seed)
	if err != nil {
		return err
	}
	show, erase := func(int, int, string) {}, func() {}
	if !*quiet {
		show, erase = tell(os.Stderr)
	}
	done, total := 0, len(models)*(len(everySampler())+turns)
	working := func(m speedModel, what string) {
		show(done, total, m.short+", "+what)
		done++
	}
	for _, m := range models {
		var table bayes.Comparison
		for _, s := range everySampler() {
			working(m, s.String())
			var r bayes.Comparison
			if r, err = bayes.Compare(ctx, m.p, []bayes.Sampler{s}, mcmc.Settings{Draws: *draws, Seed: *seed}); err != nil {
				break
			}
			table = append(table, r...)
		}
		erase()
		if table != nil {
			fmt.Fprintf(out, "%s, 4 chains of %d draws on %d cores\n\n%v\n", m.name, *draws, runtime.GOMAXPROCS(0), table)
		}
		if err != nil {
			return err
		}
	}
	for i, m := range models {
		cost, gain, err := ratios(ctx, m.p, func() { working(m, "one core and two") })
		erase()
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintf(out, "Median and quartiles of %d short turns:\n\n", turns)
		}
		fmt.Fprintf(out, "%s\n", m.name)
		fmt.Fprintf(out, "  a draw by pcn costs %s deterministic draws\n", quartiles(cost))
		if runtime.GOMAXPROCS(0) > 1 {
			fmt.Fprintf(out, "  four chains on two cores have %s times the throughput of one\n", quartiles(gain))
		}
	}
	return nil
}

type speedModel struct {
	short, name string
	p           *bayes.Posterior
}

// speedModels returns the problem of the paper with its own method, and lynx and
// hare by the trapezoidal rule with ten steps a year and α calibrated at the mode.
func speedModels(ctx context.Context, seed uint64) ([]speedModel, error) {
	load := func(name string) *bayes.Posterior {
		c, err := cases.Named(name)
		if err != nil {
			panic("speed: " + err.Error())
		}
		return c.Posterior()
	}
	fhn, lynx := load("fitzhugh-nagumo"), load("lynx-hare")
	var err error
	lynx.Method, lynx.StepSize, lynx.Alpha = probode.AdamsMoulton{Steps: 1}, 0.1, bayes.Known(0)
	if lynx, _, err = lynx.Calibrated(ctx, probode.CalibrateSettings{Seed: seed}); err != nil {
		return nil, err
	}
	described := func(short string, p *bayes.Posterior) speedModel {
		return speedModel{short, fmt.Sprintf("%s (%v, h = %g, α = %.3g)", short, p.Method, p.StepSize, p.Alpha.Value), p}
	}
	return []speedModel{described("FitzHugh–Nagumo", fhn), described("lynx and hare", lynx)}, nil
}

// everySampler returns all schemes with their usual settings, save the number of
// paths of the costly ones.
func everySampler() []bayes.Sampler {
	return append(samplers[:len(samplers):len(samplers)], bayes.Reweighted{})
}

// turns is the number of measurements of each ratio.
const turns = 15

// ratios returns, in turn after turn, the time of a draw by pCN within Gibbs in
// units of that of a deterministic one, on one core, and the throughput of two
// cores in units of that of one. A server's core may be half again as fast for a
// second and then no more, so what is compared is measured at once, and the
// middle of many turns is what counts. Next is called before each.
func ratios(ctx context.Context, p *bayes.Posterior, next func()) (cost, gain []float64, err error) {
	seconds := func(s bayes.Sampler, workers int) float64 {
		if err != nil {
			return 0
		}
		var out bayes.Comparison
		if out, err = bayes.Compare(ctx, p, []bayes.Sampler{s}, mcmc.Settings{Draws: 400, Workers: workers, Seed: 1}); err != nil {
			return 0
		}
		return out[0].Drawing
	}
	for range turns {
		next()
		plain := seconds(bayes.Deterministic{}, 1)
		noisy := seconds(bayes.PCNWithinGibbs{}, 1)
		two := seconds(bayes.PCNWithinGibbs{}, 2)
		if err != nil {
			return nil, nil, err
		}
		cost, gain = append(cost, noisy/plain), append(gain, noisy/two)
	}
	return cost, gain, nil
}

// quartiles describes values by their median and the middle half.
func quartiles(v []float64) string {
	slices.Sort(v)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", diag.Quantile(v, 0.5), diag.Quantile(v, 0.25), diag.Quantile(v, 0.75))
}
