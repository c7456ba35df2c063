// Package nb has helpers for the cells of a GoNB notebook. The helpers show figures and
// tables, show the progress of long computations, stop computations when the user
// interrupts the cell, and store results that take a long time to compute.
//
//	fhn := problems.FitzHughNagumo()
//	ens := nb.Must(probode.Integrate(nb.Context(), fhn, adams.Moulton{}, 500,
//		probode.Settings{StepSize: 0.1, Alpha: 0.2, Seed: 1}))
//	nb.Show(plots.Bands(ens, nil))
//
// Each cell runs as a separate process, so its variables are not available in the next
// cell; [Memo] stores results for later cells. Outputs contain neither computing times
// nor file paths of this machine, so running a notebook again gives the same bytes.
// Outside a notebook everything is printed as plain text.
package nb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"sync"

	"github.com/probode/probode/pkg/internal/progress"
)

// The script environment/lab fetches a copy of ECharts. The constant `echarts` is the
// path of this copy, relative to the root of the Jupyter server. If this file does not
// exist, charts load ECharts from the network.
const echarts = "environment/echarts/echarts.min.js"

// Context returns the context of the cell. The context ends when the user interrupts the
// cell; if the cell is still running five seconds later, the kernel kills it. If a
// function of this library is called with this context and takes longer than a second,
// the cell shows a progress bar, unless a Progress hook is set.
func Context() context.Context { return cell() }

var cell = sync.OnceValue(func() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // so that a second interrupt ends the process
	return progress.With(ctx, watched)
})

// Check stops the cell if err is not nil, and shows err as the message. If err comes from
// a computation that the user has interrupted, Check lets the cell continue with the
// partial result. A line then says that the following output is incomplete.
func Check(err error) {
	closeBars()
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) && cell().Err() != nil {
		noteInterrupt()
		return
	}
	fail(err.Error())
}

var noteInterrupt = sync.OnceFunc(func() {
	note("Interrupted: any output below comes from the part that was completed.")
})

// Must does the same as [Check] for a call that also returns a value, and returns that
// value.
func Must[T any](v T, err error) T {
	Check(err)
	if err != nil {
		if r := reflect.ValueOf(&v).Elem(); r.IsZero() {
			fail("interrupted before there was anything to show")
		}
	}
	return v
}

func fail(message string) {
	synchronise()
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}
