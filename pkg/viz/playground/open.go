package playground

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var figures = map[string]kind{
	"calibration": {"problem", "fitzhugh-nagumo", "This cannot be computed", nil, newCalibration},
	"dragons":     {"", "", "This cannot be computed", nil, newDragons},
	"model":       {"text", lynx, "This is not possible", nil, newModel},
	"paths": {"problem", "fitzhugh-nagumo", "The solver finds no solution with these settings",
		[]string{"component", "show", "cut"}, newPaths},
	"posterior": {"problem", "fitzhugh-nagumo", "There are no draws", []string{"x", "y", "stop", "step"}, newPosterior},
	"step":      {"problem", "cubic", "The step cannot be shown", nil, newStep},
}

// Names returns the names of all figures.
func Names() []string { return slices.Sorted(maps.Keys(figures)) }

// Open returns a new Figure whose controls have their default values.
func Open(name string) (*Figure, error) {
	k, ok := figures[name]
	if !ok {
		return nil, fmt.Errorf("figure %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	f := &Figure{kind: k}
	f.content = k.make(f)
	return f, f.Set(nil)
}
