// Package marginal builds posteriors whose likelihood is an integral over the uncertain
// solution of the differential equation. A Gaussian filter computes the likelihood by
// the Fenrir or the DALTON method (see filter.Marginal).
//
// Posterior returns a bayes.Posterior without solver noise. Fits, samplers and Laplace
// approximations can use this posterior like any other. A path of this posterior does not
// contain the solution of the equation. Instead, the path contains the mean and the
// standard deviation of the predictive distribution of each observation. For log-normal
// errors, the path contains the median of the observation and the standard deviation of
// its logarithm. The Setup of the posterior must not be changed. To compare the filter
// with another solver, compare the posterior distributions of the parameters.
package marginal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/filter"
)

// Settings holds the options of Posterior.
type Settings struct {
	filter.EK
	// Mesh chooses the time grid. The observation times must be grid points, as with
	// probode.Through and probode.Frozen.
	Mesh probode.Mesh
	// DALTON selects the DALTON method instead of the Fenrir method.
	DALTON bool
	// Diffusion is the diffusion κ² > 0 of the prior process for the solution: a known
	// number, or a parameter of the model.
	Diffusion bayes.Value
}

// Posterior returns the posterior distribution of the parameters of m. The likelihood is
// an integral over the uncertain solution of the equation. With Fenrir, the measurement
// errors must be Gaussian or log-normal. With DALTON, observations can have any
// distribution with a smooth log density, such as the Poisson distribution. If the
// errors are neither Gaussian nor log-normal, the integral over the solution is
// approximated by Laplace's method. The filter linearises expected values that are not
// linear in the state. If the errors are log-normal, the filter linearises the
// logarithms of the expected values.
//
// To evaluate the log likelihood, Fenrir needs one forward and one backward pass of the
// filter, and DALTON needs two forward passes. Laplace's method alternates DALTON's
// forward pass over the data with a backward pass until the mode is found. A gradient
// requires 2p evaluations of the log likelihood for p parameters.
func Posterior(ctx context.Context, m bayes.Model, s Settings) (*bayes.Posterior, error) {
	original := &bayes.Posterior{Model: m, Setup: probode.Setup{Method: s.EK, Mesh: s.Mesh, Alpha: s.Diffusion.Value}, AlphaParam: s.Diffusion.Name}
	of, err := bayes.NewDensity(ctx, original)
	if err != nil {
		return nil, err
	}
	names := original.Names()
	diffusion := slices.Index(names, s.Diffusion.Name)
	switch {
	case s.Diffusion.Name != "" && diffusion < 0:
		return nil, fmt.Errorf("marginal: the diffusion is named %q: want the name of a parameter of the model", s.Diffusion.Name)
	case s.Diffusion.Name == "" && !(s.Diffusion.Value > 0):
		return nil, fmt.Errorf("marginal: the diffusion is %g: want a number > 0", s.Diffusion.Value)
	}
	mesh := &mesh{Settings: s, of: of, number: map[*probode.Problem]int{}, diffusion: diffusion}
	out := &bayes.Posterior{Model: bayes.Model{Params: m.Params}, Setup: probode.Setup{Method: s.EK, Mesh: mesh}}
	for i := range m.Experiments {
		x := &m.Experiments[i]
		own, err := predictive(x, m.Params, s.DALTON)
		if err != nil {
			return nil, fmt.Errorf("marginal: %s: %w", of.Part(i).Title(), err)
		}
		mesh.number[own.Problem] = i
		out.Experiments = append(out.Experiments, *own)
	}
	return out, nil
}

