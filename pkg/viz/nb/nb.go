// Package nb has helpers for the cells of a GoNB notebook. It shows figures and tables,
// shows the progress of long computations, stops them when the user interrupts the cell,
// and stores results that take a long time to compute.
//
//	fhn := problems.FitzHughNagumo()
//	ens := nb.Must(probode.Integrate(nb.Context(), fhn, adams.Moulton{}, 500,
//		probode.Settings{StepSize: 0.1, Alpha: 0.2, Seed: 1}))
//	nb.Show(plots.Bands(ens, nil))
//
// Each cell runs as a separate process, so its variables are not available in the next
// cell; [Memo] stores results for later cells. Outputs contain no times and no file paths
// of this machine, so running a notebook again gives the same bytes. Outside a notebook
// everything is printed as plain text.
package nb

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/signal"
	"reflect"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/internal/progress"
)

// The constant echarts is the path, from the root of the Jupyter server, of the copy of
// ECharts that environment/lab fetches. If there is no copy, charts load the library from
// the network.
const echarts = "environment/echarts/echarts.min.js"

// Context returns the context of the cell. The context ends when the user interrupts the
// cell; if the cell is still running five seconds later, the kernel kills it. If a
// function of this library is called with this context and without a Progress hook, and
// takes longer than a second, the cell shows a progress bar until the function returns.
func Context() context.Context { return cell() }

var cell = sync.OnceValue(func() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // so that a second interrupt ends the process
	return progress.With(ctx, watched)
})

// If err is not nil, Check ends the cell and shows err as the message. If err was
// returned by a computation that the user has interrupted, Check does not end the cell: a
// line says that the following output is incomplete, and the cell continues with the
// partial result.
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

type bundle = map[protocol.MIMEType]any

// The function send() passes a bundle to the kernel. A bundle replaces any earlier bundle
// with the same id.
func send(b bundle, id string) {
	if !gonbui.IsNotebook {
		if id == "" {
			fmt.Println(b[protocol.MIMETextPlain])
		}
		return
	}
	gonbui.SendData(&protocol.DisplayData{Data: b, DisplayID: id})
}

// The function note() shows a line in small type.
func note(text string) {
	pause()
	send(bundle{
		protocol.MIMETextHTML:  `<small style="color:#666">` + html.EscapeString(text) + `</small>`,
		protocol.MIMETextPlain: text,
	}, "")
	synchronise()
}

// The function pause() gives the kernel time to read the lines that have been printed so
// far. Printed lines and displays reach the kernel on separate channels, so a display
// could otherwise appear above lines that were printed before it. (Show needs no pause
// for a graphic, since drawing takes longer than the pause.)
func pause() {
	if gonbui.IsNotebook {
		time.Sleep(10 * time.Millisecond)
	}
}

// The function synchronise() waits until the kernel has forwarded everything that was
// sent to it, because anything that is not yet forwarded is lost when the process ends.
// If the pipe to the kernel is broken, it does not wait, whereas the function of package
// gonbui would wait for ever.
func synchronise() {
	if !gonbui.IsNotebook || gonbui.Error() != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		gonbui.Sync()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
	}
}
