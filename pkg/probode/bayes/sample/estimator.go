package sample

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// An estimator computes an unbiased estimate of the likelihood p(Y | θ). An estimator
// also selects one path at random, with a probability proportional to the weight of the
// path. The expected values of the data for the chosen path are stored in the Density e.
// As the number of paths grows, the distribution of the chosen path tends to p(Z | θ, Y).
type estimator struct {
	*state
	particles  int
	correlated bool
	whole      bool      // paths are never resampled
	aux        []float64 // the normal numbers to use, if correlated
	xi         []float64 // the normal numbers of one path, if not
	logw       []float64 // log weights
	weight     []float64
	order      []int
	swarms     []swarm // particle filters, by experiment
}

// A swarm is the particle filter of one experiment.
type swarm struct {
	data    *bayes.Data
	d       int // dimension of the state
	stages  []stage
	most    int  // largest number of stages
	moves   bool // the grid, and so the stages, depend on θ
	rows    int  // number of earlier rows that the continuation of a path needs
	z, next [][]float64
	// The fields `memory` and `nextMemory` contain the past values that the method stores for
	// each path (see probode.Solver.MemoryLen).
	memory, nextMemory [][]float64
	fit                [][]float64
	ancestor           [][]int // by stage, the ancestors of the particles of the next stage
}

// A stage of a particle filter advances the particles to a grid point, and weights them
// by the likelihood of some of the data. Each datum is used in the first stage that can
// predict it.
type stage struct {
	to   int   // grid point
	data []int // rows of the data
	any  bool  // some value in these rows is not missing
}

func newEstimator(s *state, correlated, whole bool) *estimator {
	m := &estimator{state: s, correlated: correlated, whole: whole}
	for i, x := range s.e.Posterior().Experiments {
		r := s.e.Part(i)
		m.xi = append(m.xi[:0], make([]float64, max(len(m.xi), r.NoiseLen()))...)
		// For a method of order q, interpolation uses q + 2 neighbouring grid points.
		w := swarm{data: x.Data, d: x.Problem.Dim(), rows: 2 + r.Grid().Solver().Method().Order()}
		w.moves = slices.ContainsFunc(x.Problem.Events, func(e probode.Event) bool { return e.When != nil })
		w.plan(r.Grid().Interpolator())
		if w.most = len(w.stages); w.moves {
			w.most = len(x.Data.T)
		}
		m.swarms = append(m.swarms, w)
	}
	return m
}

// plan determines the stages for the current grid.
func (w *swarm) plan(at *probode.Interpolator) {
	rows := make([]int, len(w.data.T))
	for n := range rows {
		rows[n] = n
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(at.Last(a), at.Last(b)) })
	w.stages = nil
	for _, n := range rows {
		to := at.Last(n)
		if len(w.stages) == 0 || w.stages[len(w.stages)-1].to != to {
			w.stages = append(w.stages, stage{to: to})
		}
		s := &w.stages[len(w.stages)-1]
		s.data = append(s.data, n)
		s.any = s.any || slices.ContainsFunc(w.data.Y[n], func(y float64) bool { return !math.IsNaN(y) })
	}
}

// follow computes the grid of r for the parameters theta, and then determines the stages.
// The grid points needed for a datum depend on θ if the times of events depend on θ.
func (w *swarm) follow(r *bayes.Part, theta []float64) error {
	if err := r.Solve(w.z[0], w.memory[0], theta, nil, 0, 0); err != nil { // no step
		return err
	}
	at, x := r.Grid().Interpolator(), make([]float64, w.d)
	for n := range w.data.T {
		at.Row(x, w.z[0], n) // finds the grid points for row n
	}
	w.plan(at)
	return nil
}

// resize allocates memory for the given number of particles.
func (m *estimator) resize(particles int) {
	m.particles = particles
	m.logw = make([]float64, particles)
	total := m.e.NoiseLen() * particles
	m.weight = make([]float64, particles)
	m.order = make([]int, particles)
	for i := range m.swarms {
		r := m.e.Part(i)
		w, solver := &m.swarms[i], r.Grid().Solver()
		w.z, w.next, w.memory, w.nextMemory, w.fit, w.ancestor = nil, nil, nil, nil, nil, nil
		for range particles {
			w.z = append(w.z, make([]float64, solver.PathLen()))
			w.next = append(w.next, make([]float64, solver.PathLen()))
			w.memory = append(w.memory, make([]float64, solver.MemoryLen()))
			w.nextMemory = append(w.nextMemory, make([]float64, solver.MemoryLen()))
			w.fit = append(w.fit, make([]float64, len(r.Expected())))
		}
		for range w.most {
			w.ancestor = append(w.ancestor, make([]int, particles))
		}
		total += w.most
	}
	if m.correlated {
		m.aux = make([]float64, total)
	}
}

// errNoPath is returned if no path could be continued.
var errNoPath = errors.New("sample: the equations could not be solved for any of the drawn ξ")

// logLikelihood returns log p̂(Y | θ).
func (m *estimator) logLikelihood(theta, _ []float64) (float64, error) {
	var sum float64
	u := m.aux
	for i := range m.e.Posterior().Experiments {
		var ll float64
		var err error
		if ll, u, err = m.filtered(i, theta, u); err != nil {
			return math.Inf(-1), err
		}
		sum += ll
	}
	return sum, nil
}

