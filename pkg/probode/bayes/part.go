package bayes

import (
	"errors"

	"github.com/probode/probode/pkg/probode"
)

// Part returns experiment i of the density, for samplers that solve experiments one by one
// or in pieces, such as particle filters.
func (e *Density) Part(i int) *Part { return e.parts[i] }

// Title returns the name of the experiment for use in messages.
func (r *Part) Title() string { return r.x.title(r.number) }

// NoiseLen returns the number of elements of ξ that belong to the experiment. In ξ, the
// elements for the first experiment come first, then those for the second experiment, and
// so on.
func (r *Part) NoiseLen() int { return r.noise }

// Grid returns the Path of the experiment if this Path is Gridded, and nil otherwise.
// Only the goroutine that uses the density may use the returned Path.
func (r *Part) Grid() probode.Gridded { return r.grid }

// Expected returns the elements of Density.Expected that belong to the experiment.
func (r *Part) Expected() []float64 { return r.fit }

// Theta returns the parameters θ of the experiment's Problem, given the parameters theta
// of the model. The next use of the density may overwrite the returned slice.
func (r *Part) Theta(theta []float64) []float64 {
	r.e.bind(r, theta)
	return r.theta
}

// LogLikelihood does the same as Density.LogLikelihood, but for this experiment only. The
// length of xi must be r.NoiseLen().
func (r *Part) LogLikelihood(theta, xi []float64) (float64, error) {
	return r.e.logLikelihood(r.alone(), theta, xi, true)
}

// Observe returns the log likelihood for the states that the last solve computed.
// Observe does not solve the equations again.
func (r *Part) Observe(theta []float64) (float64, error) {
	return r.e.logLikelihood(r.alone(), theta, nil, false)
}

func (r *Part) alone() []*Part { return r.e.parts[r.number : r.number+1] }

// Solve continues a path from one point of the grid to another: see probode.Solver.SolveFrom.
func (r *Part) Solve(path, memory, theta, xi []float64, from, to int) error {
	solver := r.grid.Solver()
	if done := r.e.ctx.Done(); done != r.done {
		if r.release != nil {
			r.release()
		}
		r.done, r.release = done, solver.Bind(r.e.ctx)
	}
	r.e.work += to - from
	return r.e.note(solver.SolveFrom(path, memory, r.Theta(theta), xi, from, to))
}

// LogProb returns the log probability of row n of the data, given a path that has been
// computed at least up to the time of this row. LogProb also writes the expected values
// of the row to Expected.
func (r *Part) LogProb(n int, path, theta []float64) float64 {
	r.e.bind(r, theta)
	d := r.dim
	r.grid.Interpolator().Row(r.state[n*d:(n+1)*d], path, n)
	return r.row(n, theta)
}

// Linear evaluates the model for row n of the data at the state x. For each column,
// Linear returns the expected value, its derivatives, and the other numbers on which the
// likelihood depends. Row k of `slopes` holds the derivatives of column k with respect
// to the components of x, followed by those with respect to theta. The next use of the
// density may overwrite the returned slices.
func (r *Part) Linear(n int, x, theta []float64) (mean, slopes []float64, own [][]float64) {
	if r.back == nil {
		r.back = newBackward(r, len(theta))
	}
	r.e.bind(r, theta)
	d, c := r.dim, len(r.errors)
	copy(r.state[n*d:(n+1)*d], x)
	r.row0 = n
	r.row(n, theta)
	r.observeSlopes(r.back.slopes, n, theta)
	mean = r.fit[n*c : (n+1)*c]
	for k := range r.errors {
		own = append(own, r.errors[k].at(r.x.Data.T[n], mean))
	}
	return mean, r.back.slopes, own
}

// StateGradient returns the log likelihood for given states at the observation times. It
// writes the derivatives with respect to the states to w, and adds those with respect to
// theta, at fixed states, to dtheta.
func (r *Part) StateGradient(w, dtheta, states, theta []float64) float64 {
	if r.back == nil {
		r.back = newBackward(r, len(theta))
	}
	r.e.bind(r, theta)
	copy(r.state, states)
	ll := r.weigh(dtheta, theta)
	copy(w, r.back.weights)
	return ll
}

// NoiseGradient computes the derivatives of Σₙ wₙᵀxₙ with respect to the part's ξ, and
// writes them to dxi. Here xₙ is the state at observation time n, and wₙ is the
// corresponding part of w. The error is errors.ErrUnsupported if the path has no
// derivatives with respect to ξ.
func (r *Part) NoiseGradient(dxi, w, theta, xi []float64) error {
	path, ok := r.now().(probode.Reversible)
	if !ok {
		return errors.ErrUnsupported
	}
	if _, err := r.e.solve(r, theta, xi); err != nil {
		return err
	}
	g := probode.Gradient{Theta: make([]float64, len(r.theta)), Xi: dxi}
	err := path.Gradient(r.e.ctx, &g, w, r.theta, xi)
	r.e.work += backwardWork * path.Work()
	return r.e.note(err)
}
