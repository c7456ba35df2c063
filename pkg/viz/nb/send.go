package nb

import (
	"fmt"
	"html"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

type bundle = map[protocol.MIMEType]any

// send passes a bundle to the kernel. A bundle holds one output in one or more MIME
// types, and replaces any earlier bundle with the same id.
func send(b bundle, id string) {
	if !gonbui.IsNotebook {
		if id == "" {
			fmt.Println(b[protocol.MIMETextPlain])
		}
		return
	}
	gonbui.SendData(&protocol.DisplayData{Data: b, DisplayID: id})
}

// display shows one output below everything that has been printed or shown so far.
func display(b bundle) {
	pause()
	send(b, "")
	synchronise()
}

// note shows a line in small type.
func note(text string) {
	display(bundle{
		protocol.MIMETextHTML:  `<small style="color:#666">` + html.EscapeString(text) + `</small>`,
		protocol.MIMETextPlain: text,
	})
}

// pause gives the kernel time to read the lines that have been printed so far. Printed
// lines and displays reach the kernel on separate channels, so a display could otherwise
// appear above lines that were printed before it. (Show does not pause before a graphic,
// because drawing the graphic takes longer than the pause.)
func pause() {
	if gonbui.IsNotebook {
		time.Sleep(10 * time.Millisecond)
	}
}

// synchronise waits until the kernel has forwarded everything that was sent to it.
// Anything that has not been forwarded when the process ends is lost. gonbui.Sync has no
// time limit, so synchronise() stops waiting after ten seconds.
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
