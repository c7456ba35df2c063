package assess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/reference"
)

// Settings says what Assess is to do. The zero value is ready for use.
type Settings struct {
	// Steps are the sizes of step to be assessed, in any order; nil means
	// Posterior.StepSize and its half, quarter and eighth. The grids are made of
	// them: a Posterior with a Mesh of its own wants Steps, in the place of which
	// they are assessed.
	Steps []float64

	// Tolerances, in the place of Steps, have the method of the Posterior choose
	// its steps by error control, again at every θ, as an adaptive solver inside
	// a likelihood does: that is what is judged. With its error in the model,
	// and where a remedy is wanted, the steps are those at the mode, frozen.
	Tolerances []probode.Tolerance

	// Sampler is the inference with the solver's error in the model; nil
	// means PCNWithinGibbs.
	Sampler bayes.Sampler

	// Threshold is the size of an error that does not matter: a bias below
	// Threshold standard deviations of the accurate posterior, and a standard
	// deviation that is not larger or smaller than the accurate one by a
	// factor of more than 1 + Threshold. Zero means 0.1.
	Threshold float64

	// Confidence is that of the interval, of each bias and each ratio, which has to
	// lie on one side of the threshold for a verdict: in [0.5, 1); zero means 0.95. A
	// true effect at the threshold itself so is misjudged with a probability of
	// (1 − Confidence)/2.
	Confidence float64

	// Auto goes on with the chains of classical inference while a step is
	// undecided for want of draws, and a budget lasts: see looks.
	Auto bool

	// MaxDraws is the budget of Auto in draws of each chain; zero means eight times
	// as many as without. MaxTime, if positive, is another one, of all that has been
	// done since Run began, after which no further draws are begun; where it ends
	// depends on the machine, and no number that is given does otherwise.
	MaxDraws int
	MaxTime  time.Duration

	// Chains are the settings of each run; Start, Names, Generated, Only,
	// Progress has no meaning here. If Draws and MinESS are both
	// zero, each run goes on until the effective sample size is 4000, at
	// most to 20 000 draws of each chain.
	Chains mcmc.Settings

	// Weighed is the number of draws of each step, of all chains together,
	// for which the equations are solved accurately, at least 50. Zero means
	// 4000.
	Weighed int

	// Accurate says how; its Method and Mesh, where they are nil, are those of the
	// posterior. The zero value is the setup of reference.Accurate.
	Accurate probode.Setup

	// Calibrate says how α is found. Zero Paths means 400.
	Calibrate calibrate.Settings

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
	assessed         []int                              // indices of the assessed parameters
	quantities       []quantity                         // what is compared, the assessed parameters first
	exact            map[quantity]moments               // of the parts of the accurate posterior
	estimates        map[*Inference][measures][]moments // of runs, by quantity
	modes            []*bayes.Modes                     // by step
	known            [][]float64                        // ends of all searches so far
	reference        *bayes.Modes                       // of the reference posterior; nil if they could not be found
	runs             []*draws                           // of classical inference, by step; nil where there are none
	paired           [][]shift                          // what their weights say of each quantity
	begin            time.Time
	notes            [][]string         // of the calibrations, by step
	certifier        *certify.Certifier // at the modes of the reference posterior; nil before it is made
	tried            []trial            // remedies beyond the ladder
	referenceSeconds float64            // of one accurate solution
	source           *draws             // that the accurate posterior was had from
	done, total      int
}

