package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
)

// solved has NaN for missing numbers.
type solved struct {
	Problem     string  `csv:"problem"`
	Kind        string  `csv:"kind"`
	Dimension   int     `csv:"dimension"`
	Method      string  `csv:"method"`
	Size        string  `csv:"size"`
	Evaluations int     `csv:"evaluations"` // in one solve
	Jacobians   int     `csv:"jacobians"`
	Seconds     float64 `csv:"seconds"` // of one solve
	Error       float64 `csv:"error"`   // root mean square, relative to the size of the components
	Status      string  `csv:"status"`  // "ok", or the reason why numbers are missing
	Alpha       float64 `csv:"alpha"`
}

// spread compares standard deviations with errors at other θ than those of the
// calibration.
type spread struct {
	Square   float64    `csv:"mean_square"` // of the standardised error
	Within   [2]float64 `csv:"within_1sd within_2sd"`
	Coverage [4]float64 `csv:"coverage_50 coverage_68 coverage_90 coverage_95"`
}

// A row of the rule "none" has only the classical results.
type row struct {
	solved
	Rule        string  `csv:"rule"`
	Steps       int     `csv:"steps"`
	SE          float64 `csv:"alpha_se"`
	SETime      float64 `csv:"alpha_se_time"`
	Calibration float64 `csv:"calibration_seconds"`

	spread
	Band     [2]float64 `csv:"mean_square_lo mean_square_hi"`
	Each     string     `csv:"mean_square_by_component"` // with semicolons
	Points   int        `csv:"points"`
	Excluded int        `csv:"excluded"`
	Failed   int        `csv:"thetas_failed"`
	CRPS     float64    `csv:"crps"`
	Plain    float64    `csv:"crps_without_spread"`
	Wide     float64    `csv:"share_too_wide"`
	Inputs   string     `csv:"inputs"` // see observatory.inputs
}

func (r *row) key() string { return strings.Join([]string{r.Problem, r.Method, r.Size, r.Rule}, "|") }

func (r *row) cell() string { return r.Problem + " " + r.Method + " " + r.Size }

func (r *row) judged() bool { return r.Status == "ok" && r.Rule != "none" && r.Points > 0 }

