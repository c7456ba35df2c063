package pieces

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// More workers than pieces take no room.
func TestEachWithManyWorkers(t *testing.T) {
	if done, err := Each(context.Background(), math.MaxInt, 2, nil, func() func(int) error { return func(int) error { return nil } }); done != 2 || err != nil {
		t.Errorf("%d done, %v", done, err)
	}
}

// The error is that of the first piece that has one, whatever the number of
// workers, and a panic is an error.
func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 4} {
		done, err := Each(context.Background(), workers, 100, nil, func() func(int) error {
			return func(i int) error {
				if i == 30 {
					panic("thirty")
				}
				if i > 30 {
					return errors.New("later")
				}
				return nil
			}
		})
		var p *probode.PanicError
		if done != 30 || !errors.As(err, &p) || p.Value != "thirty" {
			t.Errorf("%d workers: %d done, %v", workers, done, err)
		}
		last := 0
		done, err = Each(context.Background(), workers, 7, func(done, total int) { last = done }, func() func(int) error {
			return func(int) error { return nil }
		})
		if done != 7 || last != 7 || err != nil {
			t.Errorf("%d workers: %d done, %d told, %v", workers, done, last, err)
		}
	}
}