func newAssessor(ctx context.Context, p *bayes.Posterior, s Settings) (*assessor, error) {
	if !(s.Threshold >= 0) || math.IsInf(s.Threshold, 1) {
		panic(fmt.Sprintf("assess: Threshold of Settings is %g: want a number > 0, or 0 for 0.1", s.Threshold))
	}
	if c := s.Confidence; c != 0 && !(c >= 0.5 && c < 1) {
		panic(fmt.Sprintf("assess: Confidence of Settings is %g: want a number in [0.5, 1), or 0 for 0.95", c))
	}
	if s.MaxDraws < 0 || s.MaxTime < 0 {
		panic(fmt.Sprintf("assess: MaxDraws %d and MaxTime %v of Settings: want numbers ≥ 0", s.MaxDraws, s.MaxTime))
	}
	if s.Weighed < 0 || s.Weighed > 0 && s.Weighed < fewest {
		panic(fmt.Sprintf("assess: Weighed of Settings is %d: want at least %d, or 0 for 4000", s.Weighed, fewest))
	}
	if p == nil {
		return nil, errors.New("assess: the Posterior is nil")
	}
	if p.Mesh != nil && p.StepSize() == 0 && s.Steps == nil && s.Tolerances == nil {
		return nil, errors.New("assess: the Mesh of the Posterior is none of equal steps: want Steps or Tolerances")
	}
	if s.Steps != nil && s.Tolerances != nil {
		return nil, errors.New("assess: Steps and Tolerances: want one of them")
	}
	if p.StepSize() == 0 && len(s.Steps) > 0 {
		q := *p
		q.Mesh, q.GridAt = probode.Uniform(s.Steps[0]), nil
		p = &q
	}
	if p.Mesh == nil && len(s.Tolerances) > 0 {
		q := *p
		q.Mesh = probode.Adaptive{Tolerance: s.Tolerances[0]}
		p = &q
	}
	if _, err := bayes.NewDensity(p); err != nil {
		return nil, err
	}
	if s.Threshold == 0 {
		s.Threshold = 0.1
	}
	if s.Confidence == 0 {
		s.Confidence = 0.95
	}
	if s.Sampler == nil {
		s.Sampler = bayes.PCNWithinGibbs{}
	}
	if s.Steps == nil && s.Tolerances == nil {
		s.Steps = []float64{p.StepSize(), p.StepSize() / 2, p.StepSize() / 4, p.StepSize() / 8}
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
	if s.Accurate.Equal(probode.Setup{}) {
		s.Accurate.Mesh = reference.Accurate{}
	}
	if _, err := bayes.NewDensity(p.SolvedBy(s.Accurate)); err != nil {
		return nil, err
	}
	s.Calibrate.Seed, s.Calibrate.Workers, s.Calibrate.Progress = s.Chains.Seed, s.Chains.Workers, nil

	a := &assessor{ctx: ctx, p: p, s: s, begin: time.Now(), out: &Report{Method: p.Method, Threshold: s.Threshold, Confidence: s.Confidence, Looks: 1, Looked: 1, KHat: math.NaN()}}
	if s.Auto {
		a.out.Looks = mostLooks
	}
	var titles []string
	for _, x := range p.Experiments {
		if !slices.Contains(titles, x.Problem.Name) {
			titles = append(titles, x.Problem.Name)
		}
	}
	a.out.Model = strings.Join(titles, ", ")
	for k, q := range p.Params {
		a.out.Names = append(a.out.Names, q.Name)
		if q.Name != p.AlphaParam {
			a.assessed = append(a.assessed, k)
			a.out.Params = append(a.out.Params, Parameter{Name: q.Name, Mean: math.NaN(), SD: math.NaN(), MeanSE: math.NaN(), SDSE: math.NaN(), TailIndex: math.NaN()})
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
		st := unknownStep()
		st.StepSize, st.Exact = h, exact
		a.out.Steps = append(a.out.Steps, st)
	}
	if err := a.tolerances(); err != nil {
		return nil, err
	}
	if len(a.out.Steps) == 0 {
		return nil, errors.New("assess: no Steps to assess")
	}
	for _, t := range s.Tolerances {
		a.out.Asked = append(a.out.Asked, a.out.nearest(sizeOf(t)))
	}
	for _, h := range s.Steps {
		a.out.Asked = append(a.out.Asked, a.out.nearest(h))
	}
	a.estimates = map[*Inference][measures][]moments{}
	a.setQuantities()
	a.modes = make([]*bayes.Modes, len(a.out.Steps))
	a.runs = make([]*draws, len(a.out.Steps))
	a.paired = make([][]shift, len(a.out.Steps))
	a.notes = make([][]string, len(a.out.Steps))
	a.total = 6*len(a.out.Steps) + 2
	return a, nil
}

// tolerances adds the steps of a ladder of tolerances, the largest first.
func (a *assessor) tolerances() error {
	all := slices.Clone(a.s.Tolerances)
	slices.SortFunc(all, func(x, y probode.Tolerance) int { return cmp.Compare(sizeOf(y), sizeOf(x)) })
	for _, t := range all {
		st := unknownStep()
		st.Tolerance, st.Exact = t, true
		if n := len(a.out.Steps); n > 0 && a.out.Steps[n-1].Size() == st.Size() {
			continue
		}
		a.out.Steps = append(a.out.Steps, st)
		if _, err := bayes.NewDensity(a.of(len(a.out.Steps) - 1)); err != nil {
			return fmt.Errorf("%w (in Tolerances)", err)
		}
	}
	return nil
}

// unknownStep is one of which nothing is known.
func unknownStep() Step {
	nan := math.NaN()
	return Step{Error: nan, Order: nan, Alpha: nan, AlphaStar: nan, AlphaSE: nan, KHat: nan}
}

func (a *assessor) finest() int { return len(a.out.Steps) - 1 }

// at returns the posterior with the step h.
func (a *assessor) at(h float64) *bayes.Posterior {
	q := *a.p
	q.Setup, q.GridAt = q.WithStepSize(h), nil
	return &q
}

// seed gives each run numbers of its own, so that the runs are independent.
func (a *assessor) seed(key ...uint64) uint64 {
	return probode.Stream(a.s.Chains.Seed, append([]uint64{0x617373657373}, key...)...).Uint64()
}
