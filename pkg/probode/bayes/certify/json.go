package certify

import (
	"fmt"
	"io"
	"math"

	"github.com/probode/probode/pkg/internal/jsonfile"
)

// Certificates are the certificates of several settings of a solver, for one model.
type Certificates struct {
	Model     string
	Threshold float64
	All       []*Certificate // in the order asked for
	Enough    *Enough        // nil if it was not asked for
}

// jsonVersion grows when a name of docs/json.md goes or changes its meaning.
const jsonVersion = 1

// WriteJSON writes the certificates for programs, as docs/json.md describes.
func (c Certificates) WriteJSON(w io.Writer) error {
	type object = jsonfile.Object
	reference, enough := "", any(nil)
	if len(c.All) > 0 {
		reference = c.All[0].Reference.String()
	}
	if e := c.Enough; e != nil {
		h, rtol, atol := e.Solver.Sizes()
		enough = object{"found", e.Found, "h", h, "tol", rtol, "atol", atol, "draws", e.Draws,
			"levels", jsonfile.List(len(e.Levels), func(i int) object {
				l := e.Levels[i]
				return object{"size", l.Size, "D", l.D, "shift", l.Shift, "enough", l.Enough}
			})}
	}
	return object{
		"format", "probode certify", "version", jsonVersion, "model", c.Model, "threshold", c.Threshold, "reference", reference,
		"steps", jsonfile.List(len(c.All), func(i int) object {
			one := c.All[i]
			h, rtol, atol := one.Coarse.Sizes()
			return object{"h", h, "tol", rtol, "atol", atol, "method", fmt.Sprint(one.Coarse.Method), "certified", one.Certified(c.Threshold),
				"modes", jsonfile.List(len(one.Modes), one.jsonMode), "seconds", one.Seconds}
		}),
		"enough", enough,
	}.Write(w)
}

func (c *Certificate) jsonMode(i int) jsonfile.Object {
	m := &c.Modes[i]
	var err any
	if m.Err != "" {
		err = m.Err
	}
	return jsonfile.Object{"theta", jsonfile.Named(c.Names, m.Theta), "from", jsonfile.Named(c.Names, m.From), "moved", m.Moved, "D", m.D, "bound", m.Bound,
		"shift", jsonfile.Named(c.Params, m.Shift), "total_variation", m.TV, "kullback_leibler", m.KL, "reference_D", m.OwnD, "error", err}
}

// Sizes returns the step size and both tolerances; NaN for what the solver does not use.
func (s Solver) Sizes() (h, rtol, atol float64) {
	h, rtol, atol = math.NaN(), math.NaN(), math.NaN()
	if s.Controlled() {
		rtol = s.Tolerance.Relative
		if len(s.Tolerance.Absolute) == 1 {
			atol = s.Tolerance.Absolute[0]
		}
	} else if s.StepSize > 0 {
		h = s.StepSize
	}
	return h, rtol, atol
}
