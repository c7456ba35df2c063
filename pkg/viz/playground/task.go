package playground

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
)

// A task is a computation in a separate goroutine. The goroutine of a task runs only
// during calls of advance() and stop(). The computation can pause whenever it calls
// rest() or a solver checks the context. Because of these pauses, the computation needs
// no thread of its own. During a pause, the caller of advance() may read values that the
// paused goroutine has written. At the start of a pause, other goroutines of the
// computation may continue for a moment.
type task struct {
	ctx    context.Context
	cancel context.CancelFunc
	turn   chan struct{} // a turn begins or ends
	done   chan struct{} // the work has ended
	err    error         // of the work, once it has ended

	pausing sync.Mutex // held during a pause, by one of the goroutines of the work
	until   time.Time  // the end of the turn
}

// newTask prepares a computation, which begins with the first call of advance().
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

// rest pauses the computation until the next call of advance(). If `now` is false and the
// current call of advance() has time left, rest() does nothing.
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

// advance lets the computation run for about the given time, and reports whether the
// computation has ended.
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

// ended reports whether the computation has ended, with or without an error.
func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// stop cancels the computation and waits until the computation has ended. If t is nil,
// stop() does nothing.
func (t *task) stop() {
	if t != nil {
		t.cancel()
		<-t.done
	}
}
