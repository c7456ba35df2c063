// Package pieces does pieces of work on all cores.
package pieces

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/probode/probode/pkg/probode"
)

// Each does n pieces of work on the given number of goroutines, the number of
// cores for zero, beginning them in order. Each goroutine has a function of its
// own, from begin, which does piece i. After an error, or when ctx ends, no
// further piece is begun. A panic is an error: a *probode.PanicError. It returns the error of the first piece that has one,
// and the number of the first that is not done.
func Each(ctx context.Context, workers, n int, progress func(done, total int), begin func() func(i int) error) (int, error) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	inner, stop := context.WithCancel(ctx)
	defer stop()
	do := make([]func(int) error, workers)
	done := 0
	var failed error
	probode.Ordered(inner, n, workers, func(w, i int) error {
		err := recovered(func() error {
			if do[w] == nil {
				do[w] = begin()
			}
			return do[w](i)
		})
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
	case done < n:
		return done, ctx.Err()
	}
	return n, nil
}

// recovered returns what f panicked with as an error.
func recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &probode.PanicError{Value: v, Stack: debug.Stack()}
			err = fmt.Errorf("%w\n%s", p, p.Stack)
		}
	}()
	return f()
}
