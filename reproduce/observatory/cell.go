package main

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/reference"
)

// A truth is a problem with accurate solutions at twenty times: at its own θ, which is the
// first, and at ten others, where calibrations are judged.
type truth struct {
	p     *probode.Problem
	kind  string
	times []float64
	theta [][]float64
	x     [][]float64 // for each θ; nil if there is no accurate solution
	err   [][]float64
	size  []float64 // size of each component, at the problem's own θ
	steps int       // number of steps of the coarsest uniform grid
}

const observed = 20 // times

// newTruth solves a problem accurately at its θ and at others, which are log-normal around
// it with an sd of 10 %.
func newTruth(ctx context.Context, s *subject, others int, seed uint64) (*truth, error) {
	t := &truth{p: s.problem(), kind: s.kind}
	p := t.p
	for i := range observed {
		t.times = append(t.times, p.Span[0]+(p.Span[1]-p.Span[0])*float64(i+1)/observed)
	}
	t.times[observed-1] = p.Span[1]
	rng := probode.Stream(seed, 1)
	for i := range others + 1 {
		theta := append([]float64(nil), p.Theta...)
		if i > 0 {
			for k := range theta {
				theta[k] *= math.Exp(0.1 * rng.NormFloat64())
			}
		}
		ref, err := reference.Solve(ctx, p, t.times, reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-12}, Theta: theta})
		if err != nil {
			if i == 0 || ctx.Err() != nil {
				return nil, err
			}
			ref = &reference.Solution{}
		}
		t.theta, t.x, t.err = append(t.theta, theta), append(t.x, ref.X), append(t.err, ref.Error)
	}
	d := p.Dim()
	t.size = make([]float64, d)
	for i, x := range t.x[0] {
		t.size[i%d] = max(t.size[i%d], math.Abs(x))
	}
	return t, t.coarsest()
}

// coarsest returns the smallest number of steps of the form 20·2ⁿ at which the root mean
// square error of the trapezoidal rule (AM1) is at most 10 % of the size of a component. Half
// and a quarter of this step are used as well.
func (t *truth) coarsest() error {
	const most = 20 << 9
	for n := observed; n <= most; n *= 2 {
		z, err := t.classical(probode.AdamsMoulton{Steps: 1}, probode.Uniform((t.p.Span[1]-t.p.Span[0])/float64(n)))
		if err == nil && t.relative(z) <= 0.1 {
			t.steps = n
			return nil
		}
	}
	return fmt.Errorf("%s: AM1 errs by more than 10 %% with %d steps: want a shorter span", t.p.Name, most)
}

// classical solves without noise and returns the states at the times.
func (t *truth) classical(m probode.Method, mesh probode.Mesh) ([]float64, error) {
	g, err := probode.Setup{Method: m, Mesh: mesh}.Grid(context.Background(), t.p, t.p.Theta, t.times)
	if err != nil {
		return nil, err
	}
	s, err := probode.NewSolver(t.p, m, g, 0)
	if err != nil {
		return nil, err
	}
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, t.p.Theta, nil); err != nil {
		return nil, err
	}
	index, err := g.Index(t.times)
	if err != nil {
		return nil, err
	}
	d := t.p.Dim()
	var out []float64
	for _, i := range index {
		out = append(out, z[i*d:(i+1)*d]...)
	}
	return out, nil
}

// relative returns the root mean square of the error over times and components, in units of
// the size of each component.
func (t *truth) relative(z []float64) float64 {
	var s float64
	d := len(t.size)
	for i, v := range z {
		e := (v - t.x[0][i]) / t.size[i%d]
		s += e * e
	}
	return math.Sqrt(s / float64(len(z)))
}

// A cell is a method on a problem at one step size or tolerance.
type cell struct {
	subject *subject
	entrant *entrant
	level   int // of three
}

// mesh returns the mesh of a cell and its text.
func (c *cell) mesh(t *truth) (probode.Mesh, string) {
	if c.entrant.tols != nil {
		tol := c.entrant.tols[c.level]
		return probode.Frozen{Tolerance: probode.Tolerance{Relative: tol}, MaxSteps: 20000}, fmt.Sprintf("tol %.0e", tol)
	}
	n := t.steps << c.level
	h := (t.p.Span[1] - t.p.Span[0]) / float64(n)
	return probode.Uniform(h), fmt.Sprintf("h %.4g", h)
}

// budget is the largest number of evaluations of f and J, times the number of components,
// for one rule of a cell.
const budget = 1.5e7

// compute measures a cell and returns one row for each rule. A numerical failure is in the
// status of a row; the error is only that of ctx.
func (c *cell) compute(ctx context.Context, o *observatory, t *truth) ([]row, error) {
	m := c.entrant.method()
	mesh, size := c.mesh(t)
	base := row{problem: t.p.Name, kind: t.kind, dimension: t.p.Dim(), method: c.entrant.name, size: size, rule: "none", status: "ok"}
	nan(&base)
	if err := c.cost(&base, t, m, mesh); err != nil {
		base.status = "fails: " + oneLine(err)
		return []row{base}, ctx.Err()
	}
	rows := []row{base}
	for _, r := range o.rules {
		out := base
		out.rule, out.status = r.name, "ok"
		begin := time.Now()
		if err := c.calibrated(ctx, o, t, m, mesh, r, &out); err != nil {
			out.status = "fails: " + oneLine(err)
		}
		out.took = time.Since(begin).Seconds()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rows = append(rows, out)
	}
	return rows, nil
}

