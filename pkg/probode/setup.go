package probode

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// A Setup says how a problem is solved: by which method, on which mesh, and with how much
// noise.
type Setup struct {
	Method Method

	// Mesh says how the steps are chosen. The mesh is Uniform, Through, Frozen, Adaptive,
	// reference.Accurate, or a mesh of your own.
	Mesh Mesh

	// Scaling says how the size of the noise depends on the step; the zero value is
	// ScaleDefault, which depends on the grid.
	Scaling Scaling

	// Alpha is the noise scale α ≥ 0, which multiplies the variance of the noise. A
	// calibrated Alpha is valid only for the Method, the Mesh and the Scaling with which
	// it was calibrated. With Alpha = 0 the method is the classical one.
	Alpha float64
}

// Equal reports whether s and t solve every problem in the same way.
func (s Setup) Equal(t Setup) bool { return reflect.DeepEqual(s, t) }

// Or returns a copy of s that takes a missing Mesh from t, and a missing Method if the
// Mesh is that of t or one of this package. Other meshes, such as reference.Accurate, may
// need no Method. The copy keeps the Alpha and the Scaling of s.
func (s Setup) Or(t Setup) Setup {
	_, grid := s.Mesh.(gridder)
	_, adaptive := s.Mesh.(Adaptive)
	if s.Method == nil && (s.Mesh == nil || grid || adaptive) {
		s.Method = t.Method
	}
	if s.Mesh == nil {
		s.Mesh = t.Mesh
	}
	return s
}

// StepSize returns the step size of a Uniform or Through mesh, and 0 for any other mesh.
func (s Setup) StepSize() float64 {
	switch m := s.Mesh.(type) {
	case Uniform:
		return float64(m)
	case Through:
		return float64(m)
	}
	return 0
}

// WithStepSize returns s with steps of size h. If s.Mesh has Through, the new Mesh is
// Through(h); otherwise it is Uniform(h).
func (s Setup) WithStepSize(h float64) Setup {
	if _, ok := s.Mesh.(Through); ok {
		s.Mesh = Through(h)
	} else {
		s.Mesh = Uniform(h)
	}
	return s
}

// A gridder is a Mesh whose method grid() computes the grid.
type gridder interface {
	Mesh
	grid(ctx context.Context, p *Problem, m Method, theta, times []float64) (*Grid, error)
}

// Bind returns a Path that solves p with the Setup s. The arguments are those of
// Mesh.Bind.
func (s Setup) Bind(ctx context.Context, p *Problem, at, times []float64) (Path, error) {
	if s.Mesh == nil {
		return nil, fmt.Errorf("%s: the mesh is nil: want a mesh such as Uniform(0.1)", p.Title())
	}
	return s.Mesh.Bind(ctx, s, p, at, times)
}

// Grid returns the grid on which s solves p. The grid depends on θ and, for some meshes,
// on the times at which the solution is needed. With ScaleLocal the grid stores the local
// errors of the classical path at θ. If a mesh chooses its steps anew for every θ, Grid
// returns the steps for the given θ. If there is no grid, the error says why.
func (s Setup) Grid(ctx context.Context, p *Problem, theta, times []float64) (*Grid, error) {
	if m, ok := s.Mesh.(gridder); ok {
		g, err := m.grid(ctx, p, s.Method, theta, times)
		if err != nil || s.Scaling != ScaleLocal {
			return g, err
		}
		return measured(ctx, p, s.Method, g, theta)
	}
	if theta == nil {
		theta = p.Theta
	}
	if err := p.foreseen(); err != nil {
		return nil, err
	}
	path, err := s.Bind(ctx, p, theta, times)
	if h, ok := path.(Holdable); ok && err == nil {
		path, err = h.Hold(ctx, theta)
	}
	if err != nil {
		return nil, err
	}
	g, ok := path.(Gridded)
	if !ok {
		return nil, fmt.Errorf("%s: %v has no grid: want a mesh such as Uniform(0.1) or Frozen", p.Title(), s.Mesh)
	}
	return g.Solver().Grid(), nil
}

