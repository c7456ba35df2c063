package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
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
	for _, m := range models {
		fmt.Fprintf(out, "%s, 4 chains of %d draws on %d cores\n\n", m.name, *draws, runtime.GOMAXPROCS(0))
		results, err := bayes.Compare(ctx, m.p, everyScheme(), mcmc.Settings{Draws: *draws, Seed: *seed})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%v\n", results)
	}
	for _, m := range models {
		cost, err := costOfNoise(ctx, m.p)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: a draw by pcn costs %.2f deterministic draws\n", m.name, cost)
	}
	if runtime.GOMAXPROCS(0) < 2 {
		fmt.Fprintln(out, "one core: nothing to be said of two")
		return nil
	}
	for _, m := range models {
		gain, err := gainOfCores(ctx, m.p)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: four chains on two cores have %.2f times the throughput of one\n", m.name, gain)
	}
	return nil
}

type speedModel struct {
	name string
	p    *bayes.Posterior
}

// speedModels returns the problem of the paper with its own method, and lynx and
// hare by the trapezoidal rule with ten steps a year and α calibrated at the mode.
func speedModels(ctx context.Context, seed uint64) ([]speedModel, error) {
	load := func(name string) (*bayes.Posterior, error) {
		for _, c := range presets {
			if c.name == name {
				data, err := readData(c.data, c.time, c.columns)
				if err != nil {
					return nil, err
				}
				return c.make(data), nil
			}
		}
		panic("no case " + name)
	}
	fhn, err := load("fitzhugh-nagumo")
	if err != nil {
		return nil, err
	}
	lynx, err := load("lynx-hare")
	if err != nil {
		return nil, err
	}
	lynx.Method, lynx.Step, lynx.Alpha = probode.AdamsMoulton{Steps: 1}, 0.1, bayes.Known(0)
	mode, err := lynx.FindMode(ctx, seed)
	if err != nil {
		return nil, err
	}
	c, err := lynx.CalibrateAlpha(ctx, mode.Theta, probode.CalibrateSettings{Seed: seed})
	if err != nil {
		return nil, err
	}
	lynx.Alpha = bayes.Known(c[0].Alpha)
	describe := func(name string, p *bayes.Posterior) string {
		return fmt.Sprintf("%s (%v, h = %g, α = %.3g)", name, p.Method, p.Step, p.Alpha.Value)
	}
	return []speedModel{{describe("FitzHugh–Nagumo", fhn), fhn}, {describe("lynx and hare", lynx), lynx}}, nil
}

// everyScheme returns all schemes with their usual settings, save the number of
// paths of the costly ones.
func everyScheme() []bayes.Scheme {
	return append(schemes[:len(schemes):len(schemes)], bayes.Reweighted{})
}

// throughput returns the draws per second of four chains on the given number of
// cores.
func throughput(ctx context.Context, p *bayes.Posterior, s bayes.Scheme, workers int) (float64, error) {
	const draws = 400
	out, err := bayes.Compare(ctx, p, []bayes.Scheme{s}, mcmc.Settings{Draws: draws, Workers: workers, Seed: 1})
	if err != nil {
		return 0, err
	}
	return 4 * draws / out[0].Seconds, nil
}

// ratio returns the ratio of the best of several measurements of two kinds, made
// in turn so that both see the same machine.
func ratio(tries int, a, b func() (float64, error)) (float64, error) {
	var bestA, bestB float64
	for range tries {
		v, err := a()
		if err != nil {
			return 0, err
		}
		w, err := b()
		if err != nil {
			return 0, err
		}
		bestA, bestB = max(bestA, v), max(bestB, w)
	}
	return bestA / bestB, nil
}

const speedTries = 7

// costOfNoise returns the time of a draw by pCN within Gibbs in units of that of
// a deterministic draw, on one core.
func costOfNoise(ctx context.Context, p *bayes.Posterior) (float64, error) {
	return ratio(speedTries,
		func() (float64, error) { return throughput(ctx, p, bayes.Deterministic{}, 1) },
		func() (float64, error) { return throughput(ctx, p, bayes.PCNWithinGibbs{}, 1) })
}

// gainOfCores returns the throughput of two workers in units of that of one.
func gainOfCores(ctx context.Context, p *bayes.Posterior) (float64, error) {
	return ratio(speedTries,
		func() (float64, error) { return throughput(ctx, p, bayes.PCNWithinGibbs{}, 2) },
		func() (float64, error) { return throughput(ctx, p, bayes.PCNWithinGibbs{}, 1) })
}
