// Package nb has helpers for the cells of a GoNB notebook. [Show] and [Table] show
// figures, tables and other results. Computations that use [Context] show a progress bar,
// and stop when the user interrupts the cell.
//
//	fhn := problems.FitzHughNagumo()
//	ens := nb.Must(probode.Integrate(nb.Context(), fhn, adams.Moulton{}, 500,
//		probode.Settings{StepSize: 0.1, Alpha: 0.2, Seed: 1}))
//	nb.Show(plots.Bands(ens))
//
// Each cell runs as a separate process, so its variables are not available in the next
// cell. [Memo] stores the results of long computations for later cells. Outputs contain
// neither computing times nor file paths, so they do not depend on the machine. Outside a
// notebook everything is printed as plain text.
package nb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
)

// echarts is the copy by environment/lab, relative to the root of the Jupyter server.
// Without it, charts load ECharts from the network.
const echarts = "environment/echarts/echarts.min.js"

// Context returns the context of the cell. The context ends when the user interrupts the
// cell. A second interrupt ends the cell itself, without results. A function of
// this library that is called with this context shows a progress bar after one second. A
// Progress hook in the settings of the function replaces the bar.
func Context() context.Context { return cell() }

var cell = sync.OnceValue(func() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // so that a second interrupt ends the process
	return progress.With(ctx, watched)
})

// Check stops the cell if err is not nil, and shows err as the message. If the user has
// interrupted the computation that returned err, the cell continues with the partial
// result, and Check shows a line that says so.
func Check(err error) {
	closeBars()
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) && cell().Err() != nil {
		noteInterrupt()
		return
	}
	message := err.Error()
	var p *probode.PanicError
	if errors.As(err, &p) {
		// GoNB replaces the place in the program by the line of the cell. The place has a
		// line of its own: GoNB 0.11.4 dies of one with two colons before the place.
		if file, line, ok := text.Place(p.Stack, "main."); ok {
			message = strings.Replace(message, fmt.Sprintf(" (%s line %s)", filepath.Base(file), line), "", 1)
			message += "\n\tat " + file + ":" + line
		}
	}
	fail(message)
}

var noteInterrupt = sync.OnceFunc(func() {
	note("Interrupted: any output below comes from the part of the computation that was completed.")
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
