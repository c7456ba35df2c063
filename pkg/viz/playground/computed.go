package playground

import (
	"context"
	"errors"
	"slices"
	"time"
)

var errNoFiles = errors.New("this figure has no files")

// computed is a figure whose computation begins again whenever a knob moves on which it
// depends, or a button is pressed.
type computed struct {
	knobs
	work    *task
	list    func(problem string) knobs // the knobs with their usual values; nil if there is no such problem
	begin   func(ctx context.Context) error
	show    func(v *View) // adds charts and sentences
	failure string        // what it means that begin fails, in words
	ranged  []string      // knobs whose ranges depend on the problem
	drawn   []string      // knobs and buttons on which the computation does not depend
	problem string
	pressed string // the last button that was pressed, if any, in the last call to Set
}

// ready sets the knobs of a new figure to their default values and begins its computation.
func ready(f Figure) Figure {
	if err := f.Set(nil); err != nil {
		panic(err)
	}
	return f
}

func (f *computed) Controls() []Control { return f.knobs }
func (f *computed) Close()              { f.work.stop() }

func (f *computed) File(string) ([]byte, error) { return nil, errNoFiles }

func (f *computed) Set(values map[string]any) error {
	again, err := f.take(values)
	if again {
		f.work.stop()
		f.work = newTask(f.begin)
	}
	return err
}

// take gives the knobs new values. It reports whether the computation has to begin again.
func (f *computed) take(values map[string]any) (again bool, err error) {
	kept, name := f.values(), f.problem
	if v, ok := values["problem"].(string); ok && v != name && f.list(v) != nil {
		name = v
		delete(kept, "problem")
		for _, k := range f.ranged {
			delete(kept, k)
		}
	}
	next := f.list(name)
	if err := next.fill(values, kept); err != nil {
		return false, err
	}
	again, f.pressed = f.knobs == nil || name != f.problem, ""
	for i := range next {
		c := &next[i]
		moved := c.Kind == "button" && c.Value == true
		if moved {
			f.pressed, c.Value = c.Name, false
		}
		if !again && !slices.Contains(f.drawn, c.Name) {
			again = moved || c.Value != f.named(c.Name).Value
		}
	}
	f.knobs, f.problem = next, name
	return again, nil
}

func (f *computed) Advance(budget time.Duration) View {
	v := View{Done: f.work.advance(budget), Progress: 0.5, Numbers: map[string]float64{}}
	if v.Done {
		v.Progress = 1
		if f.work.err != nil {
			v.Says = []string{f.failure + ": " + f.work.err.Error() + "."}
		}
	}
	f.show(&v)
	return v
}
