package reference

// explicitSubsteps is the sequence of even numbers that requires the least work. With
// more than eight rows, the weights of the extrapolation would multiply rounding errors
// by factors in the hundreds.
var explicitSubsteps = []int{2, 4, 6, 8, 10, 12, 14, 16}

// A rule is an extrapolation method of one family, with the current state of its order
// and step-size control.
type rule struct {
	family  family
	n       []int     // numbers of substeps of the rows
	work    []float64 // work for all rows up to row j, in calls of f
	k       int       // the row that is expected to converge
	natural float64   // the step that accuracy permits; 0 if it is not known
	renew   float64   // the time up to which natural was measured
	best    []float64 // the best step for row j
	cost    []float64 // work divided by the step

	linear // for the implicit rule
}

func newRule(f family, n []int, run int) *rule {
	// The more accurate integration omits the first row, so that it differs from the
	// looser integration even if output times determine the steps of both.
	n = n[run:]
	return &rule{family: f, n: n, k: (len(n) - 1) / 2,
		work: make([]float64, len(n)), best: make([]float64, len(n)), cost: make([]float64, len(n))}
}

func (e *integration) newExplicit(run int) *rule {
	r := newRule(explicit, explicitSubsteps, run)
	sum := 1.0
	for j, n := range r.n {
		sum += float64(n)
		r.work[j] = sum
	}
	return r
}

// The method midpoint() takes a step of length H with the midpoint rule in n substeps.
// The method writes the increment of x into dst, and the increment with a final smoothing
// step (Gragg 1965) into the argument smooth. Since n is even, the errors of both
// increments have only even powers of h.
func (e *integration) midpoint(dst, smooth []float64, H float64, n int) {
	h := H / float64(n)
	prev := e.prev
	for k, f := range e.f0 {
		prev[k] = 0
		dst[k] = h * f
	}
	for i := 1; i < n; i++ {
		e.eval(e.f, dst, float64(i)*h)
		for k, f := range e.f {
			prev[k], dst[k] = dst[k], prev[k]+2*h*f
		}
	}
	e.eval(e.f, dst, H)
	for k, f := range e.f {
		smooth[k] = (dst[k] + prev[k] + h*f) / 2
	}
	// The method gauge() estimates the stiffness from endX and endF.
	copy(e.endX, e.at)
	copy(e.endF, e.f)
}
