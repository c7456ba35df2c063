package reference

// explicitSubsteps contains the number of substeps for each row. Of all increasing
// sequences of even numbers, the sequence 2, 4, 6, … requires the least work. With more
// than eight rows, the weights of the extrapolation would multiply rounding errors by
// factors in the hundreds.
var explicitSubsteps = []int{2, 4, 6, 8, 10, 12, 14, 16}

func (e *integration) newExplicit(run int) *rule {
	r := newRule(explicit, explicitSubsteps, run)
	sum := 1.0
	for j, n := range r.n {
		sum += float64(n)
		r.work[j] = sum
	}
	return r
}

// midpoint takes a step of length H with the midpoint rule in n substeps. The argument
// `dst` receives the increment of x. The argument `smooth` receives the increment after a
// final smoothing step (Gragg 1965). Since n is even, the errors of both increments have
// expansions in even powers of h.
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
	// gauge estimates the stiffness from endX and endF.
	copy(e.endX, e.at)
	copy(e.endF, e.f)
}
