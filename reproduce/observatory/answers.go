package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The functions in this file measure how much a posterior changes if a coarse solver
// replaces an accurate solver. The functions also measure how much computation the coarse
// solver saves.

// An answer is a row of answers.csv. Biases are in posterior sds under the accurate
// solver.
type answer struct {
	Question string  `csv:"posterior"`
	Remedy   string  `csv:"remedy"`
	Status   string  `csv:"status"`
	Step     float64 `csv:"step"`
	Alpha    float64 `csv:"alpha"`

	Parameter string     `csv:"parameter"` // the one with the largest bias
	Bias      float64    `csv:"bias_in_sd"`
	BiasSE    float64    `csv:"bias_se"`
	Ratio     [2]float64 `csv:"sd_ratio_least sd_ratio_most"` // over parameters

	RHat    float64 `csv:"rhat"`
	KHat    float64 `csv:"khat"`
	ESS     float64 `csv:"effective_draws"`
	Solves  float64 `csv:"solves_a_draw"`          // cost of a draw, in coarse solves
	Prepare float64 `csv:"preparation_seconds"`    // time before the first draw
	Seconds float64 `csv:"seconds_1000_effective"` // total time for 1000 effective draws
	Work    float64 `csv:"work_1000_effective"`    // their cost, in solves at the coarsest step
	Inputs  string  `csv:"inputs"`                 // see observatory.inputs
}

func (a *answer) key() string { return fmt.Sprintf("%s|%s|%g", a.Question, a.Remedy, a.Step) }

func (a *answer) compare(accurate, got *mcmc.Chains) {
	as, gs := accurate.Summary(), got.Summary()
	a.Ratio, a.Bias, a.ESS = [2]float64{math.Inf(1), 0}, 0, math.Inf(1)
	a.RHat, a.KHat = 0, math.NaN()
	if got.LogWeights != nil {
		a.KHat = got.KHat
	}
	for i, r := range as {
		g := gs[i]
		bias := (g.Mean - r.Mean) / r.SD
		if math.Abs(bias) >= math.Abs(a.Bias) || a.Parameter == "" {
			a.Parameter, a.Bias = r.Name, bias
			a.BiasSE = math.Sqrt(g.MCSE*g.MCSE+r.MCSE*r.MCSE+bias*bias*r.MCSESD*r.MCSESD) / r.SD
		}
		a.Ratio = [2]float64{min(a.Ratio[0], g.SD/r.SD), max(a.Ratio[1], g.SD/r.SD)}
		a.ESS, a.RHat = min(a.ESS, g.BulkESS), max(a.RHat, g.RHat)
	}
}

func (o *observatory) answerAll(ctx context.Context, answers *ledger[answer]) error {
	err := o.each(len(o.questions), func(i int) error {
		q := &o.questions[i]
		if err := o.answer(ctx, q, answers); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: all answers\n", q.name)
		return nil
	})
	if err != nil {
		return err
	}
	return answers.arrange(func(a *answer) []float64 {
		return []float64{named(o.questions, func(q *question) string { return q.name }, a.Question), 1 / a.Step,
			named(o.remedies, func(r *remedy) string { return r.name }, a.Remedy)}
	})
}

// answer samples the accurate posterior only if an answer is missing.
func (o *observatory) answer(ctx context.Context, q *question, answers *ledger[answer]) error {
	var accurate *mcmc.Chains
	var fine *bayes.Posterior
	for level := range o.levels {
		for i := range o.remedies {
			r := &o.remedies[i]
			a := unknown[answer]()
			a.Question, a.Remedy, a.Step, a.Status = q.name, r.name, q.step/float64(int(1)<<level), "ok"
			a.Inputs = o.inputs()
			if answers.find(a.key()) != nil {
				continue
			}
			if accurate == nil {
				var err error
				if fine, accurate, err = o.accurate(ctx, q); err != nil {
					return err
				}
			}
			if err := o.one(ctx, r, q.step, fine, accurate, &a); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				a.Status = "fails: " + oneLine(err)
			}
			if err := answers.add(a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *observatory) accurate(ctx context.Context, q *question) (*bayes.Posterior, *mcmc.Chains, error) {
	p, err := q.model(ctx, o.seed)
	if err == nil {
		p.Modes, err = modes.Find(ctx, p, modes.Settings{Seed: o.seed})
	}
	if err != nil {
		return nil, nil, err
	}
	chains, err := sample.Run(ctx, p, sample.Deterministic{}, mcmc.Settings{Draws: 4 * o.draws, Seed: o.seed + 1, Workers: 1})
	return p, chains, err
}

// one counts a.Work in solutions with the coarsest step.
func (o *observatory) one(ctx context.Context, r *remedy, coarsest float64, fine *bayes.Posterior, accurate *mcmc.Chains, a *answer) error {
	p := *fine
	p.Method, p.Mesh, p.Modes, p.Alpha = solver, probode.Uniform(a.Step), nil, 0
	if r.method != nil {
		p.Method = r.method
	}
	begin := time.Now()
	if r.noise != nil {
		p.Scaling = r.noise.scaling
		q, cal, err := modes.Calibrate(ctx, &p, calibrate.Settings{Criterion: r.noise.rule, Paths: 200, Seed: o.seed, Workers: 1})
		if err != nil {
			return err
		}
		p, a.Alpha = *q, cal.Alpha
	}
	calibrating := time.Since(begin).Seconds()
	if p.Modes != nil {
		calibrating -= p.Modes.Seconds // counted by Measure
	}
	got, err := sample.Measure(ctx, &p, r.sampler, mcmc.Settings{Draws: o.draws, Seed: o.seed + 2, Workers: 1})
	if err != nil {
		return err
	}
	a.Solves, a.Prepare = got.Solves*a.Step/p.StepSize(), calibrating+got.Preparation
	if r.weigh {
		begin = time.Now()
		if got.Chains, err = sample.Reweight(ctx, &p, got.Chains, fine.Setup, 1); err != nil {
			return err
		}
		got.Drawing += time.Since(begin).Seconds()
		// A weight costs an accurate solution, which with n times as many steps as a coarse
		// solution counts as n coarse solutions.
		a.Solves += a.Step / fine.StepSize()
	}
	a.compare(accurate, got.Chains)
	drawn := float64(len(got.Chains.Draws) * o.draws)
	a.Seconds = a.Prepare + 1000*got.Drawing/a.ESS
	a.Work = (got.Prepared*a.Step/p.StepSize() + a.Solves*drawn/a.ESS*1000) * coarsest / a.Step
	return nil
}
