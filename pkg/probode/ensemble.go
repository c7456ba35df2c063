package probode

import (
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

// Settings says how an ensemble is computed.
type Settings struct {
	// StepSize is h > 0, for the mesh Uniform(h).
	StepSize float64
	// Mesh, if not nil, makes the grid and takes the place of StepSize.
	Mesh Mesh
	// Scaling says how the size of the noise depends on the step; zero is the
	// default of the grid.
	Scaling Scaling
	// Alpha ≥ 0 is the noise scale, a multiplier of a variance. Package
	// calibrate finds one.
	Alpha float64
	// Theta is the parameter value; nil means Problem.Theta.
	Theta []float64
	// Seed determines all random numbers.
	Seed uint64
	// Times are the grid points at which the ensemble is described,
	// increasing; nil means all of them.
	Times []float64
	// Quantiles are levels in (0, 1) at which quantiles are taken at each of
	// Times. They are sample quantiles up to 4096 paths; from there on they
	// come from a histogram of 4096 bins, see Ensemble.Quantile.
	Quantiles []float64
	// KeepPaths asks for the paths themselves, at Times. Without it memory
	// does not grow with the number of paths.
	KeepPaths bool
	// Workers is the number of paths computed at the same time; zero means
	// the number of cores. It changes no bit of the result.
	Workers int
	// Progress, if not nil, is called now and then with the number of paths
	// done, never by two goroutines at once.
	Progress func(done, total int)
}

// An Ensemble describes the distribution of the numerical solution by Monte Carlo.
// Series over time are indexed [component][time].
type Ensemble struct {
	Problem *Problem
	Method  Method
	Grid    *Grid
	Alpha   float64
	Theta   []float64
	Seed    uint64

	// T holds the times of what follows.
	T []float64
	// Mean and SD are the sample mean and standard deviation of the paths.
	Mean, SD [][]float64
	// Quantile[q] belongs to level Settings.Quantiles[q]. With more than 4096
	// paths it is interpolated in a histogram of 4096 bins that spans twice
	// the range of the first 4096: it is then off by less than a bin, 1/2048 of
	// that range, in addition to its Monte Carlo error.
	Levels   []float64
	Quantile [][][]float64
	// Deterministic is the classical solution, ξ = 0.
	Deterministic [][]float64
	// Paths[p] is path p, row-major len(T)×d, if Settings.KeepPaths; nil for a
	// path that failed.
	Paths [][]float64
	// N is the number of paths in the moments and Failed that of the paths that
	// could not be solved and are left out; Failure is the error of the first
	// of them.
	N, Failed int
	Failure   error
}

// Integrate computes an ensemble of n paths of p with method m on all cores.
//
// Paths that fail are left out and counted in the result. If all fail, or if
// the classical solution does, the error says why. If ctx ends early, the
// result describes the paths that were done by then, the first N+Failed in
// number, and the error is that of ctx.
func Integrate(ctx context.Context, p *Problem, m Method, n int, s Settings) (*Ensemble, error) {
	for _, q := range s.Quantiles {
		if !(q > 0 && q < 1) {
			return nil, fmt.Errorf("%s: quantile level %g: want one in (0, 1)", p.Title(), q)
		}
	}
	if err := checkRun(ctx, p, n, s.Workers); err != nil {
		return nil, err
	}
	solver, theta, err := s.solver(ctx, p, m)
	if err != nil {
		return nil, err
	}
	ctx, s.Progress = progress.Counts(ctx, s.Progress, "paths")
	defer solver.Bind(ctx)()
	index, err := solver.Grid().Index(s.Times)
	if err != nil {
		return nil, fmt.Errorf("%s: Times: %w", p.Title(), err)
	}
	if s.Times != nil && (len(index) == 0 || !slices.IsSorted(index)) {
		return nil, fmt.Errorf("%s: Times: want at least one, in increasing order", p.Title())
	}
	d, nt := solver.d, len(index)
	if err := s.fits(p, n, nt, d); err != nil {
		return nil, err
	}
	if err := solver.fitsWorkers(min(n, workerCount(s.Workers))); err != nil {
		return nil, err
	}
	e := &Ensemble{Problem: p, Method: m, Grid: solver.g, Alpha: solver.Alpha(), Theta: theta, Seed: s.Seed, Levels: s.Quantiles}
	for _, i := range index {
		e.T = append(e.T, solver.g.t[i])
	}
	det := make([]float64, solver.PathLen())
	if err := solver.run(det, nil, theta, nil, 0, solver.Steps()); err != nil {
		return nil, fmt.Errorf("classical solution: %w", err)
	}
	e.Deterministic = series(gather(nil, det, index, d), d)

	const block = 16
	type result struct {
		m      moments.Vector
		values [][]float64 // one a path, nil for a failed one
		err    error
	}
	workers := make([]*worker, workerCount(s.Workers))
	blocks := (n + block - 1) / block
	keep := s.KeepPaths || s.Quantiles != nil
	total := moments.NewVector(nt * d)
	var sketch *quantile.Sketch
	if s.Quantiles != nil {
		sketch = quantile.New(nt*d, s.Quantiles, len(workers))
	}
	done, stopped := 0, false
	err = Ordered(ctx, blocks, len(workers), func(w, b int) (r result) {
		if workers[w] == nil {
			workers[w] = newWorker(solver)
		}
		wk := workers[w]
		r.m = moments.NewVector(nt * d)
		at := make([]float64, 0, nt*d)
		for path := b * block; path < min(n, (b+1)*block); path++ {
			if err := wk.solver.SolvePath(wk.z, theta, wk.xi, s.Seed, uint64(path)); err != nil {
				if ctx.Err() != nil {
					return result{} // not a failure of the path
				}
				if r.err == nil {
					r.err = fmt.Errorf("path %d: %w", path, err)
				}
				r.values = append(r.values, nil)
				continue
			}
			at = gather(at[:0], wk.z, index, d)
			r.m.Add(at)
			if keep {
				r.values = append(r.values, slices.Clone(at))
			} else {
				r.values = append(r.values, at[:0]) // solved, but not asked for
			}
		}
		return r
	}, func(r result) {
		if r.m.Mean == nil || stopped {
			stopped = true // what comes behind a block that was not finished is left out
			return
		}
		total.Merge(&r.m)
		for _, v := range r.values {
			done++
			if v == nil {
				e.Failed++
			} else if sketch != nil {
				sketch.Add(v)
			}
			if s.KeepPaths {
				e.Paths = append(e.Paths, v)
			}
		}
		if r.err != nil && e.Failure == nil {
			e.Failure = r.err
		}
		if s.Progress != nil {
			s.Progress(done, n)
		}
	})
	e.N = total.N
	e.Mean, e.SD = series(total.Mean, d), series(total.SD(), d)
	if sketch != nil {
		for _, q := range sketch.Quantiles() {
			e.Quantile = append(e.Quantile, series(q, d))
		}
	}
	if stopped && err == nil {
		err = context.Cause(ctx)
	}
	switch {
	case err != nil:
		return e, err
	case e.N == 0:
		return e, fmt.Errorf("all %d paths failed; the first: %w", n, e.Failure)
	}
	return e, nil
}

// checkRun refuses arguments before anything is computed.
func checkRun(ctx context.Context, p *Problem, paths, workers int) error {
	switch {
	case ctx == nil:
		return errors.New("probode: the context is nil")
	case p == nil:
		return errors.New("probode: the problem is nil")
	case paths < 1:
		return fmt.Errorf("%s: %d paths: want at least 1", p.Title(), paths)
	case workers < 0 || workers > maxWorkers:
		return fmt.Errorf("%s: %d workers: want 1 to %d, or 0 for as many as there are cores", p.Title(), workers, maxWorkers)
	}
	if err := memory.Check(fmt.Sprintf("the results of %d paths", paths), paths/16+1, 8); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// maxWorkers is more goroutines than any machine has a use for.
const maxWorkers = 4096

// solver returns the Solver that s asks for, on its grid at θ.
func (s *Settings) solver(ctx context.Context, p *Problem, m Method) (*Solver, []float64, error) {
	theta, err := p.Parameters(s.Theta)
	if err != nil {
		return nil, nil, err
	}
	mesh := s.Mesh
	if mesh == nil {
		mesh = Uniform(s.StepSize)
	}
	g, err := Setup{Method: m, Mesh: mesh}.Grid(ctx, p, theta, s.Times)
	if err != nil {
		return nil, nil, err
	}
	solver, err := NewSolver(p, m, g, s.Alpha)
	if err != nil {
		return nil, nil, err
	}
	if err := solver.SetScaling(s.Scaling, theta); err != nil {
		return nil, nil, err
	}
	return solver, theta, solver.MoveTo(theta)
}

// fits refuses an ensemble that cannot be held in memory.
func (s *Settings) fits(p *Problem, n, times, d int) error {
	rows := 0
	if s.KeepPaths {
		rows = n
	}
	if s.Quantiles != nil {
		rows = max(rows, min(n, quantile.Exact)+quantile.Bins/2)
	}
	err := memory.Check(fmt.Sprintf("%d paths at %d times in %d dimensions", n, times, d), rows+4, times, d)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// worker is what one goroutine needs to compute paths.
type worker struct {
	solver *Solver
	z, xi  []float64
}

func newWorker(s *Solver) *worker {
	return &worker{s.Clone(), make([]float64, s.PathLen()), make([]float64, s.NoiseLen())}
}

// fitsWorkers refuses more paths at a time than can be held.
func (s *Solver) fitsWorkers(n int) error {
	if err := memory.Check(fmt.Sprintf("the paths of %d workers", n), n, s.PathLen()+s.NoiseLen()); err != nil {
		return fmt.Errorf("%s: %w", s.p.Title(), err)
	}
	return nil
}

func workerCount(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// gather appends rows index of the path z to dst.
func gather(dst, z []float64, index []int, d int) []float64 {
	for _, i := range index {
		dst = append(dst, z[i*d:(i+1)*d]...)
	}
	return dst
}

// series turns rows of d components into one series over time a component.
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

// Ordered calls work(w, i) for i = 0, …, n−1 on the given number of goroutines,
// of which w is the number, and commit with the results in the order of i, so that
// what commit adds up does not depend on the number of workers. At most a few results
// wait for their turn. If ctx ends, no more work is begun, what was begun is committed,
// and the error is the cause of that end. A panic of work or commit, or a work that
// ends its goroutine, ends all of it with an error; a panic is a [*PanicError].
func Ordered[T any](ctx context.Context, n, workers int, work func(w, i int) T, commit func(T)) error {
	type item struct {
		i     int
		v     T
		fault error
	}
	inner, stop := context.WithCancel(ctx)
	workers = min(workers, n)
	results := make(chan item)
	tickets := make(chan int)
	room := make(chan struct{}, 4*workers) // results begun and not yet committed
	go func() {
		defer close(tickets)
		for i := range n {
			// Without this look a context that has ended would lose its race
			// against free room half of the time.
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
			case <-inner.Done(): // there may be no worker left
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
	defer func() { // whatever commit does, no goroutine stays behind
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

var errGoexit = errors.New("probode: a function ended its goroutine by runtime.Goexit: want one that returns")
