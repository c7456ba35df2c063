package probode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/internal/moments"
	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/internal/quantile"
)

// Settings holds the options for computing an ensemble.
type Settings struct {
	// StepSize > 0 selects the mesh Uniform(StepSize).
	StepSize float64
	// Mesh, if not nil, generates the grid and takes the place of StepSize.
	Mesh Mesh
	// Scaling says how the size of the noise depends on the step; the zero value is
	// ScaleDefault.
	Scaling Scaling
	// Alpha ≥ 0 is the noise scale. The variance of the noise is proportional to Alpha.
	// Package calibrate finds a suitable value of Alpha.
	Alpha float64
	// Theta is the parameter vector; nil means Problem.Theta.
	Theta []float64
	// Seed determines all random numbers.
	Seed uint64
	// Times are the grid points at which the ensemble is summarised, in increasing order;
	// nil means all grid points.
	Times []float64
	// Quantiles are levels in (0, 1). For each time in Times and each level, the quantile
	// of the paths is computed. With up to 4096 paths, the results are sample quantiles;
	// with more paths, they come from a histogram with 4096 bins: see Ensemble.Quantile.
	Quantiles []float64
	// If KeepPaths is true, the Ensemble contains the states of all paths at Times. If
	// KeepPaths is false, the memory in use does not grow with the number of paths.
	KeepPaths bool
	// Workers is the number of paths computed at the same time; zero means the number of
	// cores. The number of workers does not change the result.
	Workers int
	// Progress, if not nil, is called from time to time with the number of completed
	// paths, but never by two goroutines at once.
	Progress func(done, total int)
}

// An Ensemble describes the distribution of the numerical solution, estimated by Monte
// Carlo. Time series are indexed [component][time].
type Ensemble struct {
	Problem *Problem
	Grid    *Grid

	// T holds the times at which the ensemble is summarised.
	T []float64
	// Mean and SD are the sample mean and standard deviation of the paths.
	Mean, SD [][]float64
	// Quantile[q] belongs to level Settings.Quantiles[q]. With more than 4096 paths,
	// quantiles are interpolated in a histogram with 4096 bins. The histogram spans twice
	// the range of the first 4096 paths. The interpolation error is less than the width
	// of one bin, which is 1/2048 of the range of the first 4096 paths.
	Quantile [][][]float64
	// Deterministic is the classical solution, ξ = 0.
	Deterministic [][]float64
	// Paths[p] is path p, stored as a row-major len(T)×d matrix, or nil if the path
	// failed. Paths is set only if Settings.KeepPaths is true.
	Paths [][]float64
	// N is the number of paths from which the moments are computed. Failed is the number
	// of paths that could not be computed and are left out. Failure is the error of the
	// first path that failed.
	N, Failed int
	Failure   error
}

// Integrate computes an ensemble of n paths of the problem p with the method m.
//
// Integrate leaves out paths that fail, and counts them in Ensemble.Failed. Integrate
// returns an error if all paths fail, or if the classical solution fails. If ctx is done
// before all paths are complete, Integrate returns the error of ctx and an Ensemble of
// the completed paths.
func Integrate(ctx context.Context, p *Problem, m Method, n int, s Settings) (*Ensemble, error) {
	if err := s.check(ctx, p, n); err != nil {
		return nil, err
	}
	ctx, s.Progress = progress.Counts(ctx, s.Progress, "paths")
	g, err := s.gather(ctx, p, m, n)
	if err != nil {
		return nil, err
	}
	defer g.solver.Bind(ctx)()
	if err := g.classical(); err != nil {
		return nil, fmt.Errorf("classical solution: %w", err)
	}
	const size = 16 // paths that one worker computes in a row
	err = Ordered(ctx, (n+size-1)/size, len(g.workers), func(w, b int) *block {
		return g.solve(ctx, w, b*size, min(n, (b+1)*size))
	}, g.commit)
	return g.finish(ctx, err)
}

