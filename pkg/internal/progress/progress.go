// Package progress measures the speed of a computation, and shows its progress in a
// terminal.
package progress

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"
)

// A Meter measures the rate of a running computation, averaged over about the last ten
// seconds.
type Meter struct {
	begin, at time.Time
	done      int     // at that time
	sum, span float64 // work, and the seconds that it took, with exponentially fading weights
}

// NewMeter returns the meter of a computation that begins, or is resumed, at the given
// time. The argument `done` is the amount of work that a resumed computation has already
// done.
func NewMeter(at time.Time, done int) Meter { return Meter{begin: at, at: at, done: done} }

// Update records how much work is complete at the given time. Update returns the time
// since the beginning, the rate in units of work per second, and the remaining time at
// this rate. The rate and the remaining time are zero until they are known.
func (m *Meter) Update(at time.Time, done, total int) (elapsed time.Duration, rate float64, left time.Duration) {
	took := at.Sub(m.at).Seconds()
	fade := math.Exp(-took / 10)
	m.sum = fade*m.sum + float64(done-m.done)
	m.span = fade*m.span + took
	m.at, m.done = at, done
	if m.sum > 0 && (m.span > 0.2 || done == total) { // the first counts are too small for a rate
		rate = m.sum / m.span
		left = time.Duration(math.Min(float64(total-done)/rate, 1e9) * float64(time.Second)) // at most 30 years
	}
	return at.Sub(m.begin), rate, left
}

// Grouped rounds a positive number to three significant digits, and writes it with spaces
// as thousands separators.
func Grouped(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	digits := strconv.FormatFloat(math.Round(v/unit)*unit, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

// Span writes a duration in a suitable unit.
func Span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f d", d.Hours()/24)
}

// A Line shows the state of a long computation. In a terminal, the line is overwritten;
// in any other output, a new line is written every ten seconds.
type Line struct {
	w        io.Writer
	terminal bool
	next     time.Duration
}

// NewLine returns a Line that is written to w.
func NewLine(w io.Writer) *Line {
	l := &Line{w: w}
	if file, ok := w.(*os.File); ok {
		info, err := file.Stat()
		l.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	return l
}

// Show displays the state of the computation; the argument `elapsed` is the time since its
// beginning.
//
// A line that is wider than the terminal is cut off, because the next call would erase
// only the last row of a wrapped line. Show turns line wrapping off only during a write,
// because a killed process cannot turn wrapping on again.
func (l *Line) Show(elapsed time.Duration, state string) {
	switch {
	case l.terminal:
		fmt.Fprintf(l.w, "\r\x1b[2K\x1b[?7l%s\x1b[?7h", state)
	case elapsed >= l.next:
		fmt.Fprintln(l.w, state)
		l.next = elapsed + 10*time.Second
	}
}

// Erase removes the line.
func (l *Line) Erase() {
	if l.terminal {
		fmt.Fprint(l.w, "\r\x1b[2K")
	}
}