// cost measures the classical solution.
func (c *cell) cost(out *row, t *truth, m probode.Method, mesh probode.Mesh) error {
	var f, j atomic.Int64
	counted := *t.p
	counted.F = func(dst []float64, at float64, x, theta []float64) { f.Add(1); t.p.F(dst, at, x, theta) }
	if t.p.FJ != nil {
		counted.FJ = func(dst, jac []float64, at float64, x, theta []float64) { j.Add(1); t.p.FJ(dst, jac, at, x, theta) }
	}
	g, err := probode.Setup{Method: m, Mesh: mesh}.Grid(context.Background(), t.p, t.p.Theta, t.times)
	if err != nil {
		return err
	}
	out.steps = g.Steps()
	s, err := probode.NewSolver(&counted, m, g, 0)
	if err != nil {
		return err
	}
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, t.p.Theta, nil); err != nil {
		return err
	}
	f.Store(0)
	j.Store(0)
	if err := s.Solve(z, t.p.Theta, nil); err != nil { // the first one checks the problem
		return err
	}
	out.evaluations, out.jacobians = int(f.Load()), int(j.Load())
	if s, err = probode.NewSolver(t.p, m, g, 0); err != nil {
		return err
	}
	out.seconds = math.Inf(1)
	// The shortest of several times, because other programs use the machine and the first run
	// is slower.
	for spent, n := 0., 0; n < 4 || n < 200 && spent < 0.02; n++ {
		begin := time.Now()
		if err := s.Solve(z, t.p.Theta, nil); err != nil {
			return err
		}
		took := time.Since(begin).Seconds()
		spent += took
		out.seconds = min(out.seconds, took)
	}
	at, err := t.classical(m, mesh)
	if err != nil {
		return err
	}
	if out.error = t.relative(at); !(out.error < 10) {
		return fmt.Errorf("the method is unstable here: error %.2g times the size of the state", out.error)
	}
	return nil
}

// calibrated chooses the noise at the problem's own θ and judges it at the others.
func (c *cell) calibrated(ctx context.Context, o *observatory, t *truth, m probode.Method, mesh probode.Mesh, r rule, out *row) error {
	paths := o.paths
	if cost := float64(out.evaluations+out.jacobians*t.p.Dim()) * float64(t.p.Dim()); cost*float64(paths)*20 > budget {
		paths = max(40, min(paths, int(budget/cost/20)))
	}
	begin := time.Now()
	cal, err := calibrate.Run(ctx, t.p, m, calibrate.Settings{Mesh: aligned{mesh, t.times}, Scaling: r.scaling, Criterion: r.rule,
		Paths: paths, Seed: o.seed, Workers: 1})
	if err != nil {
		return err
	}
	out.calibration = time.Since(begin).Seconds()
	out.alpha, out.se, out.seTime = cal.Alpha, cal.SE, cal.SETime
	if cal.AtEdge {
		return fmt.Errorf("no optimum of alpha in its bracket")
	}
	out.fit = cal.Fits[0].MeanSquare
	v := newVerdict(t.p.Dim())
	failed := 0
	for i := 1; i < len(t.theta); i++ {
		if t.x[i] == nil {
			continue
		}
		e, err := probode.Integrate(ctx, t.p, m, paths, probode.Settings{Mesh: mesh, Scaling: r.scaling, Alpha: cal.Alpha,
			Theta: t.theta[i], Seed: o.seed + uint64(1000*i), Times: t.times, KeepPaths: true, Workers: 1})
		if err != nil || e.N < 10 {
			failed++
			continue
		}
		// After start-up, for all rules: the first steps of a multistep method are
		// made by another method.
		first := 0
		for start := e.Grid.Times()[m.Noise(t.p.Dim()).Quiet]; first < len(t.times) && t.times[first] <= start; first++ {
		}
		v.add(e, t.x[i], t.err[i], t.size, first)
	}
	if v.points == 0 {
		return fmt.Errorf("no error is large enough to be judged (%d θ failed)", failed)
	}
	out.take(v, failed)
	if math.IsNaN(cal.SE) { // calibrate.Run says so, too
		return fmt.Errorf("cut off: close above alpha* paths cannot be solved, so that it is a lower bound")
	}
	return nil
}

// aligned is a mesh through given times.
type aligned struct {
	probode.Mesh
	times []float64
}

func (a aligned) Grid(ctx context.Context, p *probode.Problem, m probode.Method, theta, _ []float64) (*probode.Grid, error) {
	return probode.Setup{Method: m, Mesh: a.Mesh}.Grid(ctx, p, theta, a.times)
}
