package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model"
)

// methodNames and tolerances are what is tried, the loosest tolerance first.
var (
	methodNames = []string{"bdf", "radau5", "dp5"}
	tolerances  = []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8}
)

// threshold is the largest shift of a parameter, in standard deviations, that does not
// matter.
const threshold = 0.1

// near is the difference in log-likelihood up to which an end of a search counts as an
// answer, beside the best one.
const near = 10

// A result says what is known about a problem. What could not be computed is absent.
type result struct {
	Name                                         string
	States, Parameters, Measurements, Conditions int
	LogLikelihood                                float64 // at the point of the file
	Best                                         float64 // at the best point: that of the file, or the end of a search
	Methods                                      []byMethod
	Seconds                                      float64
	Problem                                      string `json:",omitempty"` // why there is no more
}

// byMethod is what one method does to a problem.
type byMethod struct {
	Method string
	Losses []loss // by tolerance, at the best point

	// Enough is the loosest tolerance with which a certificate at the best point bounds the
	// shift of every parameter below the threshold; zero if there is none, for the reason
	// Why.
	Enough float64
	Why    string `json:",omitempty"`

	// Elsewhere is the number of other ends of searches at which D is below the threshold
	// with this tolerance, of Ends that were tried.
	Elsewhere, Ends int
}

// A loss is the effect of a tolerance: see model.Loss.
type loss struct {
	Tolerance, Loss, D float64
	Failed             string `json:",omitempty"`
}

// judge computes what it can about a problem within the limit. A part of the time is for
// searches, which start at the parameter values in the file and at random points. The rest
// is shared between the methods.
func judge(ctx context.Context, file string, limit time.Duration) *result {
	begin := time.Now()
	r := &result{Name: nameOf(file)}
	defer func() { r.Seconds = math.Round(10*time.Since(begin).Seconds()) / 10 }()
	failed := func(what string, err error) *result {
		r.Problem = what + oneLine(err.Error())
		return r
	}
	p, err := model.Load(file)
	if err != nil {
		return failed("", err)
	}
	for _, m := range p.Models {
		r.States = max(r.States, len(m.States))
	}
	r.Parameters, r.Measurements = p.Size()
	if list, err := p.Instances(); err == nil {
		r.Conditions = len(list)
	}
	part := func(share float64) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, time.Duration(share*float64(limit)))
	}
	points, err := answers(p, r, part)
	if err != nil {
		return failed("log-likelihood: ", err)
	}
	for _, name := range methodNames {
		method, err := methods.Parse(name)
		if err != nil {
			return failed("", err)
		}
		b := byMethod{Method: name}
		b.lose(p, points[0], method, part)
		b.certify(p, points[0], method, part)
		b.elsewhere(p, points[1:], method, part)
		r.Methods = append(r.Methods, b)
	}
	return r
}

// answers returns the linear values of all parameters at the best point, and at the other
// ends of searches whose log-likelihood is near the best one.
func answers(p *model.File, r *result, part func(float64) (context.Context, context.CancelFunc)) ([][]float64, error) {
	ctx, cancel := part(0.15)
	defer cancel()
	l, err := p.LogLikelihood(model.LikelihoodSettings{})
	if err != nil {
		return nil, err
	}
	nominal := l.Nominal()
	v, err := l.At(ctx, nominal, false)
	if err != nil {
		return nil, err
	}
	r.LogLikelihood, r.Best = v.LogLikelihood, v.LogLikelihood
	points := [][]float64{nominal}
	search, stop := part(0.15)
	defer stop()
	// A search that is stopped returns the ends it has.
	ends, _ := p.Fit(search, model.FitSettings{From: [][]float64{nominal}, Starts: 5, Seed: 1})
	for _, e := range ends { // best first
		switch {
		case e.Err != nil || math.IsNaN(e.LogLikelihood):
		case e.LogLikelihood > r.Best:
			r.Best = e.LogLikelihood
			points = append([][]float64{e.Theta}, points...)
		case e.LogLikelihood > r.Best-near:
			points = append(points, e.Theta)
		}
	}
	return points, nil
}

// lose measures the losses. If the time is not enough for all tolerances, it leaves out
// the tighter half of them.
func (b *byMethod) lose(p *model.File, theta []float64, method probode.Method, part func(float64) (context.Context, context.CancelFunc)) {
	for n := len(tolerances); n > 0; n /= 2 {
		var settings []model.LikelihoodSettings
		for _, tol := range tolerances[:n] {
			settings = append(settings, model.LikelihoodSettings{Method: method, Tolerance: probode.Tolerance{Relative: tol}})
		}
		ctx, cancel := part(0.05)
		_, losses, err := p.Losses(ctx, theta, settings)
		cancel()
		if err != nil {
			b.Why = "losses: " + oneLine(err.Error())
			continue
		}
		b.Why = ""
		for i, l := range losses {
			out := loss{Tolerance: tolerances[i]}
			if l.Err != nil {
				out.Failed = oneLine(l.Err.Error())
			} else {
				out.Loss, out.D = l.Loss, l.D
			}
			b.Losses = append(b.Losses, out)
		}
		return
	}
}

// certify searches for the loosest tolerance that is certified. A tolerance whose D is
// above the threshold is not tried.
func (b *byMethod) certify(p *model.File, theta []float64, method probode.Method, part func(float64) (context.Context, context.CancelFunc)) {
	ctx, cancel := part(0.12)
	defer cancel()
	posterior, err := p.Posterior()
	if err != nil {
		b.Why = oneLine(err.Error())
		return
	}
	point, err := p.Point(theta)
	if err != nil {
		b.Why = oneLine(err.Error())
		return
	}
	for _, l := range b.Losses {
		if l.Failed != "" || !(l.D < threshold) {
			b.Why = l.Failed
			if l.Failed == "" {
				b.Why = fmt.Sprintf("D is %.2g at the tightest tolerance", l.D)
			}
			continue
		}
		setup := probode.Setup{Method: method, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: l.Tolerance}}}
		list, err := certify.Each(ctx, posterior, []probode.Setup{setup}, certify.Settings{Modes: [][]float64{point}})
		switch {
		case ctx.Err() != nil:
			b.Why = "certificate: not done in time"
			return
		case err != nil:
			b.Why = oneLine(err.Error())
			return
		case list[0].Certified(threshold):
			b.Enough, b.Why = l.Tolerance, ""
			return
		}
		b.Why = oneLine(list[0].Answer(threshold))
	}
}

// elsewhere counts the other points at which the tolerance is enough, judged by D.
func (b *byMethod) elsewhere(p *model.File, points [][]float64, method probode.Method, part func(float64) (context.Context, context.CancelFunc)) {
	if b.Enough == 0 {
		return
	}
	ctx, cancel := part(0.05)
	defer cancel()
	settings := []model.LikelihoodSettings{{Method: method, Tolerance: probode.Tolerance{Relative: b.Enough}}}
	for _, theta := range points {
		_, losses, err := p.Losses(ctx, theta, settings)
		if ctx.Err() != nil {
			return
		}
		if b.Ends++; err == nil && losses[0].Err == nil && losses[0].D < threshold {
			b.Elsewhere++
		}
	}
}

// oneLine returns the first sentence of an answer, or the whole of an error.
func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
