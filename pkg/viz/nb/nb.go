// Package nb has helpers for the cells of a GoNB notebook. It shows figures and tables,
// shows the progress of long computations, stops these when the reader interrupts the
// cell, and stores results that take a long time to compute.
//
//	fhn := problems.FitzHughNagumo()
//	ens := nb.Must(probode.Integrate(nb.Context(), fhn, adams.Moulton{}, 500,
//		probode.Settings{StepSize: 0.1, Alpha: 0.2, Seed: 1}))
//	nb.Show(plots.Bands(ens, nil))
//
// Each cell is a process of its own, so values do not reach the next cell; see [Memo].
// Outputs contain no times and no file paths of this machine, so running a notebook again
// gives the same bytes. Outside a notebook everything is printed as plain text.
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

// echarts is the place where this repository's environment puts a copy of ECharts, as a
// path from the root of the Jupyter server. Without the copy, charts load the library
// from the network.
const echarts = "environment/echarts/echarts.min.js"

// Context returns the context of the cell. It ends when the reader interrupts the cell;
// five seconds later the kernel kills what is still running. If a call to this library is
// given this context but no Progress hook, and takes longer than a second, the cell shows
// a progress bar until the call returns.
func Context() context.Context { return cell() }

var cell = sync.OnceValue(func() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // so that a second interrupt ends the process
	return progress.With(ctx, watched)
})

// If err is not nil, Check ends the cell and shows err as the message. The error that a
// long computation returns after an interrupt does not end the cell: a line says that
// what follows is incomplete, and the cell continues with the partial result.
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

// send passes a bundle to the kernel. A bundle replaces an earlier one with the same id.
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
// far. Standard output and displays reach the kernel separately, and one could overtake
// the other. (Show needs no pause, since drawing takes longer.)
func pause() {
	if gonbui.IsNotebook {
		time.Sleep(10 * time.Millisecond)
	}
}

// synchronise waits until the kernel has forwarded everything that was sent to it,
// because the kernel drops the rest when the process ends. Package gonbui would wait even
// if the pipe were broken.
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
