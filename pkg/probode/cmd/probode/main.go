// Command probode asks what the error of an ODE solver does to a posterior,
// and runs long studies. See probode help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
)

// A command writes its result to out. What is wrong with its arguments is an
// error of one line.
type command struct {
	name, does string
	run        func(ctx context.Context, args []string, out io.Writer) error
}

var commands = []command{
	{"solve", "solve a problem, with the spread of an ensemble", solve},
	{"likelihood", "log-likelihood of the data of a model file, its gradient", likelihood},
	{"fit", "fit a model file to its data, from many starts", fit},
	{"petab", "try problems of PEtab: what loads, what is refused", petab},
	{"generate", "write the equations of a model file as Go", generate},
	{"certify", "bound what the solver's error does, without sampling", certifyVerb},
	{"assess", "does the solver's error matter, and at which step?", assessVerb},
	{"sample", "draw from a posterior; the same command again goes on", sample},
	{"merge", "gather the chains of several directories into one", merge},
	{"summary", "the table of what a directory holds", summary},
	{"sbc", "simulation-based calibration of a scheme", sbcVerb},
	{"version", "the version of the program", version},
}

// stopped says in words how far a command had come when it was interrupted.
type stopped string

func (s stopped) Error() string { return string(s) }

func (s stopped) Is(target error) bool { return target == context.Canceled }

func main() {
	ctx, stop := interruptible()
	defer stop()
	out := &checked{w: os.Stdout}
	err := run(ctx, os.Args[1:], out)
	if err == nil && out.err != nil {
		err = fmt.Errorf("the output is not whole: %w", out.err)
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "probode:", err)
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "probode:", strings.TrimPrefix(err.Error(), "probode: "))
		os.Exit(1)
	}
}

// A checked writer remembers that something could not be written, which nobody looks
// at who prints, and writes no more behind it.
type checked struct {
	w   io.Writer
	err error
}

func (c *checked) Write(p []byte) (n int, err error) {
	if c.err == nil {
		n, c.err = c.w.Write(p)
	}
	return n, c.err
}

// interruptible returns a context that ends with the first interrupt, be it Ctrl-C,
// SIGTERM, or SIGHUP when the terminal is closed. The second
// one ends the process, whatever it is at.
func interruptible() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// run runs the command that args name. The error of one that was interrupted is
// context.Canceled, and says that it was stopped.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == "help" {
		args = []string{args[1], "-help"}
	}
	if len(args) == 0 || len(args) == 1 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(out)
		return nil
	}
	if args[0] == "-version" || args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	for _, c := range commands {
		if c.name == args[0] {
			err := c.run(ctx, args[1:], out)
			if in := stopped(""); errors.Is(err, context.Canceled) && !errors.As(err, &in) {
				return stopped("stopped")
			}
			return brief(err, args)
		}
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	return fmt.Errorf("no command %q: want %s", text.Clip(args[0]), strings.Join(names, ", "))
}

// A briefError is an error in words that fit a terminal.
type briefError struct {
	error
	words string
}

func (e briefError) Error() string { return e.words }
func (e briefError) Unwrap() error { return e.error }

// brief keeps from the terminal what the caller or a file made too long, or what a
// terminal would take for a command: of an argument, and of any word, it leaves the
// first 80 characters, and of the message the first 1000.
func brief(err error, args []string) error {
	if err == nil {
		return nil
	}
	words := err.Error()
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		for _, long := range []string{arg, value} {
			if short := text.Clip(long); len(long) > len(short) {
				words = strings.ReplaceAll(words, long, short)
				quoted := strconv.Quote(long)
				words = strings.ReplaceAll(words, quoted[1:len(quoted)-1], short)
			}
		}
	}
	fields := strings.Split(words, " ")
	for i, f := range fields {
		fields[i] = text.Clip(f)
	}
	words = strings.Join(fields, " ")
	if r := []rune(words); len(r) > 1000 {
		words = string(r[:1000]) + "…"
	}
	if words == err.Error() {
		return err
	}
	return briefError{err, words}
}

// version prints the version, and what it was built with and for.
func version(_ context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("version: %q: want no arguments", text.Clip(args[0]))
	}
	fmt.Fprintf(out, "probode %s, %s, %s/%s\n", probode.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

func usage(out io.Writer) {
	fmt.Fprintln(out, "What does the error of my ODE solver do to my answer?")
	fmt.Fprintln(out)
	for _, c := range commands {
		fmt.Fprintf(out, "  probode %-10s %s\n", c.name, c.does)
	}
	fmt.Fprintln(out, "\nprobode COMMAND -help tells the flags.")
}