// Solver returns a Solver of p with the Alpha and the Scaling of s, on the grid that Grid
// returns for the parameters `at`.
func (s Setup) Solver(ctx context.Context, p *Problem, at, times []float64) (*Solver, error) {
	g, err := s.Grid(ctx, p, at, times)
	if err != nil {
		return nil, err
	}
	solver, err := NewSolver(p, s.Method, g, s.Alpha)
	if err != nil {
		return nil, err
	}
	if s.Scaling != ScaleDefault {
		if err := solver.SetScaling(s.Scaling, at); err != nil {
			return nil, err
		}
	}
	return solver, nil
}

// bindGrid replaces the mesh of the Setup s by m, and returns a Path on the resulting
// grid.
func bindGrid(ctx context.Context, m gridder, s Setup, p *Problem, at, times []float64) (Path, error) {
	s.Mesh = m
	solver, err := s.Solver(ctx, p, at, times)
	if err != nil {
		return nil, err
	}
	path, err := newGridPath(solver, times)
	if err != nil {
		return nil, err
	}
	return path, nil
}

// measured returns a grid that also contains the local errors of the classical path at θ.
// If g already contains local errors, the function returns g. If g contains no local
// errors, the function solves p to estimate them. The function returns an error if the
// solve fails.
func measured(ctx context.Context, p *Problem, m Method, g *Grid, theta []float64) (*Grid, error) {
	if g.local != nil {
		return g, nil
	}
	theta, err := p.Parameters(theta)
	if err != nil {
		return nil, err
	}
	s, err := NewSolver(p, m, g, 0)
	if err != nil {
		return nil, err
	}
	defer s.Bind(ctx)()
	if err := s.SetScaling(ScaleLocal, theta); err != nil {
		return nil, err
	}
	c := *g.clone()
	c.local = s.local
	return &c, nil
}

// String returns the setup in a few words, such as "AM1 (current), h = 0.1, α = 0.2".
func (s Setup) String() string {
	var words []string
	if s.Method != nil {
		words = append(words, s.Method.String())
	}
	if s.Mesh != nil {
		words = append(words, s.Mesh.String())
	}
	if s.Alpha != 0 {
		words = append(words, fmt.Sprintf("α = %g", s.Alpha))
	}
	if s.Scaling != ScaleDefault {
		words = append(words, s.Scaling.String())
	}
	return strings.Join(words, ", ")
}

// MarshalJSON writes the names of the method and of the mesh instead of their fields.
func (s Setup) MarshalJSON() ([]byte, error) {
	out := struct {
		Method  string  `json:"method,omitempty"`
		Mesh    string  `json:"mesh,omitempty"`
		Scaling string  `json:"scaling,omitempty"`
		Alpha   float64 `json:"alpha"`
	}{Alpha: s.Alpha}
	if s.Method != nil {
		out.Method = s.Method.String()
	}
	if s.Mesh != nil {
		out.Mesh = s.Mesh.String()
	}
	if s.Scaling != ScaleDefault {
		out.Scaling = s.Scaling.String()
	}
	return json.Marshal(out)
}

// A Mesh says how the steps of a Setup are chosen. Uniform, Through, Frozen, Adaptive,
// Fixed and reference.Accurate are meshes. You can also define a mesh of your own.
type Mesh interface {
	// Bind returns a Path that solves p with s. The argument `times` holds the times at
	// which states are needed; if the mesh has a grid, nil stands for all grid points.
	// The argument `at` is the θ at which the grid is frozen and local errors are
	// measured; nil stands for the nominal θ. Bind can be slow, so call it once, and give
	// each additional goroutine a clone of the Path.
	Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error)

	// String describes the mesh in a few words, such as "h = 0.1".
	String() string
}
