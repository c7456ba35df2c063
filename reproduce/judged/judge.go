package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/model"
)

// methodNames and tolerances list the methods and tolerances that are examined, with the
// loosest tolerance first.
var (
	methodNames = []string{"bdf", "radau5", "dp5"}
	tolerances  = []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8}
)

const (
	// threshold is the largest negligible shift in standard deviations. For D < smallD no
	// parameter, not even a noise scale, shifts by more to first order.
	threshold = 0.1
	smallD    = threshold / math.Sqrt2
	// End points at most `near` below the best are examined. Those within `same` of each
	// other count as one.
	near       = 10
	same       = 0.01
	mostStarts = 20
	// accurate is the largest error of the reference log-likelihood.
	accurate = 1e-3
)

type result struct {
	Name                                         string
	Inputs                                       string // see the function inputs()
	States, Parameters, Measurements, Conditions int
	LogLikelihood                                float64 // accurate, at the point of the file
	Best                                         float64 // at the best point: that of the file, or the end of a search
	Error                                        float64 // estimated error of Best
	Searches                                     int     // searches that ended in time
	Methods                                      []*byMethod
	Seconds                                      float64 // of processor time
	Problem                                      string  `json:",omitempty"` // why there is no more
}

type byMethod struct {
	Method string
	Losses []loss // by tolerance, at the best point; those that were computed in time

	// Enough is the loosest tolerance for which a certificate at the best point
	// guarantees that every parameter shifts by less than the threshold. Enough is zero
	// if no tolerance is certified; in that case Why gives the reason. SmallD is the
	// loosest tolerance for which D at the best point is below the constant smallD. For
	// SmallD, D must also be below smallD at all tighter tolerances. For Enough, D must
	// be below the threshold at all tighter tolerances.
	Enough, SmallD float64
	Why            string `json:",omitempty"`

	// Ends is the number of points that were examined in addition to the best point.
	// Elsewhere is the number of points, other than the best point, at which D is below
	// the constant smallD. Away from the best point, D is computed with the tolerance
	// Enough or, if Enough is zero, with the tolerance SmallD.
	Elsewhere, Ends int
}

type loss struct {
	Tolerance, Loss, D float64
	Failed             string `json:",omitempty"`
}

type budget struct {
	ctx          context.Context
	begin, limit time.Duration
}

var errTime = errors.New("not done in time")

func (b *budget) until(share float64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(b.ctx)
	check := func() {
		if used()-b.begin > time.Duration(share*float64(b.limit)) {
			cancel(errTime)
		}
	}
	check()
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			check()
		}
	}()
	return ctx, func() { cancel(nil) }
}

// judge leaves to the next stage the time that one does not use.
func judge(ctx context.Context, file string, limit time.Duration) *result {
	clock := &budget{ctx, used(), limit}
	r := &result{Name: nameOf(file)}
	defer func() { r.Seconds = math.Round(10*(used()-clock.begin).Seconds()) / 10 }()
	p, err := model.Load(file)
	if err != nil {
		r.Problem = oneLine(err)
		return r
	}
	for _, m := range p.Models {
		r.States = max(r.States, len(m.States))
	}
	r.Parameters, r.Measurements = p.Size()
	if list, err := p.Instances(); err == nil {
		r.Conditions = len(list)
	}
	theta := p.Nominal()
	if !r.lose(p, theta, clock, 0.4) {
		return r
	}
	r.LogLikelihood = r.Best
	points := r.search(p, theta, clock)
	if !slices.Equal(points[0], theta) && !r.lose(p, points[0], clock, 0.65) {
		return r
	}
	for i, b := range r.Methods {
		switch {
		case !(r.Error < accurate):
			b.Why = fmt.Sprintf("the log-likelihood from the accurate solver has an error of %.1g", r.Error)
			continue
		case b.unused():
			b.Why = "not used: all data are at steady states"
			continue
		}
		b.certify(p, points[0], clock, 0.65+0.1*float64(i+1))
	}
	for _, b := range r.Methods {
		b.elsewhere(p, points[1:], clock)
	}
	return r
}

// search returns the best point first, and others less than `near` below it: theta, and
// the ends of searches from theta and from random points. An end is better than theta
// only by more than `same`.
func (r *result) search(p *model.File, theta []float64, clock *budget) [][]float64 {
	ctx, cancel := clock.until(0.5)
	defer cancel()
	found := []model.Optimum{{LogLikelihood: r.LogLikelihood + same, Theta: theta}}
	for i := range mostStarts + 1 {
		s := model.FitSettings{Starts: 1, Seed: uint64(i)}
		if i == 0 {
			s = model.FitSettings{From: [][]float64{theta}}
		}
		ends, err := p.Fit(ctx, s)
		if err != nil {
			break // there is no time, or nothing to estimate
		}
		r.Searches++
		if e := ends[0]; e.Err == nil && !math.IsNaN(e.LogLikelihood) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b model.Optimum) int { return cmp.Compare(b.LogLikelihood, a.LogLikelihood) })
	var points [][]float64
	last := math.Inf(1)
	for _, e := range found {
		if e.LogLikelihood > found[0].LogLikelihood-near && e.LogLikelihood < last-same {
			last = e.LogLikelihood
			points = append(points, e.Theta)
		}
	}
	return points
}

// settings limits steps by the tolerance alone, as most ODE solvers do.
func settings(name string, tolerance float64) model.LikelihoodSettings {
	method, err := catalog.Parse(name)
	if err != nil {
		panic("judged: " + err.Error())
	}
	return model.LikelihoodSettings{Method: method, Tolerance: probode.Tolerance{Relative: tolerance}, MaxStep: math.Inf(1)}
}

