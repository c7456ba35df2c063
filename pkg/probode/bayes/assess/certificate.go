package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode/bayes"
)

// A Certificate bounds what the difference between two solvers does to a
// posterior, without sampling. At a mode of the posterior of the better one let δ
// be the difference of what the two expect of the data, and W the Fisher
// information of the likelihood on these values, 1/σ² of a Gaussian error:
//
//	D² = δᵀWδ,   Δu = −C GᵀWδ,   C⁻¹ = GᵀWG + precision of the prior.
//
// To first order Δu is by how much the mode, and with it the mean, of the
// posterior moves; G is the derivative of the expected values. As C GᵀWG C ≼ C, no
// parameter moves by more than D standard deviations, or √2 D if numbers of the
// likelihood, such as σ, are unknown. Where the log density of the data has kinks, as with
// Laplace errors, those close to their kinks move the posterior more than their
// information says, and the others less: W in Δu is what is expected of curvatures over the
// posterior, and the bound is that of an error which is only
// where it does most, about ¾ (n/p)^¼ D for n data and p parameters.
// (What the error of G adds, times the residuals of the data, is zero on the
// average over data and left out unless the data are farther from the model than their
// errors allow.) Between the distributions of data that the two
// solvers predict the total variation is 2Φ(D/2) − 1 and the Kullback–Leibler
// divergence D²/2, both exact for Gaussian errors.
//
// D bounds the shift and not the width, says nothing of modes that it was not
// asked about, and above ½, where nothing is linear any more, certifies nothing.
type Certificate struct {
	Coarse, Reference Solver
	Names             []string // of all parameters, as in Theta
	Params            []string // of those that are assessed, as in Shift

	// Modes are those of the posterior by the reference at which it was looked.
	Modes []Certified

	// Unknown tells that numbers of the likelihood are parameters.
	Unknown bool

	Seconds float64
}

// Certified is what a Certificate says at one mode.
type Certified struct {
	Theta []float64 // mode of the reference's posterior, all parameters
	From  []float64 // where the climb to it began

	// Moved is the distance between the two, in standard deviations of the
	// parameter of which that is largest: a few, if the solver's error has
	// moved the mode, and many if the reference has none there.
	Moved float64

	D     float64
	Bound float64   // D or √2 D, or more: see focus and Misfit; no parameter moves by more standard deviations
	Shift []float64 // of each of Params, coarse less reference, in posterior sd
	SD    []float64 // of each of Params, that of the Gaussian approximation
	TV    float64   // total variation between the predictive distributions, at most 1
	KL    float64   // Kullback–Leibler divergence between them

	// Misfit is, where the model does not explain the data, what D leaves out: the
	// largest further shift in standard deviations. Else it is zero.
	Misfit float64

	// OwnD is D between the reference and one with a tolerance a hundred times,
	// or a step ten times, smaller, or very many equal steps which see a pulse that it
	// has stepped over: what the reference itself leaves open. NaN if that could not be
	// solved.
	OwnD float64

	// Found tells whether Theta is a mode; it may be on the way to one.
	Found bool

	Err string // why nothing is known here; empty otherwise
}

// An anchor is a mode of the reference with the model linearised there; at is
// nil where that could not be had.
type anchor struct {
	Certified
	at *linearised
}

// CertifySettings says what is to be certified.
type CertifySettings struct {
	// Coarse is the solver in question; the zero value that of the Posterior.
	Coarse Solver

	// Reference is the better one; nil stands for the accurate solver.
	Reference *Solver

	// Modes are the points, of all parameters, from which modes of the
	// reference's posterior are climbed to. Nil has them looked for with the
	// solver in question and with the reference: see bayes.FindModes.
	Modes [][]float64

	// Stay has the points of Modes taken as they are, without a climb, if by the
	// gradient and the curvature there they are as near to a mode as a draw of the
	// posterior is. That takes two solves for each parameter.
	Stay bool

	Seed uint64 // of the search
}

// limitD is the D above which nothing is certified.
const limitD = 0.5

