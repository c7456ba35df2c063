package shell

import (
	"errors"
	"flag"
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

// A hangup ends the context.
func TestInterruptible(t *testing.T) {
	ctx, stop := interruptible()
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Error("the context did not end")
	}
}
