package model

import (
	"context"
	"sync"
)

// each calls do for every part, on several goroutines, and progress behind each. It returns the error of
// the first part that has one.
func (l *Likelihood) each(ctx context.Context, do func(ctx context.Context, i int) error, progress func(done, total int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mutex      sync.Mutex
		group      sync.WaitGroup
		next, done int
		errs       = make([]error, len(l.parts))
	)
	for range min(l.set.Workers, len(l.parts)) {
		group.Go(func() {
			for {
				mutex.Lock()
				i := next
				next++
				mutex.Unlock()
				if i >= len(l.parts) || ctx.Err() != nil {
					return
				}
				errs[i] = do(ctx, i)
				mutex.Lock()
				done++
				if progress != nil {
					progress(done, len(l.parts))
				}
				mutex.Unlock()
				if errs[i] != nil {
					cancel()
				}
			}
		})
	}
	group.Wait()
	// The first in order: but one that another has stopped says nothing.
	var stopped error
	for _, err := range errs {
		if err != nil && !isCancel(err) {
			return err
		}
		if err != nil {
			stopped = err
		}
	}
	if stopped == nil {
		stopped = ctx.Err()
	}
	return stopped
}