// Certify compares two solvers at the modes of a posterior. It takes a few dozen
// solutions by the reference for each mode, and one by the other. What cannot be
// solved at one mode is said there; the error is that of a model or settings which
// make no sense, or of ctx.
func Certify(ctx context.Context, p *bayes.Posterior, s CertifySettings) (*Certificate, error) {
	all, err := CertifyEach(ctx, p, []Solver{s.Coarse}, s)
	if all == nil {
		return nil, err
	}
	return all[0], err
}

// CertifyEach is Certify for several solvers, each in the place of s.Coarse; the
// modes of the reference are looked for once.
func CertifyEach(ctx context.Context, p *bayes.Posterior, solvers []Solver, s CertifySettings) ([]*Certificate, error) {
	if ctx == nil {
		return nil, errors.New("assess: the context is nil")
	}
	if p == nil {
		return nil, errors.New("assess: the Posterior is nil")
	}
	reference := Solver{Accurate: true}
	if s.Reference != nil {
		reference = *s.Reference
	}
	c, err := newCertifier(ctx, p, reference)
	if err != nil {
		return nil, err
	}
	c.stay = s.Stay
	var found [][]float64 // by the reference
	var out []*Certificate
	searched, failures := false, 0
	for i, coarse := range solvers {
		from := s.Modes
		var failed error // by the solver, at all that was tried
		if from == nil {
			s.Coarse = coarse
			if from, failed = c.search(s); failed != nil && (ctx.Err() != nil || len(solvers) == 1) {
				return nil, failed
			}
			if !searched {
				searched = true
				if found, err = c.searchReference(s, from); err != nil {
					return nil, err
				}
			}
			from = append(from, found...)
		}
		begin := time.Now() // of the certificate itself
		if i == 0 || s.Modes == nil {
			for _, m := range from {
				if len(m) != len(p.Params) {
					return nil, fmt.Errorf("assess: a mode of %d numbers: want %d, one for each parameter", len(m), len(p.Params))
				}
			}
			// What only another solver's posterior has is none of this one's.
			c.modes = slices.DeleteFunc(c.modes, func(m anchor) bool { return !(m.Moved < vanished) })
			for _, m := range from {
				c.climb(m)
			}
		}
		var one *Certificate
		if failed == nil {
			one, failed = c.certify(coarse)
		}
		if failed != nil && (ctx.Err() != nil || len(solvers) == 1) {
			return nil, failed
		}
		if failed != nil {
			// The others may do: such as a tolerance too large for Newton's method.
			one = c.header(coarse)
			nan := math.NaN()
			one.Modes = []Certified{{Moved: nan, D: nan, Bound: nan, TV: nan, KL: nan, OwnD: nan, Err: strings.TrimPrefix(failed.Error(), "bayes: ")}}
			failures++
		}
		one.Seconds = time.Since(begin).Seconds()
		out = append(out, one)
		if failures == len(solvers) {
			return nil, failed
		}
	}
	return out, ctx.Err()
}

// A certifier holds the modes of the reference, which serve all solvers that are
// set against it.
type certifier struct {
	ctx       context.Context
	p         *bayes.Posterior
	reference Solver
	by        *bayes.Density // for the transformation of parameters
	fine      *expecter
	assessed  []int
	stay      bool
	modes     []anchor
}

func newCertifier(ctx context.Context, p *bayes.Posterior, reference Solver) (*certifier, error) {
	c := &certifier{ctx: ctx, p: p, reference: reference}
	var err error
	if c.by, err = (Solver{Accurate: true}).density(p); err != nil {
		return nil, err
	}
	if c.fine, err = newExpecter(ctx, p, reference); err != nil {
		return nil, err
	}
	for k, q := range p.Params {
		if q.Name != p.AlphaParam {
			c.assessed = append(c.assessed, k)
		}
	}
	return c, nil
}

// own returns D between the reference and a finer one.
func (c *certifier) own(at *linearised) float64 {
	finer := c.reference.finer()
	x, err := newExpecter(c.ctx, c.p, finer)
	if err != nil {
		return math.NaN()
	}
	m, _, err := x.at(at.theta)
	if err != nil {
		return math.NaN()
	}
	d, _ := at.shift(m)
	if seen := c.seen(at); seen > d {
		return seen
	}
	return d
}

