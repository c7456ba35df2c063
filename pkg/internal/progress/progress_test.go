package progress

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestGroupedAndSpan(t *testing.T) {
	for v, want := range map[float64]string{99.96: "100", 999.6: "1 000", 1000: "1 000", 12: "12", 456: "456"} {
		if got := Grouped(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		1500 * time.Millisecond: "1.5 s", 90 * time.Second: "90 s", 10 * time.Minute: "10 min", 30 * time.Hour: "30.0 h", 72 * time.Hour: "3.0 d",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// The rate is that of the last seconds, and what is left follows from it.
func TestMeter(t *testing.T) {
	at, done := time.Unix(0, 0), 5000
	m := NewMeter(at, done)
	var elapsed, left time.Duration
	var rate float64
	for range 100 { // 10 s at 1000 a second, 5000 of an earlier run
		at, done = at.Add(100*time.Millisecond), done+100
		elapsed, rate, left = m.Update(at, done, 100000)
	}
	if math.Abs(rate-1000) > 1e-6 || elapsed != 10*time.Second || math.Abs(left.Seconds()-85) > 1e-6 {
		t.Errorf("%v, %v a second, %v left; want 1000 a second and 85 s left", elapsed, rate, left)
	}
	for range 600 { // a minute at 200 a second: the past counts e⁻⁶, 0.25 %
		at, done = at.Add(100*time.Millisecond), done+20
		_, rate, _ = m.Update(at, done, 100000)
	}
	if math.Abs(rate-200) > 5 {
		t.Errorf("%v a second, want 200", rate)
	}
}

// A screen is as much of a terminal as a line of progress needs.
type screen struct {
	rows  [][]rune
	wide  int
	col   int
	fixed bool // without wrapping
}

func (s *screen) Write(p []byte) (int, error) {
	row := func() *[]rune { return &s.rows[len(s.rows)-1] }
	for text := string(p); text != ""; {
		switch {
		case strings.HasPrefix(text, "\x1b[2K"):
			*row() = nil
			text = text[len("\x1b[2K"):]
			continue
		case strings.HasPrefix(text, "\x1b[?7l"), strings.HasPrefix(text, "\x1b[?7h"):
			s.fixed = text[len("\x1b[?7")] == 'l'
			text = text[len("\x1b[?7l"):]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		switch r {
		case '\r':
			s.col = 0
		case '\n':
			s.rows, s.col = append(s.rows, nil), 0
		default:
			if s.col == s.wide && s.fixed {
				s.col--
			} else if s.col == s.wide {
				s.rows, s.col = append(s.rows, nil), 0
			}
			*row() = append((*row())[:s.col], r)
			s.col++
		}
	}
	return len(p), nil
}

// A line that is wider than the terminal leaves nothing behind when it is written
// again, and the terminal wraps after each call, at which the process may be
// killed. An erased one is not shown at all.
func TestLineInTerminal(t *testing.T) {
	s := &screen{rows: make([][]rune, 1), wide: 40}
	l := &Line{w: s, terminal: true}
	const state = "42 % · 31 200 it/s · 2 min left · accepted 0.27 · R̂ 1.04 (theta3)"
	for i := range 3 {
		l.Show(time.Duration(i), state)
		if len(s.rows) != 1 || len(s.rows[0]) != 40 || s.fixed || !strings.HasPrefix(string(s.rows[0]), "42 % · 31 200 it/s · 2 min left · ") {
			t.Fatalf("the screen shows %q, wrapping off: %v", s.rows, s.fixed)
		}
	}
	l.Erase()
	if len(s.rows) != 1 || s.rows[0] != nil {
		t.Errorf("the screen shows %q after Erase", s.rows)
	}
}

// What is no terminal gets a line every ten seconds.
func TestLineInFile(t *testing.T) {
	var b bytes.Buffer
	l := NewLine(&b)
	for i := range 250 {
		l.Show(time.Duration(i)*100*time.Millisecond, "at "+time.Duration(i*1e8).String())
	}
	l.Erase()
	if got := b.String(); got != "at 0s\nat 10s\nat 20s\n" {
		t.Errorf("%q", got)
	}
}
