//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
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
	case "hang":
		ctx, stop := interruptible()
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		time.Sleep(time.Minute) // work that does not look at ctx
	}
}

// interrupted starts this program in a role and sends it signals until it
// ends, which it has to in ten seconds.
func interrupted(t *testing.T, with os.Signal, as string, args ...string) (state *os.ProcessState, stderr string) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), role+"="+as)
	var text strings.Builder
	c.Stderr = &text
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- c.Wait() }()
	deadline := time.After(10 * time.Second)
	for {
		c.Process.Signal(with)
		select {
		case err := <-end:
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			return c.ProcessState, text.String()
		case <-deadline:
			c.Process.Kill()
			t.Fatalf("%s %q does not end when interrupted", as, args)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// The second interrupt ends what takes no notice of the first.
func TestSecondInterrupt(t *testing.T) {
	state, _ := interrupted(t, os.Interrupt, "hang")
	if w, ok := state.Sys().(syscall.WaitStatus); !ok || !w.Signaled() || w.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v, want the signal", state)
	}
}

// The first interrupt ends a command in words, with the status of shells.
func TestInterrupt(t *testing.T) {
	for _, with := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		state, stderr := interrupted(t, with, "main", "sbc", "-quiet", "-sets", "1000000")
		if state.ExitCode() != 130 || stderr != "probode: stopped\n" {
			t.Errorf("%v: ended with %v, and said %q", with, state, stderr)
		}
	}
}

// A message repeats no more than 80 characters of an argument, and nothing that a
// terminal would take for a command.
func TestBriefErrors(t *testing.T) {
	long := strings.Repeat("ab ", 3000)
	for _, args := range [][]string{
		{long},
		{"sample", "-" + long}, {"sample", long},
		{"sample", "-dir", "x", "-method", long, "-case", "influenza"},
		{"sample", "-dir", "x", "-case", long},
		{"sample", "-dir", "x", "-scheme", strings.ReplaceAll(long, " ", "\x1b")},
		{"sample", "-dir", "x", "-step=" + long},
		{"sample", "-dir", "x", "-chain", long},
		{"merge", long, long},
		{"summary", long},
	} {
		err := run(context.Background(), args, io.Discard)
		if err == nil {
			t.Errorf("%.40q: no error", args)
			continue
		}
		message := err.Error()
		if len(message) > 1100 || strings.Contains(message, long[:120]) || strings.ContainsAny(message, "\x1b\n") {
			t.Errorf("%.40q: a message of %d characters: %.300q", args, len(message), message)
		}
	}
}
