package progress

import (
	"context"
	"sync/atomic"
)

type pauseKey struct{}

// Pausing returns a copy of ctx that carries pause. A long computation calls pause()
// every few steps, from any of its goroutines. pause may block, so several computations
// can share a single thread by taking turns.
func Pausing(ctx context.Context, pause func()) context.Context {
	return context.WithValue(ctx, pauseKey{}, pause)
}

// Pause returns the function that was given to Pausing, or nil.
func Pause(ctx context.Context) func() {
	pause, _ := ctx.Value(pauseKey{}).(func())
	return pause
}

// A Stop tells whether a context has ended. Calling Ended costs less than calling
// ctx.Err. If the context comes from Pausing, each call of Ended also calls the function
// given to Pausing.
type Stop struct {
	ctx   context.Context
	pause func()
	ended atomic.Bool
}

// NewStop returns a Stop for ctx. Call release once the Stop is no longer needed.
func NewStop(ctx context.Context) (s *Stop, release func()) {
	s = &Stop{ctx: ctx, pause: Pause(ctx)}
	end := context.AfterFunc(ctx, func() { s.ended.Store(true) })
	if ctx.Err() != nil {
		s.ended.Store(true)
	}
	return s, func() { end() }
}

// Ended reports whether the context has ended.
func (s *Stop) Ended() bool {
	if s.pause != nil {
		s.pause()
		return s.ctx.Err() != nil // AfterFunc needs a thread
	}
	return s.ended.Load()
}
