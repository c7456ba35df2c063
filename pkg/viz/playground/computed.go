package playground

import (
	"context"
	"errors"
	"time"
)

var errNoFiles = errors.New("this figure has no files")

// computed is a figure whose computation begins again whenever a knob moves.
type computed struct {
	knobs
	work    *task
	list    func(name string) knobs // the knobs with their usual values, for a problem
	begin   func(ctx context.Context) error
	show    func(v *View) // adds charts and sentences
	problem string
}

// The method open sets the knobs to their default values and begins the computation.
func (f *computed) open() {
	if err := f.Set(nil); err != nil {
		panic(err)
	}
}

func (f *computed) Controls() []Control { return f.knobs }
func (f *computed) Close()              { f.work.stop() }

func (f *computed) File(string) ([]byte, error) { return nil, errNoFiles }

func (f *computed) Set(values map[string]any) error {
	kept, name := f.values(), f.problem
	if v, ok := values["problem"].(string); ok && v != name && integrable[v].make != nil {
		name = v
		delete(kept, "problem")
		delete(kept, "h") // has another range
	}
	next := f.list(name)
	if err := next.fill(values, kept); err != nil {
		return err
	}
	f.work.stop()
	f.knobs, f.problem = next, name
	f.work = newTask(f.begin)
	return nil
}

func (f *computed) Advance(budget time.Duration) View {
	v := View{Done: f.work.advance(budget), Progress: 0.5, Numbers: map[string]float64{}}
	if v.Done {
		v.Progress = 1
		if f.work.err != nil {
			v.Says = []string{"This cannot be computed: " + f.work.err.Error() + "."}
		}
	}
	f.show(&v)
	return v
}
