package playground

import "fmt"

// A View holds the charts, sentences and files that a Figure shows.
type View struct {
	Charts   []Chart            `json:"charts"`
	Says     []string           `json:"says"`     // the figure in words, also for a screen reader
	Progress float64            `json:"progress"` // from 0 to 1
	Done     bool               `json:"done"`     // Advance has nothing left to do
	Problems []Problem          `json:"problems,omitempty"`
	Files    []File             `json:"files,omitempty"`
	Numbers  map[string]float64 `json:"numbers,omitempty"` // unrounded numbers, for tests
}

// say adds a sentence to the View.
func (v *View) say(format string, values ...any) {
	v.Says = append(v.Says, fmt.Sprintf(format, values...))
}

// draw adds a chart to the View. The first chart has the width of the page, and the others
// share rows.
func (v *View) draw(id, title string, height int, x, y Axis, series ...Series) {
	v.Charts = append(v.Charts, Chart{ID: id, Title: title, Height: height, X: x, Y: y, Series: series})
}

// A Problem describes a mistake in text that the reader has entered. Line and Column are
// counted from 1; 0 means unknown.
type Problem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// A File is a file that the reader can download.
type File struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // media type
	content func() []byte
}