// filtered estimates the likelihood of experiment i by a particle filter.
func (m *estimator) filtered(i int, theta, u []float64) (float64, []float64, error) {
	w, r := &m.swarms[i], m.e.Part(i)
	fit := r.Expected()
	n, each, c := r.NoiseLen(), r.Grid().Solver().Normals(), len(w.data.Y[0])
	normals := u
	var uniforms []float64 // normal numbers, which are transformed to uniform ones for the resampling
	if m.correlated {
		at := m.particles * n
		uniforms, u = u[at:at+w.most], u[at+w.most:]
	}
	if w.moves {
		if err := w.follow(r, theta); err != nil {
			return 0, u, err
		}
	}
	equal := -math.Log(float64(m.particles))
	for j := range m.logw {
		m.logw[j] = equal
	}
	var sum float64
	from := 0
	for g, s := range w.stages {
		solved := 0
		for j, lw := range m.logw {
			if math.IsInf(lw, -1) {
				continue
			}
			var xi []float64
			if m.correlated {
				xi = normals[j*n : (j+1)*n]
			} else {
				xi = m.xi[:n]
				m.chance.draw(xi[from*each:s.to*each], m.latent)
			}
			m.stats.Latent.Proposed++
			if r.Solve(w.z[j], w.memory[j], theta, xi, from, s.to) != nil {
				m.stats.Latent.Failed++
				m.logw[j] = math.Inf(-1)
				continue
			}
			for _, n := range s.data {
				lw += r.LogProb(n, w.z[j], theta)
				copy(w.fit[j][n*c:(n+1)*c], fit[n*c:(n+1)*c])
			}
			if math.IsNaN(lw) || math.IsInf(lw, 1) {
				m.stats.Latent.Failed++
				m.logw[j] = math.Inf(-1)
				continue
			}
			m.stats.Latent.Accepted++
			solved++
			m.logw[j] = lw
		}
		ll := floats.LogSumExp(m.logw)
		if math.IsInf(ll, -1) {
			if solved == 0 {
				return 0, u, errNoPath
			}
			return ll, u, nil
		}
		sum += ll
		var squares float64
		for j, lw := range m.logw {
			m.logw[j] -= ll
			m.weight[j] = math.Exp(lw - ll)
			squares += m.weight[j] * m.weight[j]
		}
		from = s.to
		last := g == len(w.stages)-1
		if !last {
			for j := range w.ancestor[g] {
				w.ancestor[g][j] = j
			}
		}
		// If the weights are nearly equal, resampling only adds variance, so it is
		// omitted. A correlated estimator always resamples, because otherwise its
		// estimate would be a discontinuous function of θ and U.
		if last || m.whole || !s.any || !m.correlated && 2*squares*float64(m.particles) < 4 {
			continue
		}
		var v float64
		if m.correlated {
			v = min(0.5*math.Erfc(-uniforms[g]/math.Sqrt2), 1-0x1p-53)
		} else {
			v = m.latent.Float64()
		}
		m.resample(w, g, v)
		for j := range m.logw {
			m.logw[j] = equal
		}
	}
	// Choose a particle of the last stage, and trace its ancestors.
	total, k := math.Inf(-1), 0
	for j, lw := range m.logw {
		if math.IsInf(lw, -1) {
			continue
		}
		total = logAdd(total, lw)
		if m.chance.accept(lw-total, m.latent) {
			k = j
		}
	}
	for g := len(w.stages) - 1; g >= 0; g-- {
		if g < len(w.stages)-1 {
			k = w.ancestor[g][k]
		}
		for _, n := range w.stages[g].data {
			copy(fit[n*c:(n+1)*c], w.fit[k][n*c:(n+1)*c])
		}
	}
	return sum, u, nil
}

// resample resamples the particles after stage g. The resampling is systematic: the
// ancestor of particle j is the first particle at which the cumulative weight exceeds (v
// + j)/N. If the field `correlated` is true, the particles are first sorted by their
// first component. Because of the sorting, a slight change of θ or U changes the
// ancestors only slightly.
func (m *estimator) resample(w *swarm, g int, v float64) {
	to, d := w.stages[g].to, w.d
	for j := range m.order {
		m.order[j] = j
	}
	if m.correlated {
		slices.SortFunc(m.order, func(a, b int) int { return cmp.Compare(w.z[a][to*d], w.z[b][to*d]) })
	}
	first := max(0, to+1-w.rows) * d
	at, cumulative := 0, m.weight[m.order[0]]
	n := float64(m.particles)
	// Exclude particles of weight zero at the end of the order, because rounding errors
	// could select them.
	end := len(m.order) - 1
	for m.weight[m.order[end]] == 0 {
		end--
	}
	for j := range m.order {
		for cumulative <= (v+float64(j))/n && at < end {
			at++
			cumulative += m.weight[m.order[at]]
		}
		k := m.order[at]
		w.ancestor[g][j] = k
		copy(w.next[j][first:(to+1)*d], w.z[k][first:(to+1)*d])
		copy(w.nextMemory[j], w.memory[k])
	}
	w.z, w.next = w.next, w.z
	w.memory, w.nextMemory = w.nextMemory, w.memory
}

// logAdd returns log(eᵃ + eᵇ) for a ≥ −∞ and b > −∞.
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}