// check is called before any computation, and returns an error if an argument is not
// allowed.
func (s *Settings) check(ctx context.Context, p *Problem, paths int) error {
	const maxWorkers = 4096 // more than any machine can use
	switch {
	case p == nil:
		return errors.New("probode: the problem is nil")
	case paths < 1:
		return fmt.Errorf("%s: the number of paths is %d: want at least 1", p.Title(), paths)
	case s.Workers < 0 || s.Workers > maxWorkers:
		return fmt.Errorf("%s: the number of workers is %d: want 1 to %d, or 0 for one per core", p.Title(), s.Workers, maxWorkers)
	}
	for _, q := range s.Quantiles {
		if !(q > 0 && q < 1) {
			return fmt.Errorf("%s: the quantile level is %g: want a number in (0, 1)", p.Title(), q)
		}
	}
	if err := memory.Check(fmt.Sprintf("the results of %d paths", paths), paths/16+1, 8); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// A gathering computes an Ensemble.
type gathering struct {
	Settings
	n       int // requested paths
	solver  *Solver
	theta   []float64
	index   []int // grid points at which the ensemble is described
	workers []*worker

	e       *Ensemble
	total   moments.Vector
	sketch  *quantile.Sketch // nil without Quantiles
	done    int              // paths included so far
	stopped bool             // a block was not finished
}

// A worker holds everything that one goroutine needs to compute paths.
type worker struct {
	solver *Solver
	z, xi  []float64
}

// A block holds the results for several consecutive paths.
type block struct {
	moments moments.Vector
	values  [][]float64 // of each path at the times, nil for one that failed
	failure error       // of the first path that failed
}

// gather prepares a run of n paths.
func (s Settings) gather(ctx context.Context, p *Problem, m Method, n int) (*gathering, error) {
	g := &gathering{Settings: s, n: n, workers: make([]*worker, cmp.Or(s.Workers, runtime.GOMAXPROCS(0)))}
	var err error
	if g.theta, err = p.Parameters(s.Theta); err != nil {
		return nil, err
	}
	mesh := cmp.Or[Mesh](s.Mesh, Uniform(s.StepSize))
	if g.solver, err = (Setup{Method: m, Mesh: mesh, Scaling: s.Scaling, Alpha: s.Alpha}).Solver(ctx, p, g.theta, s.Times); err != nil {
		return nil, err
	}
	if err := g.solver.MoveTo(g.theta); err != nil {
		return nil, err
	}
	if g.index, err = g.solver.Grid().Index(s.Times); err != nil {
		return nil, fmt.Errorf("%s: Times: %w", p.Title(), err)
	}
	if s.Times != nil && (len(g.index) == 0 || !slices.IsSorted(g.index)) {
		return nil, fmt.Errorf("%s: Times is empty or not sorted: want one or more times, in increasing order", p.Title())
	}
	if err := g.fits(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Title(), err)
	}
	g.e = &Ensemble{Problem: p, Grid: g.solver.Grid()}
	for _, i := range g.index {
		g.e.T = append(g.e.T, g.solver.Times()[i])
	}
	size := len(g.index) * g.solver.d
	g.total = moments.NewVector(size)
	if s.Quantiles != nil {
		g.sketch = quantile.New(size, s.Quantiles, len(g.workers))
	}
	return g, nil
}

// fits returns an error if the ensemble does not fit in memory.
func (g *gathering) fits() error {
	rows, d := 0, g.solver.d
	if g.KeepPaths {
		rows = g.n
	}
	if g.Quantiles != nil {
		rows = max(rows, min(g.n, quantile.Exact)+quantile.Bins/2)
	}
	if err := memory.Check(fmt.Sprintf("%d paths at %d times in %d dimensions", g.n, len(g.index), d), rows+4, len(g.index), d); err != nil {
		return err
	}
	workers := min(g.n, len(g.workers))
	return memory.Check(fmt.Sprintf("the paths of %d workers", workers), workers, g.solver.PathLen()+g.solver.NoiseLen())
}

// classical computes the solution without noise.
func (g *gathering) classical() error {
	z := make([]float64, g.solver.PathLen())
	err := g.solver.Solve(z, g.theta, nil)
	g.e.Deterministic = series(g.at(nil, z), g.solver.d)
	return err
}

// solve computes the paths numbered `from` to `to`−1 in the workspace of worker w. The
// result is nil if ctx is done.
func (g *gathering) solve(ctx context.Context, w, from, to int) *block {
	if g.workers[w] == nil {
		g.workers[w] = &worker{g.solver.Clone(), make([]float64, g.solver.PathLen()), make([]float64, g.solver.NoiseLen())}
	}
	wk := g.workers[w]
	r := &block{moments: moments.NewVector(len(g.total.Mean))}
	keep := g.KeepPaths || g.Quantiles != nil
	at := make([]float64, 0, len(g.total.Mean))
	for path := from; path < to; path++ {
		if err := wk.solver.SolvePath(wk.z, g.theta, wk.xi, g.Seed, uint64(path)); err != nil {
			if ctx.Err() != nil {
				return nil // not a failure of the path
			}
			if r.failure == nil {
				r.failure = fmt.Errorf("path %d: %w", path, err)
			}
			r.values = append(r.values, nil)
			continue
		}
		at = g.at(at[:0], wk.z)
		r.moments.Add(at)
		if keep {
			r.values = append(r.values, slices.Clone(at))
		} else {
			r.values = append(r.values, at[:0]) // solved, but no times are requested
		}
	}
	return r
}

