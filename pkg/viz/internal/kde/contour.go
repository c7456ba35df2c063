package kde

import "math"

// Contour returns the curves on which the density equals level, as closed polylines that
// are separated by NaN. The curves are found by marching squares with linear
// interpolation along the edges of the cells. Beyond the grid the density is taken to be
// zero, so that all curves are closed. Contour panics if level is not positive.
func (g Surface) Contour(level float64) (x, y []float64) {
	if !(level > 0) {
		panic("kde: the level of a contour is not positive")
	}
	t := tracer{g: g, level: level, next: map[edge][]edge{}}
	nx, ny := len(g.X), len(g.Y)
	for j := -1; j < ny; j++ {
		for i := -1; i < nx; i++ {
			t.cell(i, j)
		}
	}
	// Join the segments into polylines. The polylines are in the order in which the cells
	// were visited, and not in the random order of the elements of a map.
	for _, start := range t.order {
		first := true
		for at := start; ; {
			out := t.next[at]
			if len(out) == 0 {
				break
			}
			if first {
				if len(x) > 0 {
					x, y = append(x, math.NaN()), append(y, math.NaN())
				}
				px, py := t.point(at)
				x, y = append(x, px), append(y, py)
				first = false
			}
			t.next[at] = out[1:]
			at = out[0]
			px, py := t.point(at)
			x, y = append(x, px), append(y, py)
		}
	}
	return x, y
}

type edge struct {
	i, j int
	up   bool
}

type tracer struct {
	g     Surface
	level float64
	order []edge          // where segments start, in the order found
	next  map[edge][]edge // where they lead
}

func (t *tracer) z(i, j int) float64 {
	if i < 0 || j < 0 || i >= len(t.g.X) || j >= len(t.g.Y) {
		return 0
	}
	return t.g.Z[j*len(t.g.X)+i]
}

// cell directs segments with the higher density on their left. A point at the level
// counts as above it.
func (t *tracer) cell(i, j int) {
	sw, se, nw, ne := t.z(i, j), t.z(i+1, j), t.z(i, j+1), t.z(i+1, j+1)
	above := 0
	for k, v := range [4]float64{sw, se, ne, nw} {
		if v >= t.level {
			above |= 1 << k
		}
	}
	if above == 0 || above == 15 {
		return
	}
	s, n := edge{i, j, false}, edge{i, j + 1, false}
	w, e := edge{i, j, true}, edge{i + 1, j, true}
	add := func(from, to edge) {
		t.order = append(t.order, from)
		t.next[from] = append(t.next[from], to)
	}
	switch above {
	case 1: // sw
		add(s, w)
	case 2: // se
		add(e, s)
	case 3:
		add(e, w)
	case 4: // ne
		add(n, e)
	case 6:
		add(n, s)
	case 7:
		add(n, w)
	case 8: // nw
		add(w, n)
	case 9:
		add(s, n)
	case 11:
		add(e, n)
	case 12:
		add(w, e)
	case 13:
		add(s, e)
	case 14:
		add(w, s)
	case 5, 10:
		// At a saddle, the mean of the densities at the four corners decides whether the
		// two corners with higher density are connected.
		joined := (sw+se+ne+nw)/4 >= t.level
		switch {
		case above == 5 && joined:
			add(s, e)
			add(n, w)
		case above == 5:
			add(s, w)
			add(n, e)
		case joined:
			add(w, s)
			add(e, n)
		default:
			add(e, s)
			add(w, n)
		}
	}
}

func (t *tracer) point(e edge) (x, y float64) {
	i, j := e.i, e.j
	if e.up {
		j++
	} else {
		i++
	}
	a, b := t.z(e.i, e.j), t.z(i, j)
	f := (t.level - a) / (b - a)
	x0, y0 := t.at(e.i, e.j)
	x1, y1 := t.at(i, j)
	return x0 + f*(x1-x0), y0 + f*(y1-y0)
}

// at accepts indices one step outside the grid.
func (t *tracer) at(i, j int) (x, y float64) {
	return t.g.X[0] + float64(i)*(t.g.X[1]-t.g.X[0]), t.g.Y[0] + float64(j)*(t.g.Y[1]-t.g.Y[0])
}
