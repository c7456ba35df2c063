package playground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// A Page holds the figures that are open on a web page.
type Page struct {
	open map[int]*Figure
}

type message struct {
	Do     string // open, set, advance, file or close
	ID     int
	Figure string
	Values map[string]any
	Budget float64 // milliseconds
	Name   string
}

// A reply has the controls if they have changed, or for "open" and "set".
type reply struct {
	ID       int             `json:"id"`
	Error    string          `json:"error,omitempty"`
	Try      string          `json:"try,omitempty"` // for "open"
	View     *View           `json:"view,omitempty"`
	Controls json.RawMessage `json:"controls,omitempty"`
	Name     string          `json:"name,omitempty"`    // of a file
	Content  any             `json:"content,omitempty"` // of a file, as a string
}

// Answer returns the reply to a message from the page. The message and the reply are
// encoded as JSON. After an error or a panic, the reply contains the key "error".
func (p *Page) Answer(text string) string {
	var m message
	r, err := reply{}, json.Unmarshal([]byte(text), &m)
	if err == nil {
		r, err = p.do(&m)
	}
	if err != nil {
		r = reply{Error: err.Error()}
	}
	r.ID = m.ID
	b, err := json.Marshal(r)
	if err != nil {
		b, _ = json.Marshal(reply{ID: m.ID, Error: err.Error()})
	}
	return string(b)
}

func (p *Page) do(m *message) (r reply, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a fault in the program: %v", v)
		}
	}()
	f := p.open[m.ID]
	if m.Do == "open" {
		figure, err := Open(m.Figure)
		if err != nil {
			return r, err
		}
		if f != nil {
			f.Close()
		}
		f = figure
		if p.open == nil {
			p.open = map[int]*Figure{}
		}
		p.open[m.ID] = f
		r.Try = f.try
	}
	if f == nil {
		return r, fmt.Errorf("figure %d is not open", m.ID)
	}
	switch m.Do {
	case "open", "set":
		if err := f.Set(m.Values); err != nil {
			return r, err
		}
		f.sent = nil
	case "advance":
	case "file":
		content, err := f.File(m.Name)
		return reply{Name: m.Name, Content: string(content)}, err
	case "close":
		f.Close()
		delete(p.open, m.ID)
		return r, nil
	default:
		return r, fmt.Errorf("%q is not a message: want open, set, advance, file or close", m.Do)
	}
	budget := 20 * time.Millisecond
	if m.Budget > 0 {
		budget = time.Duration(m.Budget * float64(time.Millisecond))
	}
	v := f.Advance(budget)
	r.View = &v
	controls, err := json.Marshal(f.knobs)
	if !bytes.Equal(controls, f.sent) {
		f.sent, r.Controls = controls, controls
	}
	return r, err
}
