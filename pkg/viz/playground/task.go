package playground

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
)

// A task runs in a goroutine only during calls of advance and stop, and pauses when it
// calls rest or a solver checks the context, so that it needs no thread of its own. In a
// pause the caller may read what the task has written. Other goroutines of it may
// continue for a moment.
type task struct {
	ctx    context.Context
	cancel context.CancelFunc
	turn   chan struct{} // a turn begins or ends
	done   chan struct{} // the work has ended
	err    error         // of the work, once it has ended

	pausing sync.Mutex // held during a pause, by one of the goroutines of the work
	until   time.Time  // the end of the turn
}

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

// rest does nothing if advance has time left, unless it is `now`.
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

func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (t *task) stop() {
	if t != nil {
		t.cancel()
		<-t.done
	}
}
