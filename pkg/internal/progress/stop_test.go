package progress

import (
	"context"
	"testing"
	"time"
)

// A Stop notices the end of its context, at once where it pauses, and only until it is
// released.
func TestStop(t *testing.T) {
	paused := 0
	for _, base := range []context.Context{context.Background(), Pausing(context.Background(), func() { paused++ })} {
		ctx, cancel := context.WithCancel(base)
		s, release := NewStop(ctx)
		if s.Ended() {
			t.Fatal("ended before its context")
		}
		cancel()
		for end := time.Now().Add(10 * time.Second); !s.Ended(); {
			if Pause(ctx) != nil || time.Now().After(end) {
				t.Fatal("does not notice the end of its context")
			}
			time.Sleep(time.Millisecond)
		}
		release()
		if s, _ := NewStop(ctx); !s.Ended() {
			t.Error("does not notice a context that had ended before")
		}
	}
	if paused != 3 {
		t.Errorf("%d pauses, want one for each question", paused)
	}
}
