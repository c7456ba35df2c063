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

	// Tolerances are the tolerances to assess, as an alternative to Steps. With a
	// tolerance, the method of the Posterior chooses its steps for every θ separately, as
	// adaptive solvers usually do. Inference with noise in the model and some remedies
	// use the same steps for every θ: those that the method chooses at the mode.
	Tolerances []probode.Tolerance

	// Sampler is the sampler for inference with noise in the model. Nil means
	// sample.Hamiltonian. The sampler marginal.Integrated integrates over the noise.
	Sampler sample.Sampler

	// Threshold is the limit below which an error does not matter. For each parameter,
	// the error of the centre must be less than Threshold times the accurate spread, and
	// the spread must differ from the accurate spread by a factor of less than 1 +
	// Threshold. The centre is the median, and the spread is half the width of the
	// central 68 % interval. The mean and the standard deviation are judged by the same
	// rule. Zero means 0.1.
	Threshold float64

	// Confidence is the confidence level of the interval for each bias and each ratio. It
	// lies in [0.5, 1), and zero means 0.95. The verdict on a parameter is Negligible if
	// the intervals for its bias and its ratio both lie below the threshold. The verdict
	// is Matters if at least one of the two intervals lies above the threshold.
	// If the true effect is exactly at the threshold, the verdicts Negligible and Matters
	// each have probability (1 − Confidence)/2.
	Confidence float64

	// If Auto is true, Run adds draws to the deterministic inference at every step size
	// or tolerance that has too few draws for a verdict. MaxDraws and MaxTime limit the
	// number of added draws. With Auto, Run makes up to four interim analyses, and
	// divides the error probability equally among them.
	Auto bool

	// MaxDraws is the largest number of draws per chain that Auto may make. Zero means
	// eight times the number of draws in the first analysis. If MaxTime is positive,
	// sampling stops when this time has passed since the beginning of Run. If a posterior
	// cannot be sampled within MaxTime, Run adds no further draws for the other
	// posteriors. For a posterior that was not sampled, only a Bound can give a verdict.
	// MaxTime does not limit the searches for modes or the computation of certificates.
	// If MaxTime is set, the results depend on the speed of the machine. If MaxTime is
	// zero, a limit of four minutes applies to the first posterior in two cases: if Auto
	// is true, and if sample.Choose finds that a random walk would be too slow. The other
	// posteriors then have no time limit.
	MaxDraws int
	MaxTime  time.Duration

	// If From is not nil, the searches for modes start from the points in From, for
	// example from estimates in the literature, instead of from draws from the prior.
	// Each point has a value for every parameter. If no search reaches a certain mode,
	// this mode is found only if a chain enters it.
	From [][]float64

	// Chains holds the settings of each run. Its fields Start, Names, Generated, Only and
	// Progress are ignored. If Chains.Draws and Chains.MinESS are both zero, a run stops
	// when its effective sample size reaches 4000, or when each chain has 20,000 draws.
	Chains mcmc.Settings

	// Weighed is the total number of draws for which Run computes weights at each step
	// size. Each weight requires one accurate solution of the equations. Weighed must be
	// at least 50. Zero means 4000.
	Weighed int

	// Accurate is the setup of the accurate solver. If Accurate.Method is nil, Run uses
	// the method of the Posterior. If Accurate.Mesh is nil, Run uses the mesh of the
	// Posterior. The zero value means reference.Accurate.
	Accurate probode.Setup

	// Calibrate holds the settings for the calibration of α. If Calibrate.Paths is zero,
	// 400 paths are used.
	Calibrate calibrate.Settings

	// Progress, if not nil, is called from time to time. Its arguments are the number of
	// completed tasks, the total number of tasks, and a description of the current task.
	Progress func(done, total int, doing string)
}

// check panics if a number is out of range.
func (s *Settings) check(p *bayes.Posterior) error {
	if !(s.Threshold >= 0) || math.IsInf(s.Threshold, 1) {
		panic(fmt.Sprintf("assess: Settings.Threshold is %g: want a number > 0, or 0 for the default of 0.1", s.Threshold))
	}
	if c := s.Confidence; c != 0 && !(c >= 0.5 && c < 1) {
		panic(fmt.Sprintf("assess: Settings.Confidence is %g: want a number in [0.5, 1), or 0 for the default of 0.95", c))
	}
	if s.MaxDraws < 0 || s.MaxTime < 0 {
		panic(fmt.Sprintf("assess: Settings.MaxDraws is %d and Settings.MaxTime is %v: want values ≥ 0", s.MaxDraws, s.MaxTime))
	}
	if s.Weighed < 0 || s.Weighed > 0 && s.Weighed < fewest {
		panic(fmt.Sprintf("assess: Settings.Weighed is %d: want at least %d, or 0 for the default of 4000", s.Weighed, fewest))
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
