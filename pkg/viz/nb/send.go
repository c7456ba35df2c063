package nb

import (
	"fmt"
	"html"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

type bundle = map[protocol.MIMEType]any

// send replaces an earlier bundle with the same id.
func send(b bundle, id string) {
	if !gonbui.IsNotebook {
		if id == "" {
			fmt.Println(b[protocol.MIMETextPlain])
		}
		return
	}
	gonbui.SendData(&protocol.DisplayData{Data: b, DisplayID: id})
}

func display(b bundle) {
	pause()
	send(b, "")
	synchronise()
}

func note(text string) {
	display(bundle{
		protocol.MIMETextHTML:  `<small style="color:#666">` + html.EscapeString(text) + `</small>`,
		protocol.MIMETextPlain: text,
	})
}

// pause lets the kernel read printed lines, which have a channel of their own: a display
// could appear above them. Show does not pause before a graphic, whose drawing takes
// longer.
func pause() {
	if gonbui.IsNotebook {
		time.Sleep(10 * time.Millisecond)
	}
}

// synchronise waits until the kernel has forwarded everything, which would be lost with
// the process, but at most ten seconds: gonbui.Sync has no limit.
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
