package probode

import (
	"context"
	"fmt"
)

// Uniform is the Mesh with steps of size h. Events divide the span into segments. If the
// length of a segment is not a multiple of h, the segment is divided into equal steps
// shorter than h. On a problem without events, Grid.String gives the actual size of the
// steps. The states at the observation times are interpolated. If events lie close
// together, use Through, which needs no interpolation.
type Uniform float64

func (h Uniform) grid(_ context.Context, p *Problem, _ Method, theta, _ []float64) (*Grid, error) {
	return UniformGrid(p, theta, float64(h))
}

// Bind makes the grid.
func (h Uniform) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, h, s, p, at, times)
}

func (h Uniform) String() string { return fmt.Sprintf("h = %g", float64(h)) }

// Through is the Mesh whose steps end at the observation times and at events. Between two
// consecutive times of observations or events, the steps have equal length, which is at
// most the given size.
type Through float64

func (h Through) grid(_ context.Context, p *Problem, _ Method, theta, times []float64) (*Grid, error) {
	return gridThrough(p, theta, times, float64(h))
}

// Bind makes the grid.
func (h Through) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, h, s, p, at, times)
}

func (h Through) String() string { return fmt.Sprintf("h ≤ %g, through the times", float64(h)) }

// Fixed is the Mesh with the steps of a given grid.
type Fixed struct{ *Grid }

func (f Fixed) grid(context.Context, *Problem, Method, []float64, []float64) (*Grid, error) {
	return f.Grid, nil
}

// Bind returns a Path on the grid.
func (f Fixed) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, f, s, p, at, times)
}
