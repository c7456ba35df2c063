package bayes

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A Prediction holds draws of new data for one experiment.
type Prediction struct {
	Name  string    // of the experiment
	T     []float64 // the times, increasing
	Names []string  // names of the columns of the data; may be nil

	// Fit[i][n][k] is the expected value of column k at time n in draw i, computed from
	// the numerical solution. Y[i][n][k] is a new observation, which includes a
	// measurement error.
	Fit, Y [][][]float64
}

// Quantiles returns a quantile of the new observations of column k for each time. The
// argument `prob` is the level of the quantile, such as 0.5 for the median. A new
// observation is NaN if its distribution is invalid, such as a Poisson distribution with
// a negative mean. Observations that are NaN are left out; if none remain, the quantile
// is NaN.
func (q *Prediction) Quantiles(k int, prob float64) []float64 {
	draws := q.Y
	if len(draws) == 0 {
		return nil
	}
	out := make([]float64, len(draws[0]))
	for n := range out {
		var x []float64
		for i := range draws {
			if y := draws[i][n][k]; !math.IsNaN(y) {
				x = append(x, y)
			}
		}
		slices.Sort(x)
		out[n] = diag.Quantile(x, prob)
	}
	return out
}

func (e *Density) predictions() []*Prediction {
	var out []*Prediction
	for _, r := range e.parts {
		out = append(out, &Prediction{Name: r.x.Name, T: r.x.Data.T, Names: r.x.Data.Names})
	}
	return out
}

func (e *Density) predict(out []*Prediction, theta, fit []float64, rng *rand.Rand) {
	for i, r := range e.parts {
		e.bind(r, theta)
		var rows, news [][]float64
		for _, t := range r.x.Data.T {
			row := slices.Clone(fit[:len(r.errors)])
			fit = fit[len(r.errors):]
			y := make([]float64, len(row))
			for k, m := range row {
				y[k] = r.errors[k].Rand(m, r.errors[k].at(t, row), rng)
			}
			rows, news = append(rows, row), append(news, y)
		}
		out[i].Fit, out[i].Y = append(out[i].Fit, rows), append(out[i].Y, news)
	}
}

// Resample chooses n draws of equal weight that represent all draws in `chains`. Resample
// returns the index of each chosen draw in the slice that Chains.Pooled returns. If the
// draws have no weights, the indices are evenly spaced. Otherwise, for i = 0, 1, …, n−1,
// Resample chooses the first draw at which the cumulative weight reaches (i + U)/n, where
// U is uniform in [0, 1).
func Resample(chains *mcmc.Chains, n int, rng *rand.Rand) []int {
	index := make([]int, n)
	logw := slices.Concat(chains.LogWeights...)
	if logw == nil {
		size := 0
		for _, c := range chains.Draws {
			size += len(c)
		}
		for i := range index {
			index[i] = i * size / n
		}
		return index
	}
	if len(logw) == 0 {
		return nil
	}
	total := floats.LogSumExp(logw)
	u := rng.Float64()
	at, sum := 0, math.Exp(logw[0]-total)
	for i := range index {
		for want := (float64(i) + u) / float64(n); sum < want && at < len(logw)-1; {
			at++
			sum += math.Exp(logw[at] - total)
		}
		index[i] = at
	}
	return index
}

// FineTimes returns times for a figure that shows a prediction both at the observation
// times and between them. The result contains the observation times, and 201 equally
// spaced times from the earliest start of an experiment to the latest end. For every
// event without a Trigger, the result also contains a time just before and a time just
// after the event. If the time of an event depends on θ, FineTimes uses the time of the
// event for θ = GridAt.
func (p *Posterior) FineTimes() []float64 {
	const steps = 200
	from, to := math.Inf(1), math.Inf(-1)
	for _, x := range p.Experiments {
		from, to = min(from, x.Problem.Span[0]), max(to, x.Problem.Span[1])
	}
	var out []float64
	for i := range steps + 1 {
		out = append(out, from+(to-from)*float64(i)/steps)
	}
	beside := 1e-6 * (to - from) // more than the 10⁻⁹ h within which a time counts as that of the event
	for i := range p.Experiments {
		x := &p.Experiments[i]
		out = append(out, x.Data.T...)
		for k := range x.Problem.Events {
			if x.Problem.Events[k].Trigger != nil {
				continue // its times are not known before a solve
			}
			at := x.Problem.Events[k].Time
			if when := x.Problem.Events[k].When; when != nil {
				at = when(p.at(x))
			}
			out = append(out, at-beside, at+beside)
		}
	}
	out = slices.DeleteFunc(out, func(t float64) bool { return !(from <= t && t <= to) })
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *Posterior) spans() string {
	var all []string
	for _, x := range p.Experiments {
		if s := fmt.Sprintf("[%g, %g]", x.Problem.Span[0], x.Problem.Span[1]); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) > 4 {
		all = append(all[:3], "…")
	}
	return strings.Join(all, " or ")
}

