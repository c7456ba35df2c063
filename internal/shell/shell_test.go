package shell

import (
	"errors"
	"flag"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	var out strings.Builder
	fresh := func() (*flag.FlagSet, *int) {
		fs := flag.NewFlagSet("prog", flag.ContinueOnError)
		fs.SetOutput(&out)
		fs.Bool("quick", false, "in seconds")
		return fs, fs.Int("paths", 7, "how many")
	}
	for want, args := range map[string][]string{
		"flag provided but not defined: -paht: want -paths, -quick":           {"-paht", "3"},
		`unexpected argument "3": want -paths, -quick`:                        {"-quick", "3"},
		`invalid value "x" for flag -paths: parse error: want -paths, -quick`: {"-paths", "x"},
		"an argument is empty: leave it out, or give a name":                  {"-quick", "--", " "},
	} {
		fs, _ := fresh()
		err := Parse(fs, args)
		if err == nil || err.Error() != want || out.Len() > 0 {
			t.Errorf("%v: error %v, output %q: want %s", args, err, out.String(), want)
		}
	}
	fs, n := fresh()
	if err := Parse(fs, []string{"-paths", "3"}); err != nil || *n != 3 {
		t.Errorf("%d, %v", *n, err)
	}
	if err := Parse(fs, []string{"-h"}); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "in seconds") {
		t.Errorf("help: %v, %q", err, out.String())
	}
}

// Every signal that asks a program to end ends the context; so does a hangup, unless
// the program was started to outlive its terminal, as by nohup.
func TestInterruptible(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		outlives := s == syscall.SIGHUP && signal.Ignored(s)
		ctx, stop := Interruptible()
		defer stop()
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		wait := 10 * time.Second
		if outlives {
			wait = 100 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			if outlives {
				t.Errorf("%v: the context ended, though the signal is ignored", s)
			}
		case <-time.After(wait):
			if !outlives {
				t.Errorf("%v: the context did not end", s)
			}
		}
	}
}
