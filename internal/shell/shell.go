// Package shell starts and interrupts the programs of this module, and parses the flags
// of those other than probode.
package shell

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/probode/probode/internal/atomicfile"
)

// Main calls run with the command-line arguments and a context that is cancelled by the
// first interrupt. If run() returns an error, Main prints the name of the program and the
// error, and ends the program with status 1, or 130 after an interrupt. A request for
// help is not an error.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := Interruptible()
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		if ctx.Err() != nil {
			os.Exit(130) // the status that shells report for an interrupt
		}
		os.Exit(1)
	}
}

// Interruptible returns a context that is cancelled by the first interrupt. An interrupt
// is Ctrl-C, SIGTERM or SIGHUP. The process receives SIGHUP when the terminal is closed.
// A second interrupt ends the process at once.
func Interruptible() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Parse parses the arguments `args`, which may contain only flags. If -h is among the
// arguments, Parse prints the usage to the output of `flags` and returns flag.ErrHelp.
// The message of any error other than flag.ErrHelp is a single line that lists the flags.
func Parse(flags *flag.FlagSet, args []string) error {
	out, usage := flags.Output(), flags.Usage
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	flags.SetOutput(out)
	flags.Usage = usage
	switch {
	case errors.Is(err, flag.ErrHelp):
		if usage == nil {
			usage = func() {
				fmt.Fprintf(out, "usage of %s:\n", flags.Name())
				flags.PrintDefaults()
			}
		}
		usage()
		return err
	case err != nil:
		return fmt.Errorf("%w: want %s", err, names(flags))
	}
	err = NoBlanks(flags)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: want %s", flags.Arg(0), names(flags))
	}
	return err
}

// NoBlanks returns an error if an argument, or the value of a flag, is empty or consists of
// spaces, for example because a shell variable is empty.
func NoBlanks(flags *flag.FlagSet) (err error) {
	for _, arg := range flags.Args() {
		if strings.TrimSpace(arg) == "" {
			err = errors.New("an argument is empty: leave it out, or give a name")
		}
	}
	flags.Visit(func(f *flag.Flag) {
		if strings.TrimSpace(f.Value.String()) == "" {
			err = fmt.Errorf("the value of -%s is empty: leave the flag out, or give a value", f.Name)
		}
	})
	return err
}

func names(flags *flag.FlagSet) string {
	var all []string
	flags.VisitAll(func(f *flag.Flag) { all = append(all, "-"+f.Name) })
	return strings.Join(all, ", ")
}

// WriteCSV writes a table as WriteFile does.
func WriteCSV(path string, header []string, rows [][]string) error {
	return atomicfile.Replace(path, func(w io.Writer) error {
		return csv.NewWriter(w).WriteAll(append([][]string{header}, rows...))
	})
}

// WriteFile writes a file as a whole or not at all.
func WriteFile(path string, data []byte) error {
	return atomicfile.Replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
