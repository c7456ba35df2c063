package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
)

// watch returns a context with which long computations, such as a search for modes, show
// their progress on standard error.
func watch(ctx context.Context, quiet bool) context.Context {
	if quiet {
		return ctx
	}
	return progress.With(ctx, display)
}

// display returns a hook that shows progress on standard error. After two seconds the
// hook writes a line. When `done` reaches `total`, the hook erases the line.
func display(label string) progress.Hook {
	line, begin := progress.NewLine(os.Stderr), time.Now()
	var mu sync.Mutex
	var next time.Duration
	return func(done, total int, doing string) {
		mu.Lock()
		defer mu.Unlock()
		elapsed := time.Since(begin)
		switch {
		case done >= total && next > 0:
			line.Erase()
		case done < total && elapsed > 2*time.Second && elapsed > next:
			state := fmt.Sprintf("%s: %d %%", label, 100*done/max(1, total))
			if doing != "" {
				state += ", " + doing
			}
			line.Show(elapsed, state)
			next = elapsed + 100*time.Millisecond
		}
	}
}

// stopped is an error that says how much of its work a command had done when it was
// interrupted.
type stopped string

func (s stopped) Error() string { return string(s) }

func (s stopped) Is(target error) bool { return target == context.Canceled }
