package calibrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/probode"
)

// Settings holds the options of Run and Score.
type Settings struct {
	// StepSize is the step size h of a uniform grid.
	StepSize float64
	// Mesh, if not nil, generates the grid and takes the place of StepSize.
	Mesh probode.Mesh
	// Scaling says how the size of the noise depends on the step; zero means the default
	// for the grid. With ScaleLocal, the spread agrees best with the error: see
	// docs/calibration.md. A different Scaling requires a different α*: see NoiseScale.Settings.
	Scaling probode.Scaling
	// Criterion is the score that α* maximises; zero means LogScore. The paper uses
	// Bhattacharyya.
	Criterion Criterion
	// Theta is the parameter value; nil means Problem.Theta.
	Theta []float64
	// Indicator estimates the error; nil means Richardson. The indicator
	// reference.TrueError subtracts an accurate solution from the numerical solution.
	Indicator Indicator
	// Components lists the state components that contribute to the score: 0 is the first
	// component. Nil means all components.
	Components []int
	// Paths is the size of the ensemble; zero means 1000. The standard error of log α* is
	// inversely proportional to the square root of Paths.
	Paths int
	// Seed determines the noise, which is the same for every α.
	Seed uint64
	// Workers is the number of goroutines; zero means the number of cores. The number of
	// goroutines does not change the result.
	Workers int
	// Progress, if not nil, is called with the number of score evaluations so far and an
	// upper bound on their total number. This upper bound grows during the search if α* is
	// outside [1e-6, 1e6].
	Progress func(done, total int)
}

// jackknifeGroups are also the units of parallel work.
const jackknifeGroups = 20

func (s *Settings) check(ctx context.Context, p *probode.Problem) error {
	const maxWorkers = 4096
	switch {
	case p == nil:
		return errors.New("calibrate: the problem is nil")
	case s.Workers < 0 || s.Workers > maxWorkers:
		return fmt.Errorf("%s: the number of workers is %d: want 1 to %d, or 0 for one worker per core", p.Title(), s.Workers, maxWorkers)
	case s.Criterion != Bhattacharyya && s.Criterion != LogScore:
		return fmt.Errorf("%s: %v: want Bhattacharyya or LogScore", p.Title(), s.Criterion)
	case s.Paths < 2*jackknifeGroups:
		return fmt.Errorf("%s: the number of paths is %d: want at least %d", p.Title(), s.Paths, 2*jackknifeGroups)
	}
	for _, k := range s.Components {
		if k < 0 || k >= p.Dim() {
			return fmt.Errorf("%s: Components contains %d: want numbers from 0 to %d", p.Title(), k, p.Dim()-1)
		}
	}
	if err := memory.Check(fmt.Sprintf("the results of %d paths", s.Paths), s.Paths/16+1, 8); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// A NoiseScale holds the α* that Run finds and the standard errors of α*.
type NoiseScale struct {
	// Alpha is α*. SE is the Monte Carlo standard error of α*, computed by the jackknife
	// over groups of paths. SE is NaN if a path cannot be computed at a scale close to α*.
	// Another problem, another θ or other units require another α*. For example, α* is
	// multiplied by 100 if a change of units multiplies the state by 10.
	Alpha, SE float64
	// Scaling says how the size of the noise depends on the step. Another Scaling requires
	// another α*. Scaling is never ScaleDefault: see Settings.
	Scaling probode.Scaling
	// SETime is the standard error of α* that results from the limited time span. SETime
	// is computed by the jackknife over ten blocks of consecutive grid points. Using more
	// paths does not reduce SETime. SETime is large if α* is determined mainly by the
	// errors at a few points.
	SETime float64
	// MeanSquare is the mean of E²/v over all errors E that contribute to the score.
	// Within[0] is the share of errors with |E| < √v, and Within[1] is the share of errors
	// with |E| < 2√v. For a Gaussian error with the standard deviation √v, MeanSquare is
	// 1, Within[0] is 68 % and Within[1] is 95 %. If the error keeps its sign and grows
	// with time, no choice of α makes both MeanSquare and Within agree with a Gaussian
	// error.
	MeanSquare float64
	Within     [2]float64
	// Warnings describe problems that a user should know about before trusting α*.
	Warnings []string
}

// Settings returns a copy of s in which Scaling and Alpha have the values from c. The
// method sets both fields because a value of α has no meaning without its scaling.
func (c *NoiseScale) Settings(s probode.Settings) probode.Settings {
	s.Scaling, s.Alpha = c.Scaling, c.Alpha
	return s
}
