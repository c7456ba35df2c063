package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

var mergeHelp = manual{short: `Collects in one directory the chains of a study that probode sample -chain has
written to several directories:

  probode merge runs/lynx runs/parts/*

Files are copied as they are. If sample gave a caution about the solver for some of
the chains, merge keeps this caution. merge refuses a study with a missing or
unfinished chain, damaged files, and files from different studies.

If the name ends in .zarr, merge writes the chains of one directory to a Zarr store.
ArviZ 0.11 and later versions can open it; ArviZ 1.0 and later versions cannot open the
CSV files:

  probode merge runs/lynx.zarr runs/lynx
  post = arviz.from_zarr("runs/lynx.zarr")
`}

func merge(_ context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("merge", flag.ContinueOnError)
	if err := parse(flags, args, mergeHelp, out); err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return errors.New("merge: give the new directory first, and then the directories with the chains")
	}
	dst, src := flags.Arg(0), flags.Args()[1:]
	cautions, err := readCautions(flags.Args()...)
	if err != nil {
		return err
	}
	if filepath.Ext(dst) == ".zarr" {
		if len(src) > 1 {
			return fmt.Errorf("merge: the Zarr store %s can hold the chains of only one directory, but %d directories are given: merge these directories first", dst, len(src))
		}
		chains, err := store.Read(src[0])
		if err != nil {
			return err
		}
		for _, w := range cautions {
			chains.Notes = append(chains.Notes, "caution: "+w)
		}
		if err := store.WriteZarr(dst, chains); err != nil {
			return err
		}
	} else {
		if err := store.Merge(dst, src...); err != nil {
			return err
		}
		if err := writeCautions(dst, cautions); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "all chains are in %s\n", text.Printable(dst))
	return nil
}
