package assess

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
)

// Certificates are those of several settings of a solver, for one model.
type Certificates struct {
	Model     string
	Threshold float64
	All       []*Certificate // in the order asked for
	Enough    *Enough        // nil if it was not asked for
}

// String returns what is certified of each, and the numbers.
func (c Certificates) String() string {
	var b strings.Builder
	// The largest setting that is certified has the word, else the last.
	if len(c.All) > 0 {
		at := len(c.All) - 1
		for i, one := range c.All {
			if one.Certified(c.Threshold) {
				at = i
				break
			}
		}
		b.WriteString(c.All[at].Answer(c.Threshold) + "\n" + CertificateTable(c.All))
		fmt.Fprintf(&b, "reference: %v; modes:\n", c.All[0].Reference)
		for i, m := range c.All[at].Modes {
			if m.Moved < vanished {
				fmt.Fprintf(&b, "  %d  %s\n", i+1, format4(m.Theta))
			}
		}
	}
	if e := c.Enough; e != nil {
		b.WriteString("\n" + e.String())
	}
	return b.String()
}

// String returns the answer, and a table of what was tried.
func (e *Enough) String() string {
	var b strings.Builder
	if e.Found {
		fmt.Fprintf(&b, "Enough: %v, with shifts below %.2g sd and D below %.2g at 95 %% of %d points, modes included.\n", e.Solver, e.At.Shift, e.At.D, e.Draws)
		if e.At.Size == e.Levels[0].Size {
			b.WriteString("It is the largest that was tried.\n")
		}
	} else {
		b.WriteString("No setting that was tried is enough.\n")
	}
	if e.Lost > 0 {
		fmt.Fprintf(&b, "At %d further draws the reference failed.\n", e.Lost)
	}
	rows := [][]string{{"size", "D", "largest shift/sd", "enough"}}
	for _, l := range e.Levels {
		rows = append(rows, []string{fmt.Sprintf("%.4g", l.Size), number("%.3g", l.D), number("%.3g", l.Shift), map[bool]string{true: "yes", false: "no"}[l.Enough]})
	}
	b.WriteString(text.Table(rows, func(i int) bool { return false }))
	return b.String()
}

type (
	jsonCertificates struct {
		Format    string          `json:"format"`
		Version   int             `json:"version"`
		Model     string          `json:"model"`
		Threshold real            `json:"threshold"`
		Reference string          `json:"reference"`
		Steps     []jsonCertified `json:"steps"`
		Enough    *jsonEnough     `json:"enough"`
	}
	jsonCertified struct {
		H         real         `json:"h"`
		Tol       real         `json:"tol"`
		ATol      real         `json:"atol"`
		Method    string       `json:"method"`
		Certified bool         `json:"certified"`
		Modes     []jsonAtMode `json:"modes"`
		Seconds   real         `json:"seconds"`
	}
	jsonAtMode struct {
		Theta      map[string]real `json:"theta"`
		From       map[string]real `json:"from"`
		Moved      real            `json:"moved"`
		D          real            `json:"D"`
		Bound      real            `json:"bound"`
		Shift      map[string]real `json:"shift"`
		TV         real            `json:"total_variation"`
		KL         real            `json:"kullback_leibler"`
		ReferenceD real            `json:"reference_D"`
		Error      *string         `json:"error"`
	}
	jsonEnough struct {
		Found  bool        `json:"found"`
		H      real        `json:"h"`
		Tol    real        `json:"tol"`
		ATol   real        `json:"atol"`
		Draws  int         `json:"draws"`
		Levels []jsonLevel `json:"levels"`
	}
	jsonLevel struct {
		Size   real `json:"size"`
		D      real `json:"D"`
		Shift  real `json:"shift"`
		Enough bool `json:"enough"`
	}
)

// sizes returns what a program wants to know of s: numbers that have no meaning
// are null.
func (s Solver) sizes() (h, rtol, atol real) {
	h, rtol, atol = real(math.NaN()), real(math.NaN()), real(math.NaN())
	if s.controlled() {
		rtol = real(s.Tolerance.Relative)
		if len(s.Tolerance.Absolute) == 1 {
			atol = real(s.Tolerance.Absolute[0])
		}
	} else if s.StepSize > 0 {
		h = real(s.StepSize)
	}
	return h, rtol, atol
}

// WriteJSON writes the certificates for programs, as docs/json.md describes.
func (c Certificates) WriteJSON(w io.Writer) error {
	out := jsonCertificates{Format: "probode certify", Version: certificateVersion, Model: c.Model, Threshold: real(c.Threshold), Steps: []jsonCertified{}}
	for _, one := range c.All {
		out.Reference = one.Reference.String()
		j := jsonCertified{Method: fmt.Sprint(one.Coarse.Method), Certified: one.Certified(c.Threshold), Modes: []jsonAtMode{}, Seconds: real(one.Seconds)}
		j.H, j.Tol, j.ATol = one.Coarse.sizes()
		for _, m := range one.Modes {
			at := jsonAtMode{Theta: named(one.Names, m.Theta), From: named(one.Names, m.From), Moved: real(m.Moved), D: real(m.D), Bound: real(m.Bound),
				Shift: named(one.Params, m.Shift), TV: real(m.TV), KL: real(m.KL), ReferenceD: real(m.OwnD)}
			if m.Err != "" {
				at.Error = &m.Err
			}
			j.Modes = append(j.Modes, at)
		}
		out.Steps = append(out.Steps, j)
	}
	if e := c.Enough; e != nil {
		out.Enough = &jsonEnough{Found: e.Found, Draws: e.Draws, Levels: []jsonLevel{}}
		out.Enough.H, out.Enough.Tol, out.Enough.ATol = e.Solver.sizes()
		for _, l := range e.Levels {
			out.Enough.Levels = append(out.Enough.Levels, jsonLevel{real(l.Size), real(l.D), real(l.Shift), l.Enough})
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// named gives numbers the names of their parameters; those that are missing are
// null.
func named(names []string, x []float64) map[string]real {
	out := map[string]real{}
	for k, name := range names {
		out[name] = real(math.NaN())
		if k < len(x) {
			out[name] = real(x[k])
		}
	}
	return out
}