// predictive has two states for each column, mean and sd of the predictive distribution,
// and with DALTON one for the extra term.
func predictive(x *bayes.Experiment, params []bayes.Param, dalton bool) (*bayes.Experiment, error) {
	c := len(x.Data.Y[0])
	data := &bayes.Data{T: x.Data.T, Time: x.Data.Time}
	var errs, spreads []bayes.Likelihood
	var sds []string
	for k := range c {
		name := fmt.Sprintf("y%d", k+1)
		if x.Data.Names != nil {
			name = x.Data.Names[k]
		}
		sd := "predictive sd of " + name
		predicted := bayes.Likelihood(bayes.Gaussian{Sigma: bayes.Unknown(sd)})
		switch of := x.Errors[min(k, len(x.Errors)-1)].(type) {
		case bayes.Gaussian:
		case bayes.LogNormal:
			predicted = bayes.LogNormal{Sigma: bayes.Unknown(sd)}
		default:
			if !dalton || smooth(x, k) == nil {
				return nil, fmt.Errorf("column %d has errors of type %T: want bayes.Gaussian or bayes.LogNormal, or use DALTON if the log density of the errors is smooth", k+1, of)
			}
		}
		data.Names, sds = append(data.Names, name), append(sds, sd)
		errs, spreads = append(errs, predicted), append(spreads, bayes.Gaussian{Sigma: bayes.Known(1)})
	}
	data.Names, errs = append(data.Names, sds...), append(errs, spreads...)
	if dalton {
		data.Names, errs = append(data.Names, "evidence of the equation"), append(errs, term{})
	}
	for n, y := range x.Data.Y {
		row := slices.Clone(y)
		for len(row) < len(errs) {
			row = append(row, math.NaN())
		}
		if dalton && n == len(x.Data.Y)-1 {
			row[2*c] = 0
		}
		data.Y = append(data.Y, row)
	}
	p := &probode.Problem{
		Name: x.Problem.Name + ", integrated out", States: data.Names, X0: make([]float64, len(errs)), Span: x.Problem.Span,
		F: func(dst []float64, _ float64, _, _ []float64) { // no other solver knows these states
			for k := range dst {
				dst[k] = math.NaN()
			}
		},
	}
	for _, q := range params {
		p.Params = append(p.Params, q.Name)
		p.Theta = append(p.Theta, q.Prior.Quantile(0.5))
	}
	return &bayes.Experiment{Name: x.Name, Problem: p, Data: data, Errors: errs}, nil
}

// term is a likelihood whose log probability equals the expected value m.
type term struct{}

func (term) Own() []bayes.Value                        { return nil }
func (term) LogProb(_, m float64, _ []float64) float64 { return m }
func (term) Slope(dst []float64, _, _ float64, _ []float64) {
	dst[0] = 1
}

func (t term) Describe() bayes.Description { return bayes.Description{Of: t, Y: "0"} }

func (term) Rand(_ float64, _ []float64, _ *rand.Rand) float64 { return math.NaN() }

func (term) Information(dst []float64, _ float64, _ []float64) bool {
	dst[0] = 0
	return true
}

// mesh has paths of predictive means and standard deviations.
type mesh struct {
	Settings
	of        *bayes.Density           // of the original posterior
	number    map[*probode.Problem]int // of the experiment that a problem stands for
	diffusion int                      // index of the parameter that is κ², −1 if it is known
}

func (m *mesh) String() string {
	if m.DALTON {
		return fmt.Sprintf("DALTON, κ² = %v, %v", m.Diffusion, m.Mesh)
	}
	return fmt.Sprintf("Fenrir, κ² = %v, %v", m.Diffusion, m.Mesh)
}

func (m *mesh) Bind(ctx context.Context, s probode.Setup, p *probode.Problem, at, times []float64) (probode.Path, error) {
	ek, ok := s.Method.(filter.EK)
	if !ok {
		return nil, fmt.Errorf("marginal: the method is %v: want filter.EK", s.Method)
	}
	i, ok := m.number[p]
	if !ok {
		return nil, fmt.Errorf("marginal: the mesh was not made for the model of %s", p.Title())
	}
	x := &m.of.Posterior().Experiments[i]
	if !slices.Equal(times, x.Data.T) {
		return nil, errors.New("marginal: predictive distributions are available only at the observation times")
	}
	path := &path{mesh: m, method: ek, number: i, x: x}
	for k := range x.Data.Y[0] {
		_, logarithm := x.Errors[min(k, len(x.Errors)-1)].(bayes.LogNormal)
		path.logarithm = append(path.logarithm, logarithm)
		path.laplace = append(path.laplace, smooth(x, k))
	}
	path.own()
	if at == nil {
		at = p.Theta
	}
	return path, path.follow(ctx, path.part.Theta(at))
}

type path struct {
	*mesh
	method  filter.EK
	number  int
	x       *bayes.Experiment // of the original posterior
	part    *bayes.Part       // of the density that belongs to this path
	of      *filter.Marginal
	grid    *probode.Grid // on which `of` works
	events  []float64     // times of the events on grid that depend on θ
	predict []float64

	logarithm []bool                   // columns with log-normal errors, which are predicted on the log scale
	laplace   []bayes.SlopedLikelihood // of columns that need Laplace's method; nil for others
}

func (p *path) own() {
	p.part = p.mesh.of.Clone().Part(p.number)
	p.predict = make([]float64, 2*len(p.x.Data.T)*len(p.x.Data.Y[0]))
}

func (p *path) NoiseLen() int { return 0 }
func (p *path) Work() int     { return p.of.Work() }

