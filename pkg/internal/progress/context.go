package progress

import "context"

// A Hook is a function that a computation calls to report its progress. The argument
// `doing` says in words what the computation is doing now, or is empty.
type Hook func(done, total int, doing string)

type key struct{}

// With returns a copy of ctx that carries begin. A long computation passes its name to
// begin(), and reports its progress with the hook that begin() returns.
func With(ctx context.Context, begin func(label string) Hook) context.Context {
	return context.WithValue(ctx, key{}, begin)
}

// Begin returns the hook with which a computation reports its progress, or nil if ctx
// provides no hook. Begin also returns a context without hooks. The parts of the
// computation get the context without hooks, so that only the whole computation reports
// its progress.
func Begin(ctx context.Context, label string) (context.Context, Hook) {
	begin, _ := ctx.Value(key{}).(func(string) Hook)
	if begin == nil {
		return ctx, nil
	}
	return With(ctx, nil), begin(label)
}

// Counts returns the function with which a computation reports how many of its steps are
// done. If `given` is not nil, Counts returns `given`. If `given` is nil, Counts returns a
// function that calls the hook from the context, or nil if the context has no hook.
func Counts(ctx context.Context, given func(done, total int), label string) (context.Context, func(done, total int)) {
	ctx, hook := Begin(ctx, label)
	if given != nil || hook == nil {
		return ctx, given
	}
	return ctx, func(done, total int) { hook(done, total, "") }
}
