package steplaw

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/probode/probode/pkg/internal/moments"
	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
)

// Settings holds the options with which Exact draws an ensemble.
type Settings struct {
	// Mesh makes the grid.
	Mesh probode.Mesh
	// Alpha > 0 is the noise scale. The variance of the noise is proportional to Alpha.
	Alpha float64
	// Seed determines all random numbers.
	Seed uint64
	// KeepPaths says whether Draw returns the paths themselves.
	KeepPaths bool
	// Workers is the number of paths drawn at the same time; zero means the number of
	// cores. The number of workers does not change the result.
	Workers int
}

// Draws describes the paths that Exact has drawn, and their steps.
type Draws struct {
	// T is the grid. Step i leads from T[i] to T[i+1].
	T []float64
	// Departure[i] measures the difference between the exact distribution of step i and
	// its Gaussian approximation: it is the maximum of |mean| and |sd − 1| over the
	// components of the standardised noise ζ = L⁻¹(Z_{i+1} − μ). If the approximation
	// were exact, ζ would have mean 0 and sd 1. The mean and the sd are computed over all
	// paths, from the second half of each Markov chain. Departure is accurate to about
	// 1/√n for n paths. Departure is NaN for steps that are not drawn with a chain, such
	// as the first steps of a multistep method.
	Departure []float64
	// Mean and SD are the sample mean and standard deviation of the paths,
	// indexed [component][time] at the times T.
	Mean, SD [][]float64
	// Paths[p] is path p, stored as a row-major len(T)×d matrix, or nil if the path
	// failed. Paths is set only if Settings.KeepPaths is true.
	Paths [][]float64
	// Failed is the number of paths that could not be computed. Mean and SD are computed
	// from the other paths. Failure is the error of the first path that failed.
	Failed  int
	Failure error
}

// Draw draws an ensemble of n paths for the problem p and the parameters p.Theta.
//
// Paths that fail are not included in Mean and SD, and are counted in Failed. If all
// paths fail, Draw returns an error. The error wraps ErrSingularH or ErrImproper if the
// exact distribution of a step along path 0 does not exist. If ctx is done, the error
// wraps the error of ctx.
func (m Exact) Draw(ctx context.Context, p *probode.Problem, n int, s Settings) (*Draws, error) {
	switch {
	case s.Workers < 0:
		return nil, fmt.Errorf("%s: the number of workers is %d: want a number > 0, or 0 for one worker per core", p.Title(), s.Workers)
	case n < 1:
		return nil, fmt.Errorf("%s: the number of paths is %d: want at least 1", p.Title(), n)
	case s.Mesh == nil:
		return nil, fmt.Errorf("%s: the mesh is nil: want a mesh such as probode.Uniform(0.1)", p.Title())
	case !(s.Alpha > 0):
		return nil, fmt.Errorf("%s: alpha is %g: want a number > 0, because a step without noise is deterministic", p.Title(), s.Alpha)
	}
	const block = 16
	blocks := (n + block - 1) / block
	workers, err := m.drawers(ctx, p, s, blocks)
	if err != nil {
		return nil, err
	}
	ctx, count := progress.Counts(ctx, nil, "paths")
	ctx, end := context.WithCancel(ctx)
	defer end()
	for _, w := range workers {
		defer w.solver.Bind(ctx)()
	}
	times, d := workers[0].solver.Times(), p.Dim()
	e := &Draws{T: slices.Clone(times)}
	total, tally := moments.NewVector(len(times)*d), newTally(len(times)-1, d)
	done := 0
	var refused error
	err = probode.Ordered(ctx, blocks, len(workers), func(w, b int) *drawn {
		return workers[w].draw(ctx, s, b*block, min(n, (b+1)*block))
	}, func(r *drawn) {
		if r == nil || refused != nil {
			return
		}
		total.Merge(&r.moments)
		e.Paths = append(e.Paths, r.paths...)
		if e.Failed += r.failed; e.Failure == nil {
			e.Failure = r.failure
		}
		tally.merge(r.tally)
		if refused = r.tally.refused; refused != nil {
			end()
		}
		if done += r.moments.N + r.failed; count != nil {
			count(done, n)
		}
	})
	switch {
	case refused != nil:
		return nil, fmt.Errorf("%s, %v: %w", p.Title(), m, refused)
	case err != nil:
		return nil, err
	case total.N+e.Failed < n:
		return nil, context.Cause(ctx)
	case total.N == 0:
		return nil, fmt.Errorf("all %d paths failed; the first: %w", n, e.Failure)
	}
	e.Departure = tally.departure()
	e.Mean, e.SD = newSeries(d, len(times)), newSeries(d, len(times))
	for i, sd := range total.SD() {
		e.Mean[i%d][i/d], e.SD[i%d][i/d] = total.Mean[i], sd
	}
	return e, nil
}

func newSeries(d, n int) [][]float64 {
	s := make([][]float64, d)
	for k := range s {
		s[k] = make([]float64, n)
	}
	return s
}

type drawer struct {
	solver  *probode.Solver
	sampler *sampler
	z, xi   []float64
}

func (m Exact) drawers(ctx context.Context, p *probode.Problem, s Settings, blocks int) ([]*drawer, error) {
	made := &method{Exact: m}
	// The exact distribution is defined only for noise that is scaled by ScaleStep.
	solver, err := probode.Setup{Method: made, Mesh: s.Mesh, Scaling: probode.ScaleStep, Alpha: s.Alpha}.Solver(ctx, p, nil, nil)
	if err != nil {
		return nil, err
	}
	z := make([]float64, solver.PathLen())
	if err := solver.Solve(z, p.Theta, nil); err != nil {
		return nil, fmt.Errorf("classical solution: %w", err)
	}
	workers := make([]*drawer, min(blocks, cmp.Or(s.Workers, runtime.GOMAXPROCS(0))))
	for w := range workers {
		c := solver.Clone() // the clone has a sampler of its own
		workers[w] = &drawer{c, made.sampler, make([]float64, c.PathLen()), make([]float64, c.NoiseLen())}
	}
	return workers, nil
}

type drawn struct {
	moments moments.Vector
	paths   [][]float64
	tally   *tally
	failed  int
	failure error // of the first path that failed
}

// draw returns nil if ctx has ended.
func (w *drawer) draw(ctx context.Context, s Settings, from, to int) *drawn {
	r := &drawn{moments: moments.NewVector(len(w.z)), tally: newTally(w.solver.Steps(), w.sampler.p.Dim())}
	w.sampler.tally = r.tally
	for path := from; path < to; path++ {
		if err := w.path(s.Seed, path); err != nil {
			if ctx.Err() != nil {
				return nil // not a failure of the path
			}
			if r.failed++; r.failure == nil {
				r.failure = fmt.Errorf("path %d: %w", path, err)
			}
			if s.KeepPaths {
				r.paths = append(r.paths, nil)
			}
			continue
		}
		r.moments.Add(w.z)
		if s.KeepPaths {
			r.paths = append(r.paths, append([]float64(nil), w.z...))
		}
	}
	return r
}

func (w *drawer) path(seed uint64, path int) error {
	probode.DrawNoise(w.xi, seed, uint64(path))
	w.sampler.begin(seed, uint64(path))
	return w.solver.Solve(w.z, w.sampler.p.Theta, w.xi)
}