// at appends to dst the states of the path z at the times of the ensemble.
func (g *gathering) at(dst, z []float64) []float64 {
	for _, i := range g.index {
		dst = append(dst, row(z, i, g.solver.d)...)
	}
	return dst
}

// commit adds a block to the ensemble, in the order of the paths. Blocks after an
// unfinished block are left out.
func (g *gathering) commit(r *block) {
	if r == nil || g.stopped {
		g.stopped = true
		return
	}
	g.total.Merge(&r.moments)
	for _, v := range r.values {
		g.done++
		if v == nil {
			g.e.Failed++
		} else if g.sketch != nil {
			g.sketch.Add(v)
		}
		if g.KeepPaths {
			g.e.Paths = append(g.e.Paths, v)
		}
	}
	if g.e.Failure == nil {
		g.e.Failure = r.failure
	}
	if g.Progress != nil {
		g.Progress(g.done, g.n)
	}
}

// finish returns the ensemble of the paths that were committed.
func (g *gathering) finish(ctx context.Context, err error) (*Ensemble, error) {
	e, d := g.e, g.solver.d
	e.N, e.Mean, e.SD = g.total.N, series(g.total.Mean, d), series(g.total.SD(), d)
	if g.sketch != nil {
		for _, q := range g.sketch.Quantiles() {
			e.Quantile = append(e.Quantile, series(q, d))
		}
	}
	if g.stopped && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && e.N == 0 {
		err = fmt.Errorf("all %d paths failed; the first: %w", g.n, e.Failure)
	}
	return e, err
}

// series turns rows of d components into one time series for each component.
func series(rows []float64, d int) [][]float64 {
	out := make([][]float64, d)
	for k := range out {
		out[k] = make([]float64, 0, len(rows)/d)
		for i := k; i < len(rows); i += d {
			out[k] = append(out[k], rows[i])
		}
	}
	return out
}

// Ordered calls work(w, i) for i = 0, …, n−1 on the given number of goroutines; w is the
// index of the goroutine. If n ≤ 0, Ordered calls neither function. Ordered passes the
// results to commit one at a time, in order of increasing i. Sums of the results
// therefore do not depend on the number of workers. At any time, only a few results are
// waiting to be committed. If ctx is done, Ordered starts no more work, commits the
// results of the work in progress, and returns context.Cause(ctx). If work() or commit()
// panics, or if work() ends its goroutine, Ordered stops with an error. After a panic,
// the error is a [*PanicError].
func Ordered[T any](ctx context.Context, n, workers int, work func(w, i int) T, commit func(T)) error {
	type item struct {
		i     int
		v     T
		fault error
	}
	inner, stop := context.WithCancel(ctx)
	n = max(n, 0)
	workers = min(workers, n)
	results := make(chan item)
	tickets := make(chan int)
	room := make(chan struct{}, 4*workers) // results that are not committed yet
	go func() {
		defer close(tickets)
		for i := range n {
			// If both cases of a select statement are ready, Go chooses one of them at
			// random, so a check of the context must come first.
			if inner.Err() != nil {
				return
			}
			select {
			case room <- struct{}{}:
			case <-inner.Done():
				return
			}
			select {
			case tickets <- i:
			case <-inner.Done(): // all workers may have ended
				return
			}
		}
	}()
	do := func(w, i int) {
		r := item{i: i, fault: errGoexit}
		defer func() {
			if v := recover(); v != nil {
				r.fault = &PanicError{v, stack()}
			}
			results <- r
		}()
		r.v = work(w, i)
		r.fault = nil
	}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range tickets {
				do(w, i)
			}
		})
	}
	go func() {
		group.Wait()
		close(results)
	}()
	defer func() { // no goroutine remains, even if commit panics
		stop()
		for range results {
		}
	}()
	take := func(r item) (fault error) {
		defer func() {
			if v := recover(); v != nil {
				fault = &PanicError{v, stack()}
			}
		}()
		if r.fault == nil {
			commit(r.v)
		}
		return r.fault
	}
	waiting := make(map[int]item)
	next := 0
	for r := range results {
		waiting[r.i] = r
		for r, ok := waiting[next]; ok; r, ok = waiting[next] {
			delete(waiting, next)
			if fault := take(r); fault != nil {
				return fault
			}
			next++
			<-room
		}
	}
	if next < n {
		return context.Cause(ctx)
	}
	return nil
}

var errGoexit = errors.New("probode: a function called runtime.Goexit instead of returning")