func (r *row) components() []float64 {
	var out []float64
	for s := range strings.SplitSeq(r.Each, ";") {
		if v, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

func (o *observatory) observe(ctx context.Context, cells *ledger[row]) error {
	err := o.each(len(o.subjects), func(i int) error {
		t, err := newTruth(ctx, &o.subjects[i], o.others, o.seed)
		if err != nil {
			return err
		}
		for j := range o.entrants {
			e := &o.entrants[j]
			for level := range o.levels {
				c := cell{o, t, e, level}
				if (e.tols == nil || level < len(e.tols)) && !c.known(cells) {
					rows, err := c.compute(ctx)
					if err == nil {
						err = cells.add(rows...)
					}
					if err != nil {
						return err
					}
				}
			}
		}
		fmt.Fprintf(os.Stderr, "%s: all cells\n", t.p.Name)
		return nil
	})
	if err != nil {
		return err
	}
	return cells.arrange(func(r *row) []float64 {
		_, size, _ := strings.Cut(r.Size, " ")
		v, _ := strconv.ParseFloat(size, 64)
		place := 0.
		if r.Rule != "none" {
			place = named(o.rules, func(q *rule) string { return q.name }, r.Rule)
		}
		return []float64{named(o.subjects, func(s *subject) string { return s.problem().Name }, r.Problem),
			named(o.entrants, func(e *entrant) string { return e.name }, r.Method), 1 / v, place}
	})
}

type cell struct {
	o       *observatory
	t       *truth
	entrant *entrant
	level   int // of three
}

func (c *cell) mesh() (probode.Mesh, string) {
	if c.entrant.tols != nil {
		tol := c.entrant.tols[c.level]
		return probode.Frozen{Tolerance: probode.Tolerance{Relative: tol}, MaxSteps: 20000}, fmt.Sprintf("tol %.0e", tol)
	}
	h := (c.t.p.Span[1] - c.t.p.Span[0]) / float64(c.t.steps<<c.level)
	return probode.Uniform(h), fmt.Sprintf("h %.4g", h)
}

// known reports whether all rows are there; otherwise the whole cell is computed again.
func (c *cell) known(cells *ledger[row]) bool {
	_, size := c.mesh()
	r := row{solved: solved{Problem: c.t.p.Name, Method: c.entrant.name, Size: size}, Rule: "none"}
	classical := cells.find(r.key())
	if classical == nil || classical.Status != "ok" {
		return classical != nil
	}
	for _, rule := range c.rules() {
		if r.Rule = rule.name; cells.find(r.key()) == nil {
			return false
		}
	}
	return true
}

func (c *cell) rules() []rule {
	return slices.DeleteFunc(slices.Clone(c.o.rules), func(r rule) bool { return c.entrant.blind && r.scaling == probode.ScaleLocal })
}

// budget is for one rule in a cell: evaluations of f and J times components.
const budget = 1.5e7

// compute puts failures into the status of a row, and returns an error only if ctx is
// done.
func (c *cell) compute(ctx context.Context) ([]row, error) {
	m := c.entrant.method()
	mesh, size := c.mesh()
	base := unknown[row]()
	base.Problem, base.Kind, base.Dimension, base.Method, base.Size = c.t.p.Name, c.t.kind, c.t.p.Dim(), c.entrant.name, size
	base.Rule, base.Status, base.Inputs = "none", "ok", c.o.inputs()
	if err := c.cost(&base, m, mesh); err != nil {
		base.Status = "fails: " + oneLine(err)
		return []row{base}, ctx.Err()
	}
	rows := []row{base}
	for _, r := range c.rules() {
		out := base
		out.Rule = r.name
		if err := c.calibrated(ctx, m, mesh, r, &out); err != nil {
			out.Status = "fails: " + oneLine(err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rows = append(rows, out)
	}
	return rows, nil
}

func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

func (c *cell) cost(out *row, m probode.Method, mesh probode.Mesh) error {
	p := c.t.p
	var f, j atomic.Int64
	counted := *p
	counted.F = func(dst []float64, at float64, x, theta []float64) { f.Add(1); p.F(dst, at, x, theta) }
	if p.FJ != nil {
		counted.FJ = func(dst, jac []float64, at float64, x, theta []float64) { j.Add(1); p.FJ(dst, jac, at, x, theta) }
	}
	s, err := c.t.solver(&counted, m, mesh)
	if err != nil {
		return err
	}
	out.Steps = s.Steps()
	z := make([]float64, s.PathLen())
	theta := slices.Clone(p.Theta)
	// If θ has not changed since the equations were last solved, some methods, such as
	// gp.Block, return a stored solution. Every call of solve() uses a different θ, so
	// that the equations are solved again and all evaluations are counted.
	solve := func() error {
		for k, v := range theta {
			theta[k] = math.Nextafter(v, math.Inf(1))
		}
		return s.Solve(z, theta, nil)
	}
	for range 2 { // the first solve also checks the problem
		f.Store(0)
		j.Store(0)
		if err := solve(); err != nil {
			return err
		}
	}
	out.Evaluations, out.Jacobians = int(f.Load()), int(j.Load())
	if s, err = c.t.solver(p, m, mesh); err != nil {
		return err
	}
	out.Seconds = math.Inf(1)
	// The time is the shortest of several runs, because the first run is slower, and
	// other programs may slow down a run.
	for spent, n := 0., 0; n < 4 || n < 200 && spent < 0.02; n++ {
		begin := time.Now()
		if err := solve(); err != nil {
			return err
		}
		took := time.Since(begin).Seconds()
		spent += took
		out.Seconds = min(out.Seconds, took)
	}
	if out.Error, err = c.t.relative(s); err == nil && !(out.Error < 10) {
		err = fmt.Errorf("the method is unstable here: its error is %.2g times the size of the state", out.Error)
	}
	return err
}

// calibrated assesses the noise of the nominal θ at the others.
func (c *cell) calibrated(ctx context.Context, m probode.Method, mesh probode.Mesh, r rule, out *row) error {
	t, paths := c.t, c.o.paths
	if cost := float64(out.Evaluations+out.Jacobians*t.p.Dim()) * float64(t.p.Dim()); cost*float64(paths)*20 > budget {
		paths = max(40, min(paths, int(budget/cost/20)))
	}
	s, err := t.solver(t.p, m, mesh)
	if err != nil {
		return err
	}
	begin := time.Now()
	cal, err := calibrate.Run(ctx, t.p, m, calibrate.Settings{Mesh: probode.Fixed{Grid: s.Grid()}, Scaling: r.scaling, Criterion: r.rule,
		Paths: paths, Seed: c.o.seed, Workers: 1})
	if err != nil {
		return err
	}
	out.Calibration = time.Since(begin).Seconds()
	out.Alpha, out.SE, out.SETime = cal.Alpha, cal.SE, cal.SETime
	v := newVerdict(t.p.Dim())
	failed := 0
	for i := 1; i < len(t.theta); i++ {
		if t.x[i] == nil {
			continue
		}
		e, err := probode.Integrate(ctx, t.p, m, paths, probode.Settings{Mesh: mesh, Scaling: r.scaling, Alpha: cal.Alpha,
			Theta: t.theta[i], Seed: c.o.seed + uint64(1000*i), Times: t.times, KeepPaths: true, Workers: 1})
		if err != nil || e.N < 10 {
			failed++
			continue
		}
		// A multistep method takes its first steps with another method. No rule is
		// assessed at the times of the first steps.
		first := 0
		for start := e.Grid.Times()[m.Noise(t.p.Dim()).Quiet]; first < len(t.times) && t.times[first] <= start; first++ {
		}
		v.add(e, t.x[i], t.err[i], t.size, first)
	}
	if v.points == 0 {
		return fmt.Errorf("all errors are too small to be compared with the noise (the computation failed at %d values of θ)", failed)
	}
	v.fill(out)
	out.Failed = failed
	if math.IsNaN(cal.SE) { // calibrate.Run says so, too
		return errors.New("cut off: alpha* is only a lower bound, because for slightly larger values some paths cannot be computed")
	}
	return nil
}

func (v *verdict) fill(r *row) {
	n := float64(v.points)
	r.Points, r.Excluded = v.points, v.excluded
	r.Square, r.Band = v.meanSquare()
	for i, c := range v.inside {
		r.Coverage[i] = c / n
	}
	for i, c := range v.within {
		r.Within[i] = c / n
	}
	r.CRPS, r.Plain, r.Wide = v.crps/n, v.plain/n, v.wide/n
	var parts []string
	for k, s := range v.each {
		parts = append(parts, strconv.FormatFloat(s/v.n[k], 'g', 4, 64))
	}
	r.Each = strings.Join(parts, ";")
}
