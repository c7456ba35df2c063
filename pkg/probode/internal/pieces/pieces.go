// Package pieces runs independent pieces of work on all cores.
package pieces

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"github.com/probode/probode/pkg/probode"
)

// Each is a parallel loop over n independent pieces of work. The pieces are started in
// order. The argument `workers` is the number of goroutines; zero means the number of
// cores. Every goroutine calls begin() once, and uses the resulting function for all of
// its pieces. No two calls of begin() run at the same time, because begin() usually
// copies a shared value, and copying may change that value. After an error or a panic, or
// when ctx is done, no further piece is started. A panic becomes a *probode.PanicError.
// Each returns the index of the first piece that was not completed, and the error of the
// first piece that failed.
func Each(ctx context.Context, workers, n int, progress func(done, total int), begin func() func(i int) error) (int, error) {
	workers = cmp.Or(workers, runtime.GOMAXPROCS(0))
	workers = min(workers, n)
	inner, stop := context.WithCancel(ctx)
	defer stop()
	do := make([]func(int) error, workers)
	var one sync.Mutex
	start := func() func(int) error {
		one.Lock()
		defer one.Unlock()
		return begin()
	}
	done := 0
	var failed error
	err := probode.Ordered(inner, n, workers, func(w, i int) error {
		if do[w] == nil {
			do[w] = start()
		}
		err := do[w](i)
		if err != nil {
			stop()
		}
		return err
	}, func(err error) {
		switch {
		case failed != nil:
		case err != nil:
			failed = err
		default:
			done++
			if progress != nil && (done == n || done%max(1, n/200) == 0) {
				progress(done, n)
			}
		}
	})
	switch {
	case failed != nil:
		return done, failed
	case done < n && ctx.Err() != nil:
		return done, ctx.Err()
	}
	return done, err
}
