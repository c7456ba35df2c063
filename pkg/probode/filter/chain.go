package filter

type chain struct {
	*block
	points   []point
	memory   []float64 // contains the numbers of all points: see keep
	smoothed []float64 // contains the beliefs of all points
	next     link      // that of the next point
}

type point struct {
	index           int     // of the grid point
	h, sigma        float64 // length and noise of the step to this point; h is 0 after an event
	rows, rest      int     // see block and link
	first, smoothed int     // where its numbers begin
}

func (c *chain) reserve(n int, linked bool) {
	rows := len(c.z) - c.w
	size := len(c.z)*(1+rows) + len(c.hjac) + c.w
	if linked {
		size += rows + 2*rows*rows
	}
	c.points, c.memory = make([]point, 0, n), make([]float64, 0, n*size)
}

func (c *chain) keep(p point) {
	p.rows, p.rest, p.first = c.rows, c.next.rest, len(c.memory)
	c.points = append(c.points, p)
	memory := append(c.memory, c.z...)
	memory = append(memory, c.r[:len(c.z)*c.rows]...)
	memory = append(memory, c.hjac...)
	memory = append(memory, c.white...)
	memory = append(memory, c.next.drift...)
	c.memory = append(memory, c.next.a...)
}

func (c *chain) recall(i int) {
	p := &c.points[i]
	c.rows = p.rows
	own := c.memory[p.first:]
	copy(c.r[:len(c.z)*c.rows], own[copy(c.z, own):])
}

func (c *chain) residual(i int) []float64 {
	p := &c.points[i]
	return c.memory[p.first+len(c.z)*(1+p.rows)+len(c.hjac):][:c.w]
}

func (c *chain) stored(i int) link {
	p, before := &c.points[i], c.points[i-1].rows
	own := c.memory[p.first+len(c.z)*(1+p.rows)+len(c.hjac)+c.w:]
	return link{before: before, after: p.rows, rest: p.rest, drift: own[:before], a: own[before:][:before*(p.rows+p.rest)]}
}

// link is u = drift/s + Aᵀ(v, w) for the normal variates u before a step or an event: v
// are those after it, and w have no effect after it. The drift follows from the residual
// and, for DALTON, from the data. The error of z is s Rᵀu, s = κ unit^{q+1/2}.
type link struct {
	before, after, rest int       // lengths of u, v and w
	a                   []float64 // A, by columns
	drift               []float64
}
