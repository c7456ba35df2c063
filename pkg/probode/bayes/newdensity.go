package bayes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// NewDensity returns the density of p. NewDensity checks p, creates the grids, and
// measures the local errors if p.Scaling requires local errors.
func NewDensity(ctx context.Context, p *Posterior) (*Density, error) {
	if p == nil {
		return nil, errors.New("bayes: the Posterior is nil")
	}
	transforms, err := p.validate()
	if err != nil {
		return nil, err
	}
	e := &Density{p: p, transforms: transforms, alpha: p.index(p.AlphaParam), theta: make([]float64, len(p.Params)), solveState: &solveState{ctx: context.Background()}}
	for k, q := range p.Params {
		if q.Natural {
			transforms[k] = identity
		}
	}
	var paths *Density
	if p.Integral != nil {
		if paths, err = newPaths(ctx, p); err != nil {
			return nil, err
		}
	}
	values := 0
	for i := range p.Experiments {
		r, err := e.newPart(ctx, i, paths)
		if err != nil {
			return nil, fmt.Errorf("bayes: %s: %w", p.Experiments[i].title(i), err)
		}
		e.parts = append(e.parts, r)
		e.noise += r.noise
		values += len(r.x.Data.T) * r.x.Data.columns()
	}
	e.setFit(make([]float64, values))
	e.setTerms()
	return e, nil
}

// newPaths returns the density of p without its Integral.
func newPaths(ctx context.Context, p *Posterior) (*Density, error) {
	if p != nil && p.Integral != nil {
		q := *p
		q.Integral = nil
		p = &q
	}
	return NewDensity(ctx, p)
}

func (e *Density) newPart(ctx context.Context, number int, paths *Density) (*Part, error) {
	p, x := e.p, &e.p.Experiments[number]
	if paths != nil {
		return e.newPredicted(ctx, number, paths)
	}
	problem := x.Problem
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	var pick []int
	if x.Observe == nil {
		var err error
		if pick, err = x.pick(); err != nil {
			return nil, err
		}
	}
	path, err := p.Bind(ctx, problem, p.at(x), x.Data.T)
	if err != nil {
		return nil, err
	}
	if _, ok := path.(probode.Gridded); p.AlphaParam != "" && path.NoiseLen() > 0 && !ok {
		return nil, fmt.Errorf("α is the parameter %q, but the noise scale of %v cannot be changed: give Alpha a fixed value", p.AlphaParam, p.Setup)
	}
	r := &Part{e: e, number: number, x: x, dim: problem.Dim(), pick: pick, noise: path.NoiseLen(), theta: slices.Clone(problem.Theta)}
	for k := range problem.Theta {
		r.param = append(r.param, p.index(x.param(k)))
	}
	r.begin(path)
	return r, nil
}

// newPredicted returns the part of an experiment that the Integral predicts.
func (e *Density) newPredicted(ctx context.Context, number int, paths *Density) (*Part, error) {
	path, err := e.p.Integral.Bind(ctx, paths.Clone(), number)
	if err != nil {
		return nil, err
	}
	r := &Part{e: e, number: number, x: e.p.Experiments[number].predicted(), theta: make([]float64, len(e.p.Params))}
	for k := range r.theta {
		r.param = append(r.param, k)
	}
	for k := range r.x.Data.Names {
		r.pick = append(r.pick, k)
	}
	r.dim = len(r.pick)
	r.begin(path)
	return r, nil
}

// begin gives r its path and its workspace.
func (r *Part) begin(path probode.Path) {
	p, x, columns := r.e.p, r.x, r.x.Data.columns()
	r.differ, r.state = newDiffer(columns, r.dim+len(p.Params)), make([]float64, len(x.Data.T)*r.dim)
	r.on(path)
	for k := range columns {
		l := columnErrors{Likelihood: x.errors(k), values: x.errors(k).Own()}
		_, described := description(l.Likelihood)
		if described { // use its own description, not that of an embedded likelihood
			l.exact, _ = l.Likelihood.(SlopedLikelihood)
		}
		// The inherited Information of an embedded likelihood may be wrong for the outer one.
		if by, ok := l.Likelihood.(Informer); ok && (described || by.Describe().Of == nil) {
			l.informer = by
		}
		for _, v := range l.values {
			l.param = append(l.param, p.index(v.Name))
			l.column = append(l.column, p.columnOf(x, v))
			l.own = append(l.own, v.Value)
		}
		n := 1 + len(l.own)
		l.zeros, l.score = make([]float64, n*n), make([]float64, n)
		r.errors = append(r.errors, l)
	}
}

// Clone returns a density of the same posterior for another goroutine, with the same
// grids and the same local errors. The clone counts its steps from zero, and is not bound
// to a context.
func (e *Density) Clone() *Density {
	c := &Density{p: e.p, transforms: e.transforms, alpha: e.alpha, noise: e.noise, theta: make([]float64, len(e.theta)), solveState: &solveState{ctx: context.Background(), fault: e.fault}}
	for _, r := range e.parts {
		c.parts = append(c.parts, r.clone(c))
	}
	c.setFit(make([]float64, len(e.fit)))
	c.terms = make([]float64, len(e.terms))
	for _, d := range e.others {
		other := d.Clone()
		other.solveState = c.solveState
		c.others = append(c.others, other)
	}
	return c
}

func (r *Part) clone(e *Density) *Part {
	c := *r
	c.e, c.done, c.release = e, nil, nil
	c.on(r.path.Clone())
	c.held, c.row0, c.back, c.differ = nil, 0, nil, newDiffer(len(r.errors), len(r.differ.at))
	c.state, c.theta = make([]float64, len(r.state)), slices.Clone(r.theta)
	c.errors = slices.Clone(r.errors)
	for k := range c.errors {
		l := &c.errors[k]
		l.own, l.zeros, l.score = slices.Clone(l.own), slices.Clone(l.zeros), slices.Clone(l.score)
	}
	return &c
}

// With changes the Setup: it returns the density of the same posterior, solved with s
// (see Posterior.SolvedBy). e.Work also counts the solver steps of the new density. When
// the context of e is done, solves with the new density stop, too. A second call with an
// equal Setup returns the same density. If e is cloned, all densities that With has
// created are cloned, too.
func (e *Density) With(s probode.Setup) (*Density, error) {
	return e.as(e.p.SolvedBy(s))
}

// as returns the density of p, which differs from the posterior of e in Setup or Integral.
func (e *Density) as(p *Posterior) (*Density, error) {
	for _, d := range e.others {
		if d.p.Setup.Equal(p.Setup) && d.p.Integral == p.Integral {
			return d, nil
		}
	}
	d, err := NewDensity(e.ctx, p)
	if err != nil {
		return nil, err
	}
	d.solveState = e.solveState
	e.others = append(e.others, d)
	return d, nil
}
