package progress

import "context"

// A Hook is told how far a piece of work has come; doing says in words what is
// being done, or is empty.
type Hook func(done, total int, doing string)

type key struct{}

// With returns a context under which long work that nobody else watches shows
// itself: begin is called with a name for each such piece of work and returns its
// hook.
func With(ctx context.Context, begin func(label string) Hook) context.Context {
	return context.WithValue(ctx, key{}, begin)
}

// Begin returns the hook of a piece of work under ctx, nil if nobody watches, and
// the context for its parts, which are silent.
func Begin(ctx context.Context, label string) (context.Context, Hook) {
	if ctx == nil {
		return ctx, nil // for the caller to find fault with
	}
	begin, _ := ctx.Value(key{}).(func(string) Hook)
	if begin == nil {
		return ctx, nil
	}
	return With(ctx, nil), begin(label)
}

// Counts returns the hook that counts a piece of work: the given one, or else that
// of the context.
func Counts(ctx context.Context, given func(done, total int), label string) (context.Context, func(done, total int)) {
	ctx, hook := Begin(ctx, label)
	if given != nil || hook == nil {
		return ctx, given
	}
	return ctx, func(done, total int) { hook(done, total, "") }
}