func (p *path) Clone() probode.Path {
	c := *p
	c.own()
	var err error
	if c.of, err = p.on(p.grid); err != nil {
		panic("marginal: " + err.Error()) // p was made with the same arguments
	}
	return &c
}

// eventTimes returns those that depend on θ.
func (p *path) eventTimes(theta []float64) (times []float64) {
	events := p.x.Problem.Events
	for k := range events {
		if when := events[k].When; when != nil {
			times = append(times, when(theta))
		}
	}
	return times
}

func (p *path) on(grid *probode.Grid) (*filter.Marginal, error) {
	return filter.NewMarginal(p.x.Problem, p.method, grid, p.x.Data.T, len(p.x.Data.Y[0]), p.DALTON)
}

// follow builds a new grid if the time of an event has changed: its points must be the
// times of data.
func (p *path) follow(ctx context.Context, theta []float64) error {
	times := p.eventTimes(theta)
	if p.of != nil && slices.Equal(times, p.events) {
		return nil
	}
	grid, err := probode.Setup{Method: p.method, Mesh: p.Mesh}.Grid(ctx, p.x.Problem, theta, p.x.Data.T)
	if err != nil {
		return err
	}
	of, err := p.on(grid)
	if err != nil {
		return err
	}
	p.grid, p.of, p.events = grid, of, times
	return nil
}

func (p *path) States(ctx context.Context, dst, theta, _ []float64) error {
	alpha := p.Diffusion.Value
	if p.diffusion >= 0 {
		alpha = theta[p.diffusion]
	}
	own := slices.Clone(p.part.Theta(theta))
	if err := p.follow(ctx, own); err != nil {
		return err
	}
	var e *expansion
	var settled func(x []float64) bool
	if slices.ContainsFunc(p.laplace, func(of bayes.SlopedLikelihood) bool { return of != nil }) {
		values := len(p.predict) / 2
		e = &expansion{mean: make([]float64, values), sd: make([]float64, values), left: 100}
		settled = func(x []float64) bool { return p.settled(e, x, theta) }
	}
	extra, err := p.of.Predict(ctx, p.predict, own, alpha, func(n int, x []float64, r *filter.Row) {
		p.look(n, x, r, theta, e)
	}, settled)
	if err != nil {
		return err
	}
	if e != nil {
		if extra += e.rest; math.IsNaN(extra) {
			return errMode
		}
	}
	c := len(p.x.Data.Y[0])
	width := len(dst) / len(p.x.Data.T)
	for n := range p.x.Data.T {
		row := dst[n*width : (n+1)*width]
		for k := range c {
			row[k], row[c+k] = p.predict[2*(n*c+k)], p.predict[2*(n*c+k)+1]
			if p.logarithm[k] {
				row[k] = math.Exp(row[k])
			}
		}
		if p.DALTON {
			row[2*c] = extra
		}
	}
	return nil
}

// look linearises the model of the data at time n near x. e is nil if all errors are
// Gaussian or log-normal.
func (p *path) look(n int, x []float64, r *filter.Row, theta []float64, e *expansion) {
	at := x
	if e != nil {
		at = e.at(n, x)
	}
	mean, slopes, own := p.part.Linear(n, at, theta)
	copy(r.Y, p.x.Data.Y[n])
	d := len(x)
	known := p.x.Data.T[n] == p.x.Problem.Span[0] // no step has been made
	for k, m := range mean {
		copy(r.Slopes[k*d:(k+1)*d], slopes[k*(d+len(theta)):])
		r.Mean[k] = m
		if of := p.laplace[k]; of != nil {
			r.SD[k] = e.expand(n*len(mean)+k, of, r.Y[k], m, own[k], known)
		} else {
			r.SD[k] = own[k][0]
		}
		if p.logarithm[k] {
			r.Y[k], r.Mean[k] = math.Log(r.Y[k]), math.Log(m)
			for j := range d {
				if r.Slopes[k*d+j] /= m; !(m > 0) { // a missing value has the median 0
					r.Slopes[k*d+j] = 0
				}
			}
		}
		for j, v := range x {
			r.Mean[k] += r.Slopes[k*d+j] * (v - at[j])
		}
	}
}

var errMode = errors.New("the mode of the solution given the data was not found: try a smaller step or a smaller diffusion")

// Tangents takes central differences.
func (p *path) Tangents(ctx context.Context, dst, ddst, theta, dtheta, xi []float64) error {
	return probode.Differences(dst, ddst, theta, dtheta, func(dst, theta []float64) error { return p.States(ctx, dst, theta, xi) })
}