// atTimes has missing values at the given times, and the same grids if there are any.
func (e *Density) atTimes(ctx context.Context, times []float64) (*Density, error) {
	q := *e.p
	q.Experiments = slices.Clone(q.Experiments)
	e.prolong(&q, times)
	for i := range q.Experiments {
		x := &q.Experiments[i]
		data := *x.Data
		data.T, data.Y = nil, nil
		for _, t := range times {
			if t < x.Problem.Span[0] || t > x.Problem.Span[1] {
				continue
			}
			row := make([]float64, x.Data.columns())
			for k := range row {
				row[k] = math.NaN()
			}
			data.T, data.Y = append(data.T, t), append(data.Y, row)
		}
		if data.T == nil {
			return nil, fmt.Errorf("bayes: %s: none of the %d prediction times lies in the time span [%g, %g]", x.title(i), len(times), x.Problem.Span[0], x.Problem.Span[1])
		}
		x.Data = &data
	}
	for _, t := range times {
		if !slices.ContainsFunc(q.Experiments, func(x Experiment) bool { return x.Problem.Span[0] <= t && t <= x.Problem.Span[1] }) {
			return nil, fmt.Errorf("bayes: the prediction time %g is outside of the time span %s: want a time in it", t, q.spans())
		}
	}
	fine, err := NewDensity(ctx, &q)
	if err != nil {
		return nil, err
	}
	fine.noise = 0
	for i, r := range fine.parts {
		if g := e.parts[i].grid; g != nil {
			same := q.Setup
			same.Mesh = probode.Fixed{Grid: g.Solver().Grid()}
			path, err := same.Bind(ctx, r.x.Problem, q.at(r.x), r.x.Data.T)
			if err != nil {
				return nil, fmt.Errorf("bayes: %s: %w", r.x.title(i), err)
			}
			r.on(path)
			r.noise = path.NoiseLen()
		}
		fine.noise += r.noise
	}
	return fine, nil
}

// prolong extends the time spans of q to times after all of them, unless the grid ends
// with the span.
func (e *Density) prolong(q *Posterior, times []float64) {
	end := math.Inf(-1)
	for i, x := range q.Experiments {
		if end = max(end, x.Problem.Span[1]); e.parts[i].grid != nil {
			return
		}
	}
	if last := slices.Max(append([]float64{end}, times...)); last > end && !math.IsInf(last, 1) {
		for i := range q.Experiments {
			longer := *q.Experiments[i].Problem
			longer.Span[1] = last
			q.Experiments[i].Problem = &longer
		}
	}
}

// predictAt solves at up to 1000 draws, and checks the expected values of the chains at
// the first 20.
func (e *Density) predictAt(ctx context.Context, times []float64, chains *mcmc.Chains, rng *rand.Rand) ([]*Prediction, error) {
	const most, compared = 1000, 20
	fine, err := e.atTimes(ctx, times)
	if err != nil {
		return nil, err
	}
	defer e.Bind(ctx)()
	defer fine.Bind(ctx)()
	draws, generated := slices.Concat(chains.Draws...), slices.Concat(chains.Generated...)
	out := fine.predictions()
	at := e.statistics(len(chains.Quantities))
	for n, i := range Resample(chains, min(most, len(draws)), rng) {
		theta := draws[i]
		if n < compared {
			if err := e.expects(theta, generated[i][at:at+len(e.fit)]); err != nil {
				return nil, err
			}
		}
		if _, err := fine.LogLikelihood(theta, nil); err != nil {
			return nil, fmt.Errorf("bayes: prediction at %s: %w", e.p.Format(theta), err)
		}
		fine.predict(out, theta, fine.fit, rng)
	}
	return out, nil
}

func (e *Density) expects(theta, drawn []float64) error {
	if _, err := e.LogLikelihood(theta, nil); err != nil {
		return fmt.Errorf("bayes: prediction at %s: %w", e.p.Format(theta), err)
	}
	const rounding = 1e-6 // draws that were stored in text files have fewer digits
	least := 1e-3 * rounding * vector.MaxAbs(drawn)
	for n, y := range e.fit {
		if off := math.Abs(y - drawn[n]); off > rounding*math.Abs(drawn[n])+least {
			return fmt.Errorf("bayes: the draws were made with another solver: an expected value is %.6g with %v, and %.6g in the draws: want p.SolvedBy(s) with their Setup s, without noise",
				y, e.p.Setup, drawn[n])
		}
	}
	return nil
}
