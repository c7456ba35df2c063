package calibrate

import (
	"context"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// An Indicator estimates the global error of the classical solution that the Solver s
// computes at θ.
type Indicator func(ctx context.Context, s *probode.Solver, theta []float64) (*Errors, error)

// Errors are estimates of the global error of a classical solution.
type Errors struct {
	// E is the estimated error, stored as a row-major (N+1)×d matrix. The sign of E does
	// not matter.
	E []float64
	// Accuracy holds the uncertainty of each element of E. Nil means that the uncertainty
	// is unknown.
	Accuracy []float64
}

// Richardson is an Indicator that needs no accurate solution. Richardson solves the
// equations a second time, with every step halved, and estimates the error from the
// difference between the two solutions,
//
//	E = (Z_h − Z_{h/2}) 2^q / (2^q − 1),
//
// where q is the order of the method. The estimate is correct to leading order in h.
// Accuracy of the result estimates only the rounding errors.
func Richardson(ctx context.Context, s *probode.Solver, theta []float64) (*Errors, error) {
	if err := s.MoveTo(theta); err != nil {
		return nil, err
	}
	grid, d := s.Grid(), s.Problem().Dim()
	fine, err := probode.NewSolver(s.Problem(), s.Method(), grid.Refine(), 0)
	if err != nil {
		return nil, err
	}
	defer fine.Bind(ctx)()
	z, y := make([]float64, s.PathLen()), make([]float64, fine.PathLen())
	if err := s.Solve(z, theta, nil); err != nil {
		return nil, err
	}
	if err := fine.Solve(y, theta, nil); err != nil {
		return nil, err
	}
	// If the method is exact, the two solutions differ only by rounding errors. In each
	// component, the rounding errors are a few ulps of the largest absolute value.
	rounding := make([]float64, d)
	for i, v := range z {
		rounding[i%d] = max(rounding[i%d], 8*epsilon*math.Abs(v))
	}
	e := &Errors{E: z, Accuracy: make([]float64, len(z))}
	two := math.Exp2(float64(s.Method().Order()))
	for i := range s.Times() {
		at := y[grid.Refined(i)*d:][:d]
		for k, v := range z[i*d : (i+1)*d] {
			e.E[i*d+k] = (v - at[k]) * two / (two - 1)
			e.Accuracy[i*d+k] = rounding[k]
		}
	}
	return e, nil
}

const epsilon = 0x1p-52
