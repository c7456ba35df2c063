package progress

import (
	"context"
	"testing"
)

// Work under a watched context shows itself, unless it has a hook of its own, and
// its parts are silent.
func TestContext(t *testing.T) {
	var began []string
	var seen [][2]int
	ctx := With(context.Background(), func(label string) Hook {
		began = append(began, label)
		return func(done, total int, doing string) { seen = append(seen, [2]int{done, total}) }
	})
	inner, hook := Counts(ctx, nil, "paths")
	hook(1, 2)
	if _, nested := Begin(inner, "parts"); nested != nil {
		t.Error("a part of watched work shows itself as well")
	}
	own := 0
	_, hook = Counts(ctx, func(done, total int) { own += done }, "others")
	hook(3, 4)
	if len(seen) != 1 || seen[0] != [2]int{1, 2} || own != 3 || began[0] != "paths" {
		t.Errorf("began %v, seen %v, own %d", began, seen, own)
	}
	if _, hook := Counts(context.Background(), nil, "nobody"); hook != nil {
		t.Error("a hook where nobody watches")
	}
}
