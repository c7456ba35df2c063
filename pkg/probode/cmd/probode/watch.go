package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
)

// watch returns a context under which work that takes more than two seconds, such as
// the search for modes, shows itself in the terminal, as a line that goes when the work
// is over.
func watch(ctx context.Context, quiet bool) context.Context {
	if quiet {
		return ctx
	}
	return progress.With(ctx, func(label string) progress.Hook {
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
	})
}
