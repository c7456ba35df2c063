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
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Settings holds the options of Run. The zero value is ready for use.
type Settings struct {
	// Candidates are the setups to assess, in any order. A missing Method or Mesh is that
	// of the Posterior. The candidates are solved without noise. Nil means four step
	// sizes: the step size h of the Posterior, h/2, h/4 and h/8.
	Candidates []probode.Setup

	// Noise, if not nil, adds a second candidate for each setup: inference with the
	// solver's error in the model, drawn by the sampler Noise. The noise scale is the α of
	// the Posterior, or it is calibrated at the mode if α is zero.
	Noise sample.Sampler

	// Threshold is the limit below which an error does not matter. For each parameter,
	// the error of the centre must be less than Threshold times the accurate spread, and
	// the spread must differ from the accurate spread by a factor of less than 1 +
	// Threshold. The centre is the median, and the spread is half the width of the
	// central 68 % interval. The mean and the standard deviation are judged by the same
	// rule, but their intervals include what a mode too small to be seen among the draws
	// could do to them. Zero means 0.1.
	Threshold float64

	// Confidence is the confidence level of the interval for each bias and each ratio. It
	// lies in [0.5, 1), and zero means 0.95. The verdict on a parameter is Negligible if
	// the intervals for its bias and its ratio both lie below the threshold. The verdict
	// is Matters if at least one of the two intervals lies above the threshold. The draws
	// are looked at up to four times, from when the chains of the reference posterior have
	// mixed, and the error probability is divided equally.
	Confidence float64

	// MaxDraws is the largest number of draws per chain; zero means sixteen times the
	// initial number of draws. If MaxTime is positive, no draws are added when
	// this time has passed since the beginning of Run, and a first run that is not
	// finished by then is given up. MaxTime does not limit the searches for modes or the
	// certificates. With MaxTime, the results depend on the speed of the machine.
	MaxDraws int
	MaxTime  time.Duration

	// If From is not nil, the searches for modes start from the points in From, for
	// example from estimates in the literature, instead of from draws from the prior.
	// Each point has a value for every parameter. If no search reaches a certain mode,
	// this mode is found only if a chain enters it.
	From [][]float64

	// Chains holds the settings of each run. Its fields Start, Names, Generated, Only,
	// MinESS and Progress are ignored. Chains.Draws is the number of draws per chain in
	// the first look; zero means 500.
	Chains mcmc.Settings

	// Draws, if not nil, are draws that exist already, with a column for each parameter of
	// the Posterior, in its order. They stand for the posterior that is computed with the
	// setup MadeBy, which is then a candidate, too, or for the reference posterior if MadeBy
	// is zero. The other posteriors are computed from their weights. Run makes draws of its
	// own only of a posterior that the weighted draws do not represent.
	Draws  *mcmc.Chains
	MadeBy probode.Setup

	// Accurate is the setup of the solver of the reference posterior. The zero value
	// means catalog.Default.
	Accurate probode.Setup

	// Calibrate holds the settings for the calibration of α. If Calibrate.Paths is zero,
	// 400 paths are used.
	Calibrate calibrate.Settings

	// Progress, if not nil, is called from time to time. Its arguments are the number of
	// completed tasks, the total number of tasks, and a description of the current task.
	Progress func(done, total int, doing string)
}

// check panics if a number in the settings is out of range. check returns an error for
// other mistakes.
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
	switch {
	case p == nil:
		return errors.New("assess: the Posterior is nil")
	case s.Candidates == nil && !s.given() && p.StepSize() == 0:
		return errors.New("assess: the Mesh of the Posterior does not have equal steps: set Candidates")
	}
	return nil
}

// given reports whether the draws stand for the posterior of a candidate.
func (s *Settings) given() bool { return s.Draws != nil && !s.MadeBy.Equal(probode.Setup{}) }

func (s *Settings) complete(p *bayes.Posterior) {
	s.Threshold = cmp.Or(s.Threshold, 0.1)
	s.Confidence = cmp.Or(s.Confidence, 0.95)
	if s.given() {
		s.Candidates = append([]probode.Setup{s.MadeBy}, s.Candidates...)
	}
	if s.Candidates == nil {
		h := p.StepSize()
		for _, step := range []float64{h, h / 2, h / 4, h / 8} {
			s.Candidates = append(s.Candidates, p.WithStepSize(step))
		}
	}
	s.Chains.Draws = cmp.Or(s.Chains.Draws, 500)
	s.Calibrate.Paths = cmp.Or(s.Calibrate.Paths, 400)
	s.Chains.Start, s.Chains.Names, s.Chains.Generated, s.Chains.Only, s.Chains.MinESS = nil, nil, nil, nil, 0
	if s.Accurate.Equal(probode.Setup{}) {
		s.Accurate = catalog.Default()
	}
	s.Calibrate.Seed, s.Calibrate.Workers, s.Calibrate.Progress = s.Chains.Seed, s.Chains.Workers, nil
}
