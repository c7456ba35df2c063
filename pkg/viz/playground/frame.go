package playground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Figure computes what a page shows for the values of its knobs.
type Figure interface {
	// Controls describes the knobs. The description of a knob may depend on the values of
	// other knobs.
	Controls() []Control

	// Set takes the values of some knobs by name, as encoding/json decodes them, and begins
	// the computation again. If a value is not allowed, nothing changes.
	Set(values map[string]any) error

	// Advance works for about the given time, and returns what there is to show.
	Advance(budget time.Duration) View

	// File returns the contents of a file that View.Files lists.
	File(name string) ([]byte, error)

	// Close ends all work of the Figure.
	Close()
}

// A Control is a knob.
type Control struct {
	Name    string   `json:"name"`
	Label   string   `json:"label"`
	Kind    string   `json:"kind"` // choice, range, log, integer, text, button or toggle
	Options []Option `json:"options,omitempty"`
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Step    float64  `json:"step"` // rows of a text, decades of a log
	Value   any      `json:"value"`
	Note    string   `json:"note,omitempty"` // shown below the knob
}

// An Option is one of the values of a choice.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// A View is what a Figure shows.
type View struct {
	Charts   []Chart            `json:"charts"`
	Says     []string           `json:"says"`     // the figure in words, also for a screen reader
	Progress float64            `json:"progress"` // from 0 to 1
	Done     bool               `json:"done"`     // Advance has nothing left to do
	Problems []Problem          `json:"problems,omitempty"`
	Files    []File             `json:"files,omitempty"`
	Numbers  map[string]float64 `json:"numbers,omitempty"` // unrounded numbers, for tests
}

// A Problem is a mistake in the text of a knob. Line and Column are counted from 1; 0
// means unknown.
type Problem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// A File can be downloaded.
type File struct {
	Name string `json:"name"`
	Type string `json:"type"` // media type
}

var figures = map[string]func() Figure{
	"calibration": newCalibration,
	"dragons":     newDragons,
	"model":       newModel,
	"paths":       newPaths,
	"posterior":   newPosterior,
	"step":        newStep,
}

// Names lists the figures.
func Names() []string { return slices.Sorted(maps.Keys(figures)) }

// Open returns a new figure whose knobs have their default values.
func Open(name string) (Figure, error) {
	f := figures[name]
	if f == nil {
		return nil, fmt.Errorf("figure %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return f(), nil
}

// A Page holds the open figures of a page.
type Page struct {
	open map[int]*shown
}

type shown struct {
	Figure
	controls []byte // as last sent
}

// A message is what the page sends.
type message struct {
	Do     string // open, set, advance, file or close
	ID     int
	Figure string
	Values map[string]any
	Budget float64 // milliseconds
	Name   string
}

// Answer returns the answer to a message of the page. Both are JSON texts. A mistake, or
// a panic of a figure, becomes an answer with the key error.
func (p *Page) Answer(text string) (answer string) {
	var m message
	reply := map[string]any{}
	defer func() {
		if v := recover(); v != nil {
			reply = map[string]any{"error": fmt.Sprintf("a fault in the program: %v", v)}
		}
		reply["id"] = m.ID
		b, err := json.Marshal(reply)
		if err != nil {
			b, _ = json.Marshal(map[string]any{"id": m.ID, "error": err.Error()})
		}
		answer = string(b)
	}()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		reply["error"] = err.Error()
	} else if err := p.do(&m, reply); err != nil {
		reply["error"] = err.Error()
	}
	return
}

// do carries out a message and fills the reply.
func (p *Page) do(m *message, reply map[string]any) error {
	f := p.open[m.ID]
	if m.Do == "open" {
		figure, err := Open(m.Figure)
		if err != nil {
			return err
		}
		if p.open == nil {
			p.open = map[int]*shown{}
		}
		if f != nil {
			f.Close()
		}
		f = &shown{Figure: figure}
		p.open[m.ID] = f
	}
	if f == nil {
		return fmt.Errorf("figure %d is not open", m.ID)
	}
	switch m.Do {
	case "open", "set":
		if len(m.Values) > 0 || m.Do == "set" {
			if err := f.Set(m.Values); err != nil {
				return err
			}
		}
		f.controls = nil // send them
	case "advance":
	case "file":
		content, err := f.File(m.Name)
		reply["name"], reply["content"] = m.Name, string(content)
		return err
	case "close":
		f.Close()
		delete(p.open, m.ID)
		return nil
	default:
		return fmt.Errorf("%q is not a message: want open, set, advance, file or close", m.Do)
	}
	budget := time.Duration(m.Budget * float64(time.Millisecond))
	if budget <= 0 {
		budget = 20 * time.Millisecond
	}
	v := f.Advance(budget)
	maps.DeleteFunc(v.Numbers, func(_ string, x float64) bool { return x-x != 0 })   // JSON has no infinity
	v.Says, v.Charts = append([]string{}, v.Says...), append([]Chart{}, v.Charts...) // [] in JSON, not null
	reply["view"] = v
	controls, err := json.Marshal(f.Controls())
	if !bytes.Equal(controls, f.controls) {
		f.controls = controls
		reply["controls"] = json.RawMessage(controls)
	}
	return err
}
