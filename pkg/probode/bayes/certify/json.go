package certify

import (
	"io"

	"github.com/probode/probode/pkg/internal/jsonfile"
	"github.com/probode/probode/pkg/probode"
)

// Certificates is a collection of certificates of several setups for one model, to be
// displayed together.
type Certificates struct {
	Model     string
	Threshold float64
	All       []*Certificate // certificates in the requested order
	Enough    *Enough        // nil if it was not requested
}

// jsonVersion is increased whenever a name in docs/json.md is removed or changes its
// meaning.
const jsonVersion = 1

// WriteJSON writes the certificates in the JSON format that docs/json.md describes.
func (c Certificates) WriteJSON(w io.Writer) error {
	type object = jsonfile.Object
	reference, enough := "", any(nil)
	if len(c.All) > 0 {
		reference = c.All[0].Reference
	}
	if e := c.Enough; e != nil {
		enough = object{"found", e.Found, "h", jsonfile.OrNull(e.StepSize), "tol", jsonfile.OrNull(e.Tolerance.Relative), "atol", absolute(e.Tolerance), "draws", e.Draws,
			"levels", jsonfile.List(len(e.Levels), func(i int) object {
				l := e.Levels[i]
				return object{"size", l.Size, "D", l.D, "shift", l.Shift, "enough", l.Enough, "phantom", l.Phantom != nil}
			})}
	}
	return object{
		"format", "probode certify", "version", jsonVersion, "model", c.Model, "threshold", c.Threshold, "reference", reference,
		"steps", jsonfile.List(len(c.All), func(i int) object {
			one := c.All[i]
			return object{"h", jsonfile.OrNull(one.StepSize), "tol", jsonfile.OrNull(one.Tolerance.Relative), "atol", absolute(one.Tolerance), "method", one.Method, "certified", one.Certified(c.Threshold),
				"modes", jsonfile.List(len(one.Modes), one.jsonMode), "seconds", one.Seconds}
		}),
		"enough", enough,
	}.Write(w)
}

func (c *Certificate) jsonMode(i int) jsonfile.Object {
	m := &c.Modes[i]
	return jsonfile.Object{"theta", jsonfile.Named(c.Names, m.Theta), "from", jsonfile.Named(c.Names, m.From), "moved", m.Moved, "D", m.D, "bound", m.Bound,
		"shift", jsonfile.Named(c.Params, m.Shift), "total_variation", m.TV, "kullback_leibler", m.KL, "reference_D", m.OwnD, "where", jsonfile.Named(c.Names, m.Where), "difference", m.Differ, "unsolved", jsonfile.Named(c.Names, m.Unsolved), "error", jsonfile.OrNull(m.Err)}
}

// absolute returns nil unless the tolerance is the same for all components.
func absolute(t probode.Tolerance) any {
	if len(t.Absolute) != 1 {
		return nil
	}
	return t.Absolute[0]
}
