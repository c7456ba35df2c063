package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/probode/probode/internal/shell"
)

// With this variable set, the test's program is the command, or hangs.
const role = "PROBODE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "main":
		// A signal must not end the process before main asks for it.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		main()
	case "quiet":
		main()
	case "hang":
		ctx, stop := shell.Interruptible()
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		time.Sleep(time.Minute) // work that does not look at ctx
	}
}
