package assess

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/reference"
)

// Settings holds the options of Run. The zero value is ready for use.
type Settings struct {
	// Steps are the step sizes to assess, in any order. Nil means four step sizes: the
	// step size h of the Posterior, h/2, h/4 and h/8.
	Steps []float64

	// Tolerances, which can be given instead of Steps, are the tolerances to assess. With
	// a tolerance, the method of the Posterior chooses its steps for every θ separately,
	// as is usual for adaptive solvers. For inference with noise in the model, and for
	// some of the remedies, the steps are chosen only once, at the mode, and used for
	// every θ.
	Tolerances []probode.Tolerance

	// Sampler is the sampler for inference with a model that includes the solver's error; nil
	// means sample.Hamiltonian. The sampler marginal.Integrated integrates the error out.
	Sampler sample.Sampler

	// Threshold is the limit below which an error does not matter. For each parameter,
	// the error of the centre must be less than Threshold times the accurate spread, and
	// the spread must differ from the accurate spread by a factor of less than 1 +
	// Threshold. The centre and the spread are the median and half the width of the
	// central 68 % interval; the limit also applies to the mean and the standard
	// deviation. Zero means 0.1.
	Threshold float64

	// Confidence, in [0.5, 1), is the confidence level of the interval for each bias and
	// each ratio; zero means 0.95. The verdict on a parameter is Negligible if both
	// intervals lie below the threshold, and Matters if one of them lies above it.
	// If the true effect is exactly at the threshold, the verdicts Negligible and Matters
	// each have probability (1 − Confidence)/2.
	Confidence float64

	// If Auto is true, Run continues the chains of the deterministic inference at every
	// step size or tolerance that has too few draws for a verdict. MaxDraws and MaxTime
	// limit the number of added draws. With Auto, there are up to four interim analyses,
	// among which the error probability is divided.
	Auto bool

	// MaxDraws is the budget of Auto, in draws per chain. Zero means eight times as many
	// draws as a run without Auto makes. MaxTime, if positive, limits the time for
	// sampling, counted from the beginning of Run. If a posterior cannot be sampled
	// within MaxTime, Run adds no further draws for the other posteriors. For a posterior
	// that was not sampled, only a Bound can give a verdict. MaxTime does not limit the
	// searches for modes or the computation of certificates. If MaxTime is set, the
	// results depend on the speed of the machine. If MaxTime is zero, there is a limit of
	// four minutes for sampling the first posterior, and no limit for the others. The
	// limit of four minutes applies if Auto is true, or if sample.Choose finds that a
	// random walk would be too slow.
	MaxDraws int
	MaxTime  time.Duration

	// If From is not nil, searches for modes begin only at the points in From, for
	// example at the end points of a fit. Each point has a value for every parameter. A
	// mode that no search from these points reaches is found only if a chain enters it.
	From [][]float64

	// Chains holds the settings of each run; its fields Start, Names, Generated, Only and
	// Progress are ignored. If Chains.Draws and Chains.MinESS are both zero, each run
	// continues until the effective sample size is 4000, or until each chain has 20,000
	// draws.
	Chains mcmc.Settings

	// Weighed is the number of draws, from all chains together, for which Run computes
	// weights at each step size. To compute the weight of a draw, the equations are
	// solved accurately at its θ. Weighed must be at least 50. Zero means 4000.
	Weighed int

	// Accurate is the setup of the accurate solver. If Accurate.Method or Accurate.Mesh
	// is nil, that of the Posterior is used. The zero value means reference.Accurate.
	Accurate probode.Setup

	// Calibrate holds the settings for the calibration of α. If Calibrate.Paths is zero,
	// 400 paths are used.
	Calibrate calibrate.Settings

	// Progress, if not nil, is called from time to time. Its arguments are the number of
	// completed tasks, the total number of tasks, and a description of the current task.
	Progress func(done, total int, doing string)
}

// The method check() panics if a number in the settings is out of range. For other
// mistakes it returns an error, for example if both Steps and Tolerances are given.
func (s *Settings) check(p *bayes.Posterior) error {
	if !(s.Threshold >= 0) || math.IsInf(s.Threshold, 1) {
		panic(fmt.Sprintf("assess: Settings.Threshold is %g: want a number > 0, or 0, which means 0.1", s.Threshold))
	}
	if c := s.Confidence; c != 0 && !(c >= 0.5 && c < 1) {
		panic(fmt.Sprintf("assess: Settings.Confidence is %g: want a number in [0.5, 1), or 0, which means 0.95", c))
	}
	if s.MaxDraws < 0 || s.MaxTime < 0 {
		panic(fmt.Sprintf("assess: Settings.MaxDraws is %d and Settings.MaxTime is %v: want values ≥ 0", s.MaxDraws, s.MaxTime))
	}
	if s.Weighed < 0 || s.Weighed > 0 && s.Weighed < fewest {
		panic(fmt.Sprintf("assess: Settings.Weighed is %d: want at least %d, or 0, which means 4000", s.Weighed, fewest))
	}
	switch {
	case p == nil:
		return errors.New("assess: the Posterior is nil")
	case p.Mesh != nil && p.StepSize() == 0 && s.Steps == nil && s.Tolerances == nil:
		return errors.New("assess: the Mesh of the Posterior does not have equal steps: set Steps or Tolerances")
	case s.Steps != nil && s.Tolerances != nil:
		return errors.New("assess: both Steps and Tolerances are given: set only one of them")
	}
	return nil
}

// The method complete() fills in the defaults.
func (s *Settings) complete(p *bayes.Posterior) {
	s.Threshold = cmp.Or(s.Threshold, 0.1)
	s.Confidence = cmp.Or(s.Confidence, 0.95)
	if s.Sampler == nil {
		s.Sampler = sample.Hamiltonian{}
	}
	if h := p.StepSize(); s.Steps == nil && s.Tolerances == nil {
		s.Steps = []float64{h, h / 2, h / 4, h / 8}
	}
	if s.Chains.Draws == 0 && s.Chains.MinESS == 0 {
		s.Chains.Draws, s.Chains.MinESS, s.Chains.MaxDraws = 2500, 4000, 20000
	}
	s.Weighed = cmp.Or(s.Weighed, 4000)
	s.Calibrate.Paths = cmp.Or(s.Calibrate.Paths, 400)
	s.Chains.Start, s.Chains.Names, s.Chains.Generated, s.Chains.Only = nil, nil, nil, nil
	if s.Accurate.Equal(probode.Setup{}) {
		s.Accurate.Mesh = reference.Accurate{}
	}
	s.Calibrate.Seed, s.Calibrate.Workers, s.Calibrate.Progress = s.Chains.Seed, s.Chains.Workers, nil
}
