package progress

import "context"

// A Hook is a function that a computation calls to report its progress. The argument
// `doing` says in words what the computation is doing now, or is empty.
type Hook func(done, total int, doing string)

type key struct{}

// With gives a copy of ctx. Under this copy, long computations report their progress even
// if the caller gives them no hook. Each such computation calls the function begin() with
// its own name, and gets its hook as the result.
func With(ctx context.Context, begin func(label string) Hook) context.Context {
	return context.WithValue(ctx, key{}, begin)
}

// Begin returns the hook with which a computation reports its progress, or nil if ctx
// does not provide hooks. Begin also returns a context for the parts of the computation,
// so that they do not report their progress separately.
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

// Counts returns the function to which a computation reports how many of its steps are
// done. This is the function `given` or, if that is nil, one that calls the hook from the
// context.
func Counts(ctx context.Context, given func(done, total int), label string) (context.Context, func(done, total int)) {
	ctx, hook := Begin(ctx, label)
	if given != nil || hook == nil {
		return ctx, given
	}
	return ctx, func(done, total int) { hook(done, total, "") }
}
