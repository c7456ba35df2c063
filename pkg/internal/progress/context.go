package progress

import "context"

// A Hook is a function that a computation calls to report its progress. The argument
// named doing describes the current step of the computation in words, or is empty.
type Hook func(done, total int, doing string)

type key struct{}

// With returns a context in which long computations that have no hook of their own show
// their progress. The function begin() is called with the name of each such computation
// and returns its hook.
func With(ctx context.Context, begin func(label string) Hook) context.Context {
	return context.WithValue(ctx, key{}, begin)
}

// Begin returns the hook of a computation under ctx, or nil if there is none. Begin also
// returns a context under which the parts of the computation show no progress of their
// own.
func Begin(ctx context.Context, label string) (context.Context, Hook) {
	if ctx == nil {
		return ctx, nil // the caller reports the error
	}
	begin, _ := ctx.Value(key{}).(func(string) Hook)
	if begin == nil {
		return ctx, nil
	}
	return With(ctx, nil), begin(label)
}

// Counts returns the hook that counts the steps of a computation: the given hook or, if
// that is nil, the hook from the context.
func Counts(ctx context.Context, given func(done, total int), label string) (context.Context, func(done, total int)) {
	ctx, hook := Begin(ctx, label)
	if given != nil || hook == nil {
		return ctx, given
	}
	return ctx, func(done, total int) { hook(done, total, "") }
}
