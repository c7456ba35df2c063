package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
)

func watch(ctx context.Context, quiet bool) context.Context {
	if quiet {
		return ctx
	}
	return progress.With(ctx, display)
}

// display writes a line after two seconds, and erases it when all is done.
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

// counted displays only how much is done.
func counted(label string) func(done, total int) {
	show := display(label)
	return func(done, total int) { show(done, total, "") }
}

type stopped string

func (s stopped) Error() string { return string(s) }

func (s stopped) Is(target error) bool { return target == context.Canceled }
