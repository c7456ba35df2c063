package nb

import (
	"fmt"
	"html"
	"os"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/internal/progress"
)

// A bar appears after a second, is updated ten times a second, and is removed at the end.
type bar struct {
	id, label string

	mu          sync.Mutex
	shown, over bool
	meter       progress.Meter
	begin, last time.Time
}

var bars struct {
	sync.Mutex
	all []*bar
}

// watched returns a hook for any goroutine.
func watched(label string) progress.Hook {
	now := time.Now()
	b := &bar{label: label, begin: now, meter: progress.NewMeter(now, 0)}
	bars.Lock()
	defer bars.Unlock()
	bars.all = append(bars.all, b)
	b.id = fmt.Sprintf("probode-%d-%d-%d", os.Getpid(), now.UnixNano(), len(bars.all))
	return b.move
}

func (b *bar) move(done, total int, doing string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case done >= total:
		b.end()
	case b.over || now.Sub(b.begin) < time.Second || now.Sub(b.last) < 100*time.Millisecond:
	default:
		if !b.shown {
			b.shown = true
			pause()
		}
		b.last = now
		text := b.label + ": " + doing
		if doing == "" {
			text = fmt.Sprintf("%s: %d of %d", b.label, done, total)
			if _, rate, left := b.meter.Update(now, done, total); rate > 0 {
				text += fmt.Sprintf(", %s a second, %s left", number(rate), progress.Span(left))
			}
		}
		b.send(fmt.Sprintf(`<progress value="%d" max="%d"></progress> %s`, done, total, html.EscapeString(text)), text)
	}
}

func (b *bar) end() {
	if b.shown && !b.over {
		b.send("", "")
		synchronise()
	}
	b.over = true
}

func closeBars() {
	bars.Lock()
	defer bars.Unlock()
	for _, b := range bars.all {
		b.mu.Lock()
		b.end()
		b.mu.Unlock()
	}
}

func (b *bar) send(html, text string) {
	send(bundle{protocol.MIMETextHTML: html, protocol.MIMETextPlain: text}, b.id)
}
