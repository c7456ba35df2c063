package playground

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Figure has controls, and produces charts and explanations from their values. The
// computation starts again whenever a button is pressed, or a control that affects the
// computation is changed.
type Figure struct {
	knobs
	kind
	content content
	work    *task
	pressed string // the button that was pressed last, if no other computation has begun since
	files   []File // of the last View
	sent    []byte // the controls as a Page has sent them last
}

type kind struct {
	try     string   // a suggestion for the reader
	leading string   // the knob that determines which other knobs there are, if any
	value   string   // of the leading knob
	failure string   // what it means that the computation fails, in words
	drawn   []string // knobs and buttons on which the computation does not depend
	make    func(f *Figure) content
}

type content interface {
	// controls returns all controls of the figure, with their default values. The argument
	// `value` is the value of the leading control, which determines the other controls. If
	// this value is not allowed, the result is nil. A figure without a leading control
	// ignores the argument `value`.
	controls(value string) knobs

	// compute computes all results, and runs as a task.
	compute(ctx context.Context) error

	// advance lets the task run for about the given time, and reports whether the
	// computation is complete. Most figures use advance of Figure.
	advance(budget time.Duration) (done bool)

	// show adds the results so far to a View.
	show(v *View)
}

// Set changes the controls whose names are the keys of the map `values`. The elements of
// this map have the types that encoding/json produces. If a value is not allowed, nothing
// changes.
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

// Advance continues the computation for approximately the time `budget`, and returns the
// results so far.
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

func (f *Figure) failed() bool { return f.work.ended() && f.work.err != nil }

// File returns the contents of a file that the latest View lists.
func (f *Figure) File(name string) ([]byte, error) {
	for _, file := range f.files {
		if file.Name == name {
			return file.content(), nil
		}
	}
	return nil, fmt.Errorf("%q cannot be downloaded: want one of the listed files", name)
}

// Close stops the computations of the Figure.
func (f *Figure) Close() { f.work.stop() }
