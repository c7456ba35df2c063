package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Settings says what Assess is to do. The zero value is ready for use.
type Settings struct {
	// Steps are the sizes of step to be assessed, in any order; nil means
	// Posterior.StepSize and its half, quarter and eighth.
	Steps []float64

	// Sampler is the inference with the solver's error in the model; nil
	// means PCNWithinGibbs.
	Sampler bayes.Sampler

	// Threshold is the size of an error that does not matter: a bias below
	// Threshold standard deviations of the accurate posterior, and a standard
	// deviation that is not larger or smaller than the accurate one by a
	// factor of more than 1 + Threshold. Zero means 0.1.
	Threshold float64

	// Chains are the settings of each run; Start, Names, Generated, Only,
	// Progress has no meaning here. If Draws and MinESS are both
	// zero, each run goes on until the effective sample size is 4000, at
	// most to 20 000 draws of each chain.
	Chains mcmc.Settings

	// Weighed is the number of draws of each step, of all chains together,
	// for which the equations are solved accurately, at least 50. Zero means
	// 4000.
	Weighed int

	// Accurate says how. Its Workers and Progress have no meaning here.
	Accurate bayes.AccurateSolver

	// Calibrate says how α is found. Zero Paths means 400.
	Calibrate probode.CalibrateSettings

	// Progress, if not nil, is called from time to time with the number of
	// the pieces of work that are done, of total, and what is being done.
	Progress func(done, total int, doing string)
}

// An assessor is an assessment under way.
type assessor struct {
	ctx              context.Context
	p                *bayes.Posterior
	s                Settings
	out              *Report
	assessed         []int          // indices of the assessed parameters
	modes            []*bayes.Modes // by step
	known            [][]float64    // ends of all searches so far
	reference        *bayes.Modes   // of the reference posterior; nil if they could not be found
	paired           [][]shift
	notes            [][]string // of the calibrations, by step
	certifier        *certifier // at the modes of the reference posterior; nil before it is made
	others           []Remedy   // by other methods
	referenceSeconds float64    // of one accurate solution
	delayed          *Inference // by delayed acceptance; nil if it was not tried
	source           *draws     // that the accurate posterior was had from
	done, total      int
}

func newAssessor(ctx context.Context, p *bayes.Posterior, s Settings) (*assessor, error) {
	if !(s.Threshold >= 0) || math.IsInf(s.Threshold, 1) {
		panic(fmt.Sprintf("assess: Threshold of Settings is %g: want a number > 0, or 0 for 0.1", s.Threshold))
	}
	if s.Weighed < 0 || s.Weighed > 0 && s.Weighed < fewest {
		panic(fmt.Sprintf("assess: Weighed of Settings is %d: want at least %d, or 0 for 4000", s.Weighed, fewest))
	}
	if p == nil {
		return nil, errors.New("assess: the Posterior is nil")
	}
	if p.StepSize == 0 && len(s.Steps) > 0 {
		q := *p
		q.StepSize = s.Steps[0]
		p = &q
	}
	if _, err := bayes.NewDensity(p); err != nil {
		return nil, err
	}
	if s.Threshold == 0 {
		s.Threshold = 0.1
	}
	if s.Sampler == nil {
		s.Sampler = bayes.PCNWithinGibbs{}
	}
	if s.Steps == nil {
		s.Steps = []float64{p.StepSize, p.StepSize / 2, p.StepSize / 4, p.StepSize / 8}
	}
	if s.Chains.Draws == 0 && s.Chains.MinESS == 0 {
		s.Chains.Draws, s.Chains.MinESS, s.Chains.MaxDraws = 2500, 4000, 20000
	}
	if s.Weighed == 0 {
		s.Weighed = 4000
	}
	if s.Calibrate.Paths == 0 {
		s.Calibrate.Paths = 400
	}
	s.Chains.Start, s.Chains.Names, s.Chains.Generated, s.Chains.Only = nil, nil, nil, nil
	s.Accurate.Workers, s.Accurate.Progress = s.Chains.Workers, nil
	if _, err := s.Accurate.Density(p); err != nil {
		return nil, err
	}
	s.Calibrate.Seed, s.Calibrate.Workers, s.Calibrate.Progress = s.Chains.Seed, s.Chains.Workers, nil

	a := &assessor{ctx: ctx, p: p, s: s, out: &Report{Method: p.Method, Threshold: s.Threshold, KHat: math.NaN()}}
	var titles []string
	for _, x := range p.Experiments {
		if !slices.Contains(titles, x.Problem.Name) {
			titles = append(titles, x.Problem.Name)
		}
	}
	a.out.Model = strings.Join(titles, ", ")
	for k, q := range p.Params {
		a.out.Names = append(a.out.Names, q.Name)
		if q.Name != p.Alpha.Name {
			a.assessed = append(a.assessed, k)
			a.out.Params = append(a.out.Params, Parameter{Name: q.Name, Mean: math.NaN(), SD: math.NaN(), MeanSE: math.NaN(), SDSE: math.NaN()})
		}
	}

	// The steps that divide the span.
	for _, h := range slices.Backward(slices.Sorted(slices.Values(s.Steps))) {
		q := a.at(h)
		e, err := bayes.NewDensity(q)
		if err != nil {
			return nil, fmt.Errorf("%w (in Steps)", err)
		}
		if u, ok := e.Grid(0).Uniform(); ok {
			h = u
		}
		if n := len(a.out.Steps); n > 0 && math.Abs(a.out.Steps[n-1].StepSize-h) < 1e-9*h {
			continue
		}
		exact := true
		for i, x := range p.Experiments {
			if _, err := e.Grid(i).Index(x.Data.T); err != nil {
				exact = false
			}
		}
		nan := math.NaN()
		a.out.Steps = append(a.out.Steps, Step{StepSize: h, Exact: exact, Error: nan, Order: nan, Alpha: nan, AlphaStar: nan, AlphaSE: nan, KHat: nan})
	}
	if len(a.out.Steps) == 0 {
		return nil, errors.New("assess: no Steps to assess")
	}
	for _, h := range s.Steps {
		a.out.Asked = append(a.out.Asked, a.out.nearest(h))
	}
	a.modes = make([]*bayes.Modes, len(a.out.Steps))
	a.paired = make([][]shift, len(a.out.Steps))
	a.notes = make([][]string, len(a.out.Steps))
	a.total = 6*len(a.out.Steps) + 2
	return a, nil
}

func (a *assessor) finest() int { return len(a.out.Steps) - 1 }

// at returns the posterior with the step h.
func (a *assessor) at(h float64) *bayes.Posterior {
	q := *a.p
	q.StepSize = h
	return &q
}

// seed gives each run numbers of its own, so that the runs are independent.
func (a *assessor) seed(key ...uint64) uint64 {
	return probode.Stream(a.s.Chains.Seed, append([]uint64{0x617373657373}, key...)...).Uint64()
}
