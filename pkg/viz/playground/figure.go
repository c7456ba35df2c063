package playground

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Figure has knobs, and computes what a page shows for their values. The computation
// begins again whenever a knob moves on which it depends, or a button is pressed.
type Figure struct {
	knobs
	kind
	content content
	work    *task
	pressed string // the button that was pressed last, if no other computation has begun since
	files   []File // of the last View
	sent    []byte // the controls as a Page has sent them last
}

// A kind says what figures with the same name have in common.
type kind struct {
	leading string   // the knob that determines which other knobs there are, if any
	value   string   // of the leading knob
	failure string   // what it means that the computation fails, in words
	drawn   []string // knobs and buttons on which the computation does not depend
	make    func(f *Figure) content
}

// A content is what a figure computes and shows.
type content interface {
	// controls returns the knobs with their usual values for a value of the leading knob,
	// or nil if that value is not allowed.
	controls(value string) knobs

	// compute runs as a task.
	compute(ctx context.Context) error

	// advance lets the task run for about the given time, and reports whether there is
	// nothing left to do. A Figure has this method.
	advance(budget time.Duration) (done bool)

	// show adds what there is to a View.
	show(v *View)
}

// figures holds the kinds of figures by name.
var figures = map[string]kind{
	"calibration": {"problem", "fitzhugh-nagumo", "This cannot be computed", nil, newCalibration},
	"dragons":     {"", "", "This cannot be computed", nil, newDragons},
	"model":       {"text", lynx, "This is not possible", nil, newModel},
	"paths": {"problem", "fitzhugh-nagumo", "The solver finds no solution with these settings",
		[]string{"component", "show", "cut"}, newPaths},
	"posterior": {"problem", "fitzhugh-nagumo", "There are no draws", []string{"x", "y", "stop", "step"}, newPosterior},
	"step":      {"problem", "cubic", "The step cannot be shown", nil, newStep},
}

// Names lists the figures.
func Names() []string { return slices.Sorted(maps.Keys(figures)) }

// Open returns a new Figure whose knobs have their default values.
func Open(name string) (*Figure, error) {
	k, ok := figures[name]
	if !ok {
		return nil, fmt.Errorf("figure %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	f := &Figure{kind: k}
	f.content = k.make(f)
	return f, f.Set(nil)
}

// Controls describes the knobs. The description of a knob may depend on the values of
// other knobs.
func (f *Figure) Controls() []Control { return f.knobs }

// Set takes the values of some knobs by name, as encoding/json decodes them. If a value is
// not allowed, nothing changes.
func (f *Figure) Set(values map[string]any) error {
	value, _ := values[f.leading].(string)
	next := f.content.controls(value)
	if next == nil {
		value = f.value
		next = f.content.controls(value)
	}
	if err := next.fill(values, f.knobs); err != nil {
		return err
	}
	pressed, again := "", f.work == nil || value != f.value
	for i := range next {
		c := &next[i]
		moved := c.Kind == "button" && c.Value == true
		if moved {
			pressed, c.Value = c.Name, false
		}
		if !again && !slices.Contains(f.drawn, c.Name) {
			again = moved || c.Value != f.named(c.Name).Value
		}
	}
	if again {
		f.work.stop()
		f.work = newTask(f.content.compute)
	}
	if again || pressed != "" {
		f.pressed = pressed
	}
	f.knobs, f.value = next, value
	return nil
}

// Advance works for about the given time, and returns what there is to show.
func (f *Figure) Advance(budget time.Duration) View {
	v := View{Charts: []Chart{}, Says: []string{}, Progress: 0.5, Numbers: map[string]float64{}}
	v.Done = f.content.advance(budget)
	if f.work.ended() {
		v.Progress = 1
	}
	if f.failed() {
		v.say("%s: %v.", f.failure, f.work.err)
	}
	f.content.show(&v)
	maps.DeleteFunc(v.Numbers, func(_ string, x float64) bool { return x-x != 0 }) // JSON has no infinity
	f.files = v.Files
	return v
}

func (f *Figure) advance(budget time.Duration) (done bool) { return f.work.advance(budget) }

// failed reports whether the computation has ended with an error.
func (f *Figure) failed() bool { return f.work.ended() && f.work.err != nil }

// File returns the contents of a file that the last View lists.
func (f *Figure) File(name string) ([]byte, error) {
	for _, file := range f.files {
		if file.Name == name {
			return file.content(), nil
		}
	}
	return nil, fmt.Errorf("%q is not one of the files that can be downloaded now", name)
}

// Close ends all work of the Figure.
func (f *Figure) Close() { f.work.stop() }

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

// say adds a sentence.
func (v *View) say(format string, values ...any) {
	v.Says = append(v.Says, fmt.Sprintf(format, values...))
}

// draw adds a chart that shares its row with others.
func (v *View) draw(id, title string, height int, x, y Axis, series ...Series) {
	v.Charts = append(v.Charts, Chart{ID: id, Title: title, Height: height, X: x, Y: y, Series: series})
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
	Name    string `json:"name"`
	Type    string `json:"type"` // media type
	content func() []byte
}
