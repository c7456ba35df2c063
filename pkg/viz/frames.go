package viz

import "fmt"

// Frames is a figure with a slider. The slider selects a value of a setting, and the
// figure for this value is shown. All figures have the same axes, so that they can be
// compared. The static picture shows one of the figures, and states the value of the
// setting for which this figure was made. The first figure determines the size and the
// number of columns of all figures.
type Frames struct {
	Label   string   // of the setting, for example "h"
	Names   []string // its values, one for each figure
	Figures []Figure // with the same number of panels each
	Show    int      // index of the figure that is shown first
}

func (f Frames) pages() ([]*page, int, error) {
	switch {
	case len(f.Figures) == 0:
		return nil, 0, fmt.Errorf("viz: the slider for %s has no frames", f.Label)
	case len(f.Names) != len(f.Figures):
		return nil, 0, fmt.Errorf("viz: the slider for %s has %d names and %d frames: want equal numbers", f.Label, len(f.Names), len(f.Figures))
	case f.Show < 0 || f.Show >= len(f.Figures):
		return nil, 0, fmt.Errorf("viz: the slider for %s starts at frame %d: want a number from 0 to %d", f.Label, f.Show, len(f.Figures)-1)
	}
	fs := make([]Figure, len(f.Figures))
	for i, g := range f.Figures {
		if g.Title != "" {
			g.Title += ", "
		}
		g.Title += f.name(i)
		g.Width, g.Height, g.Columns = f.Figures[0].Width, f.Figures[0].Height, f.Figures[0].Columns
		fs[i] = g
	}
	ps, err := layout(fs, slider)
	for i, p := range ps {
		p.note = fmt.Sprintf("Frame %d of %d: %s, from %s to %s", i+1, len(ps), f.name(i), f.Names[0], f.Names[len(ps)-1])
	}
	return ps, f.Show, err
}

func (f Frames) name(i int) string {
	if f.Label == "" {
		return f.Names[i]
	}
	return f.Label + " = " + f.Names[i]
}
