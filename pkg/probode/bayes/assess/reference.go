package assess

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

const (
	// khatLimit is the largest k̂ that is trusted for any number of draws.
	khatLimit = 0.7
	// referenceDraws is the number of draws of the reference posterior at which its own
	// error is measured.
	referenceDraws = 100
	// mostFailed is the share of the weighed draws at which the reference may fail without
	// doubt about the posterior that is left.
	mostFailed = 0.01
)

// A yardstick is the accurate posterior, as weighted draws give it.
type yardstick struct {
	source *draws
	by     string // the draws, in words

	khat, limit, worth, missed float64

	measures []measure // by assessed parameter: what it is judged by
	tails    []float64 // by assessed parameter: the tail index
	exact    []moments // by quantity
}

// measure returns what quantity j is judged by.
func (y *yardstick) measure(j int) measure { return y.measures[j%len(y.measures)] }

// known reports whether the weights can be trusted.
func (y *yardstick) known() bool {
	return y.khat <= y.limit && (y.limit == 0 || y.worth >= fewest)
}

// yardstick lets the weighted draws d stand for the accurate posterior, whose tails
// decide by what each parameter is judged.
func (s *sampling) yardstick(d *draws, khat, missed float64, by string) *yardstick {
	y := &yardstick{source: d, by: by, khat: khat, missed: missed, limit: d.limit(s.assessed), worth: d.worth(s.assessed)}
	for _, k := range s.assessed {
		heavy, index := diag.HeavyTails(d.accurate(k))
		m := byMoments
		if heavy {
			m = byQuantiles
		}
		y.measures, y.tails = append(y.measures, m), append(y.tails, index)
	}
	for j, q := range s.quantities {
		// The centre of all draws, minus the bias that the weighed ones show.
		m, e := d.found(y.measure(j), j, q), d.effects[y.measure(j)][j]
		m.mean, m.sd, m.meanSE, m.logSE = m.mean-e.Bias, m.sd/e.Ratio, e.meanSE, e.logSE
		y.exact = append(y.exact, m)
	}
	return y
}

// accuratePosterior finds draws that stand for the accurate posterior: those of the
// smallest step or, if it is so far off that its weights cannot be trusted or add more to
// the Monte Carlo error than the chains have, those of a solver that is nearer. It is nil
// if nothing could be weighed.
func (s *sampling) accuratePosterior(fine *draws, khat float64, mode []float64) (y *yardstick, err error) {
	f := s.finest()
	finest := &s.ladder[f]
	best, least := khat, math.Inf(1)
	why := fmt.Sprintf("since those of %v are too far off (k̂ = %.2f)", finest, khat)
	if fine.weights != nil {
		if least, err = s.missed(fine); err != nil {
			return nil, err
		}
		y = s.yardstick(fine, khat, least, fmt.Sprintf("the draws of %v, weighed", finest))
		switch {
		case least >= mostMissed:
			why = fmt.Sprintf("since those of %v miss a part of the reference posterior", finest)
		case y.known():
			if !(s.loss(y) > 1) {
				return y, s.advance(1)
			}
			why = fmt.Sprintf("since those of %v have weights too uneven (k̂ = %.2f)", finest, khat)
		}
	}
	before := pathError(s.ctx, s.of(f), mode, s.s.Accurate)
	for n, q := range s.finer(mode) {
		// A path that is no better is not worth a chain.
		if !(pathError(s.ctx, q, mode, s.s.Accurate) < before/3) {
			continue
		}
		if err := s.ctx.Err(); err != nil {
			return y, err
		}
		d, khat, missed, err := s.tryReference(q, s.seed(1000+uint64(n)))
		if err != nil {
			if s.ctx.Err() != nil {
				return y, err
			}
			continue
		}
		good := d.usable(khat, s.assessed) && missed < mostMissed
		if good || missed < mostMissed && least >= mostMissed || (khat < best || math.IsNaN(best)) && !(missed >= mostMissed && least < mostMissed) {
			best, least = khat, missed
			y = s.yardstick(d, khat, missed, fmt.Sprintf("the draws of %v with %s, weighed, %s", q.Method, setting(q), why))
		}
		if good {
			break
		}
	}
	return y, s.advance(1)
}

