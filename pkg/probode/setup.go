package probode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// A Setup says how a problem is solved: by which method, on which mesh, and with
// how much noise. It is plain data: copy it and change a field to have another one.
type Setup struct {
	Method Method

	// Mesh says how the steps are chosen: Uniform, Through, Frozen, Adaptive,
	// reference.Accurate, or one of your own.
	Mesh Mesh

	// Scaling says how the size of the noise depends on the step; zero is the
	// default of the grid, see ScaleDefault.
	Scaling Scaling

	// Alpha is the noise scale α ≥ 0, which multiplies a variance. It is calibrated
	// for the Method, the Mesh and the Scaling; 0 is the classical method.
	Alpha float64
}

// Equal reports whether s and t solve every problem alike.
func (s Setup) Equal(t Setup) bool { return reflect.DeepEqual(s, t) }

// StepSize returns the size h of the steps of a Uniform or Through mesh, and 0 for
// any other.
func (s Setup) StepSize() float64 {
	switch m := s.Mesh.(type) {
	case Uniform:
		return float64(m)
	case Through:
		return float64(m)
	}
	return 0
}

// WithStepSize returns s with steps of size h: through the times of the data if those
// of s go through them, and Uniform otherwise.
func (s Setup) WithStepSize(h float64) Setup {
	if _, ok := s.Mesh.(Through); ok {
		s.Mesh = Through(h)
	} else {
		s.Mesh = Uniform(h)
	}
	return s
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

// MarshalJSON writes the method and the mesh by their names.
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
