// Package shell starts and interrupts the programs reproduce and observatory, and
// parses their flags.
package shell

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// Main calls run with the arguments of the command line and a context that ends with the
// first interrupt. If run returns an error, Main prints it after name and ends the
// program with status 1, or 130 after an interrupt. A request for help is not an error.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := interruptible()
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		if ctx.Err() != nil {
			os.Exit(130) // the status that shells report for an interrupt
		}
		os.Exit(1)
	}
}

// interruptible returns a context that ends with the first SIGINT (Ctrl-C), SIGTERM or
// SIGHUP (a closed terminal). The second signal ends the process.
func interruptible() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Parse parses args, which may contain only flags. For -h it prints the usage to the
// output of flags and returns flag.ErrHelp. Any other error is one line that lists the
// flags.
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
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: want %s", flags.Arg(0), names(flags))
	}
	return nil
}

// names lists the flags.
func names(flags *flag.FlagSet) string {
	var all []string
	flags.VisitAll(func(f *flag.Flag) { all = append(all, "-"+f.Name) })
	return strings.Join(all, ", ")
}

// WriteFile writes a file as a whole or not at all.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