// loss returns the largest error of an accurate centre, in units of the error of the
// chain alone.
func (s *sampling) loss(y *yardstick) (most float64) {
	for j := range s.assessed {
		by := y.measure(j)
		most = math.Max(most, y.source.effects[by][j].BiasSE/y.source.found(by, j, s.quantities[j]).meanSE)
	}
	return most
}

// tryReference samples q and weighs its draws.
func (s *sampling) tryReference(q *bayes.Posterior, seed uint64) (d *draws, khat, missed float64, err error) {
	if q.Modes, err = modes.Find(s.ctx, q, s.search(s.modes.known)); err != nil {
		return nil, 0, 0, err
	}
	if d, err = s.sample(q, sample.Deterministic{}, seed); err != nil {
		return nil, 0, 0, err
	}
	if khat, err = s.weigh(d); err != nil {
		return nil, 0, 0, err
	}
	missed, err = s.missed(d)
	return d, khat, missed, err
}

// checkReference measures the reference's own error. It is small enough for a verdict if D
// between the reference and a more accurate solver is at most a tenth of the threshold, at
// every mode of the reference posterior and at a hundred draws of it: what is accurate at
// a mode need not be accurate in the tails.
func (s *sampling) checkReference(y *yardstick) (Reference, error) {
	s.say("the reference's own error")
	begin := time.Now()
	var points [][]float64
	if s.modes.reference != nil {
		for _, m := range s.modes.reference.Modes {
			if m.Mass > minor {
				points = append(points, m.Theta)
			}
		}
	}
	modes := points[:min(len(points), 3)]
	points = append(points, y.source.resampled(referenceDraws)...)
	unsolved, failed := y.source.unsolved(10)
	r := Reference{D: math.NaN(), Points: len(points), Failed: failed, Missed: y.missed}
	by, workers := s.plan.reference(), s.s.Chains.Workers
	d, err := certify.OwnError(s.ctx, s.p, by, points, workers)
	if err != nil {
		return r, err
	}
	for _, v := range d {
		if math.IsNaN(v) {
			r.Unknown++
		} else if !(v <= r.D) {
			r.D = v
		}
	}
	limit := s.s.Threshold / 10
	if r.Unseen, err = certify.Unseen(s.ctx, s.p, by, modes, d, limit, workers); err != nil {
		return r, err
	}
	if failed > mostFailed {
		// A sufficient setting has to solve these, too.
		points = append(points, unsolved...)
	}
	if r.Unseen == 0 && r.Missed < mostMissed && !r.enough(s.s.Threshold) {
		enough, found, err := certify.Sufficient(s.ctx, s.p, by, worstPoints(points, d), limit, workers)
		if err != nil {
			return r, err
		}
		if found {
			r.Sufficient = enough.String()
		}
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// worstPoints returns the ten points with the largest D; points without D come first.
func worstPoints(points [][]float64, d []float64) [][]float64 {
	for len(d) < len(points) {
		d = append(d, math.NaN())
	}
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(nanOr(d[j], math.Inf(1)), nanOr(d[i], math.Inf(1)))
	})
	var worst [][]float64
	for _, i := range order[:min(10, len(order))] {
		worst = append(worst, points[i])
	}
	return worst
}

// pathError returns the error of the classical solution at theta and the times of the
// data: see Step.Error. It is NaN if one of the solvers fails.
func pathError(ctx context.Context, p *bayes.Posterior, theta []float64, by probode.Setup) float64 {
	coarse, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return math.NaN()
	}
	defer coarse.Bind(ctx)()
	fine, err := bayes.NewDensity(ctx, p.SolvedBy(by))
	if err != nil {
		return math.NaN()
	}
	defer fine.Bind(ctx)()
	if _, err := coarse.LogLikelihood(theta, nil); err != nil {
		return math.NaN()
	}
	if _, err := fine.LogLikelihood(theta, nil); err != nil {
		return math.NaN()
	}
	var sum float64
	n := 0
	for i, x := range p.Experiments {
		d, state, exact := x.Problem.Dim(), coarse.States(i), fine.States(i)
		scale := make([]float64, d)
		for k, x := range exact {
			scale[k%d] = max(scale[k%d], math.Abs(x))
		}
		for k, x := range exact {
			if c := scale[k%d]; c > 0 {
				e := (state[k] - x) / c
				sum += e * e
				n++
			}
		}
	}
	return math.Sqrt(sum / float64(n))
}