// lose stops at the fraction `until` of the time, and reports whether the accurate
// log-likelihood is known.
func (r *result) lose(p *model.File, theta []float64, clock *budget, until float64) bool {
	r.Methods = nil
	var all []model.LikelihoodSettings
	for _, name := range methodNames {
		r.Methods = append(r.Methods, &byMethod{Method: name})
		for _, tol := range tolerances {
			all = append(all, settings(name, tol))
		}
	}
	ctx, cancel := clock.until(until)
	defer cancel()
	right, losses, err := p.Losses(ctx, theta, all)
	if right == nil {
		r.Methods, r.Problem = nil, "accurate log-likelihood: "+why(ctx, err)
		return false
	}
	r.Best, r.Error = right.LogLikelihood, right.Error
	for i, l := range losses {
		b := r.Methods[i/len(tolerances)]
		out := loss{Tolerance: tolerances[i%len(tolerances)], Loss: l.Loss, D: l.D}
		if l.Err != nil {
			out = loss{Tolerance: out.Tolerance, Failed: oneLine(l.Err)}
		}
		b.Losses = append(b.Losses, out)
	}
	for _, b := range r.Methods {
		if len(b.Losses) == 0 {
			b.Why = "losses: " + why(ctx, err)
			continue
		}
		b.SmallD = b.loosest(smallD)
		if last := b.Losses[len(b.Losses)-1]; last.Failed != "" {
			b.Why = last.Failed
		} else if b.SmallD == 0 {
			b.Why = fmt.Sprintf("D is %.2g at %.0e", last.D, last.Tolerance)
		}
	}
	return true
}

// loosest is zero if D is not below `limit` at the tightest tolerance.
func (b *byMethod) loosest(limit float64) (tolerance float64) {
	for _, l := range slices.Backward(b.Losses) {
		if l.Failed != "" || !(l.D < limit) {
			break
		}
		tolerance = l.Tolerance
	}
	return tolerance
}

// unused reports D = 0 everywhere: the likelihood does not depend on the solver.
func (b *byMethod) unused() bool {
	return len(b.Losses) > 0 && !slices.ContainsFunc(b.Losses, func(l loss) bool { return l.Failed != "" || l.D != 0 })
}

// certify tries only tolerances at which D is below the threshold, up to the fraction
// `until` of the time.
func (b *byMethod) certify(p *model.File, theta []float64, clock *budget, until float64) {
	ctx, cancel := clock.until(until)
	defer cancel()
	posterior, err := p.Posterior()
	var point, start []float64
	if err == nil {
		point, err = p.Point(theta)
	}
	if err == nil {
		start, err = p.Start(theta)
	}
	if err != nil {
		b.Why = oneLine(err)
		return
	}
	for _, l := range b.Losses {
		if l.Tolerance > b.loosest(threshold) {
			continue
		}
		b.Why = certificate(ctx, posterior, b.Method, l.Tolerance, certify.Settings{Modes: [][]float64{point}, NoClimb: true})
		if b.Why == notNear && ctx.Err() == nil {
			b.Why = certificate(ctx, posterior, b.Method, l.Tolerance, certify.Settings{Modes: [][]float64{start}})
		}
		if b.Why == "" {
			b.Enough = l.Tolerance
		}
		if b.Why == "" || ctx.Err() != nil {
			return
		}
	}
}

const notNear = "the best point is not near a mode of the posterior"

func certificate(ctx context.Context, p *bayes.Posterior, name string, tolerance float64, s certify.Settings) string {
	set := settings(name, tolerance)
	setup := probode.Setup{Method: set.Method, Mesh: probode.Adaptive{Tolerance: set.Tolerance, MaxSteps: 1e6}} // as many steps as for the losses
	list, err := certify.Each(ctx, p, []probode.Setup{setup}, s)
	if err != nil {
		return "certificate: " + why(ctx, err)
	}
	c := list[0]
	m := c.Modes[c.Worst(threshold)]
	switch {
	case c.Certified(threshold):
		return ""
	case strings.Contains(m.Err, "is not near a mode"), // and, after a climb of five standard deviations, no better
		m.Err == "" && !(m.Found && m.Moved < 5 && slices.Equal(m.From, s.Modes[0])):
		return notNear
	case m.Err != "":
		return "certificate: " + m.Err
	case !(m.OwnD <= threshold/10):
		return fmt.Sprintf("the reference's own D is %.1g", m.OwnD)
	case m.Where != nil:
		return fmt.Sprintf("with a tolerance of %.0e the solver disagrees with the reference at parameter values other than the best point", tolerance)
	}
	return fmt.Sprintf("at %.0e the bound is %.2g", tolerance, m.Bound)
}

// elsewhere counts the points with D < smallD, at the tolerance of the best one.
func (b *byMethod) elsewhere(p *model.File, points [][]float64, clock *budget) {
	tolerance := cmp.Or(b.Enough, b.SmallD)
	if tolerance == 0 {
		return
	}
	ctx, cancel := clock.until(1)
	defer cancel()
	for _, theta := range points {
		_, losses, err := p.Losses(ctx, theta, []model.LikelihoodSettings{settings(b.Method, tolerance)})
		if ctx.Err() != nil {
			return
		}
		if b.Ends++; err == nil && losses[0].Err == nil && losses[0].D < smallD {
			b.Elsewhere++
		}
	}
}

// why is the cause of the cancellation, or the first line of err.
func why(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return oneLine(err)
}

func oneLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

func nameOf(file string) string { return filepath.Base(filepath.Dir(file)) }