// seen returns D between an accurate reference and very many equal steps, a quarter of
// manySteps, where these see what it has stepped over, else 0.
func (c *certifier) seen(at *linearised) float64 {
	if !c.reference.Accurate {
		return 0
	}
	var all [2]*linearised
	for i, fewer := range []float64{4, 16} {
		x, err := newExpecter(c.ctx, c.p, many(c.p, fewer))
		if err != nil {
			return 0
		}
		m, _, err := x.at(at.theta)
		if err != nil {
			return 0
		}
		for k, v := range at.m {
			if math.Abs(m[k]-v) <= manyRounded*math.Abs(v) {
				m[k] = v
			}
		}
		other := *at
		other.m = m
		all[i] = &other
	}
	d, _ := at.shift(all[0].m)
	if rest, _ := all[1].shift(all[0].m); d > 0 && steppedOver(d, rest) {
		return d
	}
	return 0
}

// header returns the certificate of a solver without modes.
func (c *certifier) header(coarse Solver) *Certificate {
	out := &Certificate{Coarse: coarse, Reference: c.reference}
	if coarse.Method == nil && !coarse.Accurate {
		out.Coarse.Method = c.p.Method
	}
	if coarse.Method == nil && !coarse.Accurate && !coarse.controlled() && coarse.StepSize == 0 {
		out.Coarse.StepSize = c.p.StepSize()
	}
	for _, k := range c.assessed {
		out.Params = append(out.Params, c.p.Params[k].Name)
	}
	for _, q := range c.p.Params {
		out.Names = append(out.Names, q.Name)
	}
	_, own := observed(c.p)
	out.Unknown = own != nil
	return out
}

// certify sets a solver against the reference.
func (c *certifier) certify(coarse Solver) (*Certificate, error) {
	out := c.header(coarse)
	x, err := newExpecter(c.ctx, c.p, coarse)
	if err != nil {
		return nil, err
	}
	for _, m := range c.modes {
		if m.at != nil {
			if err := c.fill(&m, x, out.Unknown); err != nil {
				m.Err = strings.TrimPrefix(err.Error(), "assess: ")
			}
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
		}
		out.Modes = append(out.Modes, m.Certified)
	}
	return out, nil
}

// fill computes what a Certificate says of x at m.
func (c *certifier) fill(m *anchor, x *expecter, unknown bool) error {
	expected, _, err := x.at(m.at.theta)
	if err != nil {
		return err
	}
	d, shift := m.at.shift(expected)
	m.D, m.Bound, m.KL, m.TV = d, d*m.at.focus(c.assessed), d*d/2, math.Erf(d/(2*math.Sqrt2))
	if unknown {
		m.Bound *= math.Sqrt2
	}
	if m.at.misfits() {
		if m.Misfit, err = m.at.pull(x, c.by, shift); err != nil {
			return err
		}
		m.Bound += m.Misfit
	}
	m.Shift, m.SD = nil, nil
	for _, k := range c.assessed {
		m.Bound = max(m.Bound, math.Abs(shift[k]))
		m.Shift = append(m.Shift, shift[k])
		m.SD = append(m.SD, m.at.sd[k]*math.Abs(m.at.dtheta[k]))
	}
	return nil
}

// Worst returns the index of the mode with the largest D, that of one at which
// nothing is known before all others.
func (c *Certificate) Worst() int {
	at := 0
	for i, m := range c.Modes {
		if math.IsNaN(m.D) || m.D > c.Modes[at].D {
			at = i
		}
		if math.IsNaN(m.D) {
			break
		}
	}
	return at
}

// Certified reports whether every parameter is certified to move by less than
// threshold standard deviations, at each of the modes looked at: the bound is below
// it, D below ½, the reference's own D below a tenth of it, and the mode that was
// begun from is that of the reference.
func (c *Certificate) Certified(threshold float64) bool {
	for _, m := range c.Modes {
		if !(m.Err == "" && m.Found && m.D <= limitD && m.Bound < threshold && m.OwnD <= threshold/10 && m.Moved < vanished) {
			return false
		}
	}
	return len(c.Modes) > 0
}

// vanished is the distance in standard deviations at which a mode of the
// reference is not taken for the one that the climb began at.
const vanished = 5
