package playground

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
)

// A task is work in a goroutine of its own, which runs only while advance waits for it.
// The work pauses wherever a solver checks whether its context has ended, and wherever it
// calls rest. So it needs no thread of its own. While it pauses, the goroutine that
// called advance may read what the pausing goroutine has written. Other goroutines of
// the work may still run for a moment.
type task struct {
	ctx    context.Context
	cancel context.CancelFunc
	turn   chan struct{} // a turn begins or ends
	done   chan struct{} // the work has ended
	err    error         // of the work, once it has ended

	pausing sync.Mutex // held during a pause, by one of the goroutines of the work
	until   time.Time  // the end of the turn
}

// newTask prepares work that begins with the first call to advance.
func newTask(work func(ctx context.Context) error) *task {
	t := &task{turn: make(chan struct{}), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(t.done)
		defer func() {
			if v := recover(); v != nil {
				t.err = fmt.Errorf("a fault in the program: %v", v)
			}
		}()
		if t.wait(); t.ctx.Err() == nil {
			t.err = work(progress.Pausing(t.ctx, func() { t.rest(false) }))
		}
	}()
	return t
}

// rest ends the turn if its time is over or if the argument now is true, and waits for
// the next one.
func (t *task) rest(now bool) {
	t.pausing.Lock()
	defer t.pausing.Unlock()
	if !now && time.Now().Before(t.until) {
		return
	}
	select {
	case t.turn <- struct{}{}:
		t.wait()
	case <-t.ctx.Done():
	}
}

func (t *task) wait() {
	select {
	case <-t.turn:
	case <-t.ctx.Done():
	}
}

// advance lets the work run for about the given time, and reports whether it has ended.
func (t *task) advance(budget time.Duration) (ended bool) {
	t.until = time.Now().Add(budget)
	select {
	case t.turn <- struct{}{}:
	case <-t.done:
		return true
	}
	select {
	case <-t.turn:
		return false
	case <-t.done:
		return true
	}
}

// ended reports whether the work has ended, with or without an error.
func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// stop cancels the work and waits for its end. A nil task has ended.
func (t *task) stop() {
	if t != nil {
		t.cancel()
		<-t.done
	}
}
