package nb

import (
	"fmt"
	"html"
	"os"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Progress shows a bar with the rate and the remaining time, and returns the
// hook that moves it: the Progress of this library's settings. The hook may be
// called from any goroutine and as often as one likes; the bar moves ten times
// a second. When the work is over, a line without times takes its place. A hook
// may be used for several pieces of work, one after the other.
func Progress(label string) func(done, total int) {
	b := newBar(label)
	return func(done, total int) { b.move(done, total, "") }
}

// Sampling is Progress for mcmc.Settings.Progress: the bar tells the rate, the
// remaining time, the acceptance and the worst R̂, and the line that takes its
// place at the end the iterations and the acceptance.
func Sampling(label string) func(mcmc.Progress) {
	b := newBar(label)
	return func(p mcmc.Progress) {
		text := p.String()
		if p.Ended || p.Done == p.Total {
			text = fmt.Sprintf("%d iterations", p.Done)
			if p.Stats.Proposed > 0 {
				text += fmt.Sprintf(", accepted %.2f", p.Stats.Rate())
			}
		}
		b.move(p.Done, p.Total, text)
	}
}

// watched returns the hook of work that nobody asked to see: its bar comes when the
// work has gone on for a second, and goes with it.
func watched(label string) progress.Hook {
	begin := time.Now()
	var b *bar
	return func(done, total int, doing string) {
		if b == nil {
			if done >= total || time.Since(begin) < time.Second {
				return
			}
			b = newBar(label)
			b.mu.Lock()
			b.passing = true
			b.mu.Unlock()
		}
		b.move(done, total, doing)
	}
}

func newBar(label string) *bar {
	now := time.Now()
	b := &bar{label: label, open: true, meter: progress.NewMeter(now, 0)}
	bars.Lock()
	bars.all = append(bars.all, b)
	b.id = fmt.Sprintf("probode-%d-%d-%d", os.Getpid(), now.UnixNano(), len(bars.all))
	bars.Unlock()
	pause()
	b.send(fmt.Sprintf("<progress></progress> %s", html.EscapeString(label)), label)
	return b
}

type bar struct {
	id, label string

	mu          sync.Mutex
	open        bool
	passing     bool // leaves nothing behind
	meter       progress.Meter
	last        time.Time
	done, total int
	detail      string // in the place of the counts, if not empty
}

var bars struct {
	sync.Mutex
	all []*bar
}

func (b *bar) move(done, total int, detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !b.open || total != b.total || done < b.done && done <= 1 {
		b.open, b.done = true, 0
		if b.total != 0 {
			b.meter = progress.NewMeter(now, 0)
		}
	}
	b.done, b.total, b.detail = max(b.done, done), total, detail
	if b.done >= b.total {
		b.finish()
		return
	}
	if now.Sub(b.last) < 100*time.Millisecond {
		return
	}
	b.last = now
	text := b.text()
	if _, rate, left := b.meter.Update(now, b.done, b.total); rate > 0 && detail == "" {
		text += fmt.Sprintf(", %s a second, %s left", number(rate), progress.Span(left))
	}
	b.send(fmt.Sprintf(`<progress value="%d" max="%d"></progress> %s`, b.done, b.total, html.EscapeString(text)), text)
}

// finish puts the last line in the place of the bar.
func (b *bar) finish() {
	if !b.open {
		return
	}
	b.open = false
	if b.passing {
		b.send("", "")
		synchronise()
		return
	}
	text := b.text()
	b.send(`<small style="color:#666">`+html.EscapeString(text)+`</small>`, text)
	synchronise()
}

func (b *bar) text() string {
	switch {
	case b.total == 0:
		return b.label
	case b.detail != "":
		return b.label + ": " + b.detail
	}
	return fmt.Sprintf("%s: %d of %d", b.label, b.done, b.total)
}

// closeBars finishes the bars of work that ended before its time.
func closeBars() {
	bars.Lock()
	defer bars.Unlock()
	for _, b := range bars.all {
		b.mu.Lock()
		b.finish()
		b.mu.Unlock()
	}
}

func (b *bar) send(html, text string) {
	send(bundle{protocol.MIMETextHTML: html, protocol.MIMETextPlain: text}, b.id)
}
