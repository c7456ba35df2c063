package steplaw

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Report says for every step how far its distribution is from the Gaussian
// approximation, pooled over the paths of an ensemble. Step i leads from T[i] to
// T[i+1]. If the approximation were exact, Accept would be 1, and the components of the
// standardised noise ζ = L⁻¹(Z_{i+1} − μ) would have Shift 0, SD 1 and Skewness 0.
// Entries are NaN for steps that no path made, such as the first steps of a multistep
// method.
type Report struct {
	// T is the grid, one element more than there are steps.
	T []float64
	// Accept[i] is the share of accepted moves among those of preconditioned
	// Crank–Nicolson.
	Accept []float64
	// Shift[k][i], SD[k][i] and Skewness[k][i] are mean, standard deviation and skewness
	// of ζ_k, taken over paths and over the states of the chain in the second half of the
	// sweeps. They are accurate to about 1/√n for n paths. The components of ζ correspond
	// to those of ξ, not to those of the state. Paths that are shifted to opposite sides
	// cancel in Shift and increase SD.
	Shift, SD, Skewness [][]float64
	// Memory[i] is the correlation of the start of the chain with its end,
	// over paths and components: 0 if the sweeps were enough to forget the
	// start, with a Monte Carlo error of about 1/√(nd).
	Memory []float64
	// MultipleRoots are the steps along path 0 in which Step.Roots finds that r(z) = 0 has
	// several solutions. A chain may then remain near the solution where it began.
	MultipleRoots []int
	// Searched is the number of steps of path 0 that were searched: all, or 256 evenly
	// spaced ones.
	Searched int

	refused error // why there is no exact distribution along path 0

	paths, states, accepted, tried []int // per step
	// Sums for each step and component: of ζ, ζ² and ζ³ over the states of the second
	// half, and of ξ, ζ and ξζ over the ends of the chains. Since ζ is of the size of 1,
	// plain sums are accurate enough.
	sum [6][]float64
}

func newReport(t []float64, d int) *Report {
	n := len(t) - 1
	r := &Report{T: slices.Clone(t)}
	for _, v := range []*[]int{&r.paths, &r.states, &r.accepted, &r.tried} {
		*v = make([]int, n)
	}
	for k := range r.sum {
		r.sum[k] = make([]float64, n*d)
	}
	return r
}

// add counts one state of a chain in step i.
func (r *Report) add(i int, zeta []float64) {
	r.states[i]++
	at := i * len(zeta)
	for k, v := range zeta {
		r.sum[0][at+k] += v
		r.sum[1][at+k] += v * v
		r.sum[2][at+k] += v * v * v
	}
}

// end counts one chain in step i, from xi to zeta.
func (r *Report) end(i, accepted, tried int, xi, zeta []float64) {
	r.paths[i]++
	r.accepted[i] += accepted
	r.tried[i] += tried
	at := i * len(zeta)
	for k, v := range zeta {
		r.sum[3][at+k] += xi[k]
		r.sum[4][at+k] += v
		r.sum[5][at+k] += xi[k] * v
	}
}

// merge adds the sums of the report o of other paths. It returns ErrSingularH or
// ErrImproper, wrapped, if the exact distribution of a step does not exist.
func (r *Report) merge(o *Report) error {
	if o.refused != nil {
		return o.refused
	}
	for i := range r.paths {
		r.paths[i] += o.paths[i]
		r.states[i] += o.states[i]
		r.accepted[i] += o.accepted[i]
		r.tried[i] += o.tried[i]
	}
	for m := range r.sum {
		for k, v := range o.sum[m] {
			r.sum[m][k] += v
		}
	}
	r.MultipleRoots = append(r.MultipleRoots, o.MultipleRoots...)
	r.Searched += o.Searched
	return nil
}

