package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// A progress shows how far the program is: a bar that is drawn in place on a
// terminal, and a line for each finished experiment elsewhere.
type progress struct {
	w        *os.File
	terminal bool
	n, total int // experiments
	name     string
	start    time.Time
	drawn    time.Time
}

func newProgress(w *os.File, total int) *progress {
	info, err := w.Stat()
	return &progress{w: w, total: total, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"}
}

func (p *progress) begin(name string) {
	p.n++
	p.name, p.start, p.drawn = name, time.Now(), time.Time{}
	p.at(0, "")
}

// at shows that a share of the experiment is done, and what is being done.
func (p *progress) at(share float64, what string) {
	if !p.terminal || time.Since(p.drawn) < time.Second/10 {
		return
	}
	p.drawn = time.Now()
	const width = 24
	full := int(share * width)
	line := fmt.Sprintf("[%d/%d] %-10s %s%s %3.0f %%  %-22s %s", p.n, p.total, p.name,
		strings.Repeat("█", full), strings.Repeat("░", width-full), 100*share, what, time.Since(p.start).Round(time.Second))
	fmt.Fprintf(p.w, "\r\x1b[2K%s", line)
}

func (p *progress) end(what string) {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[2K")
	}
	fmt.Fprintf(p.w, "[%d/%d] %-10s %s, %s\n", p.n, p.total, p.name, what, time.Since(p.start).Round(time.Second/10))
}

// part returns a hook that fills the share of the bar from a to b.
func (p *progress) part(a, b float64, what string) func(done, total int) {
	return func(done, total int) {
		p.at(a+(b-a)*float64(done)/float64(max(1, total)), what)
	}
}
