package assess_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A stopping context ends when this package looks at it for the nth time, so that it
// ends between any two pieces of work; with n = 0 it does not.
type stopping struct {
	context.Context
	stop  context.CancelFunc
	looks *atomic.Int64
	n     int64
}

func (s stopping) Err() error {
	callers := make([]uintptr, 8)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "context.") {
			continue
		}
		if strings.Contains(f.Function, "/bayes/assess.") && s.looks.Add(1) == s.n {
			s.stop()
		}
		break
	}
	return s.Context.Err()
}

// Wherever an assessment is stopped, it says so: what is not whole does not look whole.
func TestStoppedAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	s := assess.Settings{Steps: []float64{0.5, 0.125}, Weighed: 100, Chains: mcmc.Settings{Draws: 100, BurnIn: 100, Chains: 2, Seed: 2}, Calibrate: calibrate.Settings{Paths: 40}}
	run := func(n int64) (int64, error) {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		looks := new(atomic.Int64)
		_, err := assess.Run(stopping{ctx, stop, looks, n}, assessPosterior(0.25), s)
		return looks.Load(), err
	}
	total, err := run(0)
	if err != nil || total < 15 {
		t.Fatalf("%d looks at the context, error %v", total, err)
	}
	for n := int64(1); n <= total; n++ {
		// What is tried depends on what it costs here, so that a run may look less often.
		if looks, err := run(n); looks >= n && !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at look %d of %d: error %v", n, total, err)
		}
	}
}