// finish computes the exported fields from the sums.
func (r *Report) finish() {
	n := len(r.paths)
	d := len(r.sum[0]) / n
	r.Accept, r.Memory = make([]float64, n), make([]float64, n)
	r.Shift, r.SD, r.Skewness = newSeries(d, n), newSeries(d, n), newSeries(d, n)
	for i := range n {
		r.Accept[i] = float64(r.accepted[i]) / float64(r.tried[i])
		states, paths := float64(r.states[i]), float64(r.paths[i])
		for k := range d {
			at := i*d + k
			// 0/0 makes the NaN of steps that were not made.
			m1, m2, m3 := r.sum[0][at]/states, r.sum[1][at]/states, r.sum[2][at]/states
			variance := m2 - m1*m1
			sd := math.Sqrt(variance)
			r.Shift[k][i], r.SD[k][i] = m1, sd
			r.Skewness[k][i] = (m3 - m1*(3*variance+m1*m1)) / (variance * sd)
			cov := r.sum[5][at]/paths - r.sum[3][at]/paths*r.sum[4][at]/paths
			r.Memory[i] += cov / (sd * float64(d))
		}
	}
}

func newSeries(d, n int) [][]float64 {
	s := make([][]float64, d)
	for k := range s {
		s[k] = make([]float64, n)
	}
	return s
}

// Departure returns how far the distribution of step i is from its Gaussian
// approximation, in standard deviations of the latter: the largest of |Shift|
// and |SD − 1| over the components, NaN for a step that no path made.
func (r *Report) Departure(i int) float64 {
	var most float64
	for k := range r.Shift {
		most = max(most, math.Abs(r.Shift[k][i]), math.Abs(r.SD[k][i]-1)) // NaN stays NaN
	}
	return most
}

// Worst returns at most n steps, those with the largest Departure first.
func (r *Report) Worst(n int) []int {
	var steps []int
	for i := range r.paths {
		if r.paths[i] > 0 {
			steps = append(steps, i)
		}
	}
	slices.SortStableFunc(steps, func(i, j int) int {
		switch a, b := r.Departure(i), r.Departure(j); {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return steps[:min(max(0, n), len(steps))]
}

// String says in words where the Gaussian approximation holds, and whether the sampler
// can be trusted.
func (r *Report) String() string {
	steps := r.Worst(len(r.paths))
	if len(steps) == 0 {
		return "Exact distribution: no step was made.\n"
	}
	var b strings.Builder
	worst := steps[0]
	fmt.Fprintf(&b, "The Gaussian approximation is off by %.2g of its standard deviations in the median step, and by %.2g in the worst, at t = %.4g.\n",
		r.Departure(steps[len(steps)/2]), r.Departure(worst), r.T[worst])
	list(&b, "It should not be used in steps in which it is off by more than 1/2:", r.T, steps, len(steps), func(i int) bool { return r.Departure(i) > .5 })
	list(&b, "Fewer than one move in ten was accepted, so the distribution is far from Gaussian:", r.T, steps, len(steps), func(i int) bool { return r.Accept[i] < .1 })
	// The limit of 4.5 standard errors gives one false alarm in 150 reports of a thousand
	// steps.
	list(&b, "The chain still depends on its start, so more sweeps are needed:", r.T, steps, len(steps), func(i int) bool {
		return r.Memory[i] > max(.1, 4.5/math.Sqrt(float64(r.paths[i]*len(r.Shift))))
	})
	if len(r.MultipleRoots) > 0 {
		list(&b, "r(z) = 0 has several solutions, and the chain may remain near one of them:", r.T, r.MultipleRoots, r.Searched, func(int) bool { return true })
	}
	return b.String()
}

// list writes a line with text and the times of those steps for which so returns true,
// as at most eight intervals.
func list(b *strings.Builder, text string, t []float64, steps []int, of int, so func(int) bool) {
	var which []int
	for _, i := range steps {
		if so(i) {
			which = append(which, i)
		}
	}
	if len(which) == 0 {
		return
	}
	slices.Sort(which)
	fmt.Fprintf(b, "%s %d of %d steps, t =", text, len(which), of)
	for n, from := 0, 0; from < len(which); n++ {
		if n == 8 {
			b.WriteString(" …")
			break
		}
		to := from
		for to+1 < len(which) && which[to+1] == which[to]+1 {
			to++
		}
		if to > from {
			fmt.Fprintf(b, " %.4g–%.4g", t[which[from]], t[which[to]])
		} else {
			fmt.Fprintf(b, " %.4g", t[which[from]])
		}
		from = to + 1
	}
	b.WriteString("\n")
}
