// Package store keeps the draws of Markov chains in files, so that a run can be stopped,
// killed, moved to another machine, resumed and extended.
//
// [Run] writes the draws to a directory, [Merge] collects chains from several
// directories, and [Read] reads the draws. The files have the format of CmdStan, which
// ArviZ, pandas and R can read.
package store

import (
	"context"
	"fmt"
	"time"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Options determine what Run writes in addition to the draws, and how often it saves the
// state.
type Options struct {
	// Meta contains information for users of the draws, such as a description of the
	// model. Run writes each field to the files as a comment line "# key = value". ArviZ
	// reads a field whose value contains no spaces as an attribute of the data. A key
	// consists of letters, digits and _, and differs from the keys that Run writes
	// itself. The value of a field is a single line of text without control characters.
	// The key "note", which may occur several times, is for whole sentences: Read returns
	// them as Chains.Notes.
	//
	// A chain is resumed only if Meta has not changed.
	Meta []mcmc.Field

	// Version is the version of the program that calls Run, such as v1.4.0: one line
	// without control characters. The files record it.
	Version string

	// Notes, if not nil, describes a finished chain in sentences, for example the step sizes
	// to which its kernel k has been tuned. Run writes each note on its own line below the
	// draws. The notes must depend only on the data that Kernel.State stores.
	Notes func(k mcmc.Kernel) []string

	// Checkpoint is the time between two saves of the state of a chain. Zero means 5 s.
	// Checkpoint has no effect on the draws.
	Checkpoint time.Duration
}

// Run makes draws in the same way as mcmc.Run and writes them to the files
// dir/chain-1.csv, dir/chain-2.csv and so on. Because the draws are stored in files,
// memory use does not grow with the length of the run, and no work is lost if the run is
// interrupted. Calling Run again with the same arguments resumes the run in dir. Once the
// run is finished, the files are identical, byte for byte, to those of an uninterrupted
// run, no matter whether the run was stopped by ctx, by kill -9 or by a power failure.
// The draws of a chain do not depend on which other chains are run: see Settings.Only and
// Merge.
//
// ArviZ and pandas can read the files, which have the format of CmdStan:
//
//	arviz.from_cmdstan(posterior="dir/chain-*.csv", log_likelihood="log_lik")
//	pandas.read_csv("dir/chain-1.csv", comment="#")
//
// Each file begins with comment lines that contain Options.Meta, the seed, the number of
// draws and the versions of the program and of Go. The comment lines after the draws
// contain the numbers of proposed, accepted and failed moves, the notes of the chain,
// and a checksum. In the names of columns, _ replaces characters that the format does
// not allow; Read restores the original names.
//
// Until a chain is finished, its draws are in a file such as chain-1.csv.part. The file
// chain-1.state holds everything that is needed to continue the chain. Run saves the
// state regularly (see Options.Checkpoint) and when ctx is done. If ctx is done before
// all chains of this call are finished, Run returns ctx.Err(); otherwise it returns nil.
// If all chains were finished before the call, Run returns at once. The process that
// runs the chain holds a lock on chain-1.lock.
//
// If Draws is larger than the number with which the run in dir was started, Run extends
// that run, finished or not. Run adds the missing draws. The extended files are
// identical to those of a run that was started with the new number of draws.
//
// Run refuses to continue, and changes nothing, if a file is damaged, has another
// version of the format or does not belong to this package. Run also refuses to continue
// if the settings, the parameter names or Options.Meta have changed since the draws in
// dir were made. Run returns an error if another process is working on a chain. Before
// Run resumes a chain, it computes the log density again (see [Evaluator]) and repeats
// the last few iterations that preceded the saved state. The chain continues only if the
// results agree, bit for bit, with the saved log density and the saved state. A new
// version of the program can therefore resume a chain begun by an earlier version,
// provided that both versions compute the same numbers. If the results do not agree, Run
// returns an error, which says whether the difference is small enough for rounding.
//
// Run returns an error if no suitable starting point is found for a chain, if a file
// cannot be written, or if a setting is out of range. Everything that was saved before
// the error remains valid. Run panics if MinESS is set, because the length of a chain
// would then depend on the other chains.
func Run(ctx context.Context, kernel func(chain int) mcmc.Kernel, dir string, settings mcmc.Settings, o Options) error {
	whole, err := settings.WithDefaults()
	if err != nil {
		return err
	}
	s := &study{Settings: whole, meta: o.Meta, maker: maker(o.Version)}
	switch {
	case s.MinESS > 0:
		panic("store: MinESS is set, but a run that writes files has a fixed number of draws: set MinESS to 0")
	case o.Checkpoint < 0:
		panic(fmt.Sprintf("store: Checkpoint is %v: want a time ≥ 0", o.Checkpoint))
	case o.Checkpoint == 0:
		o.Checkpoint = 5 * time.Second
	}
	if err := checkMeta(s.meta); err != nil {
		return err
	}
	if err := checkValue(o.Version); err != nil {
		return fmt.Errorf("store: Options.Version is %w", err)
	}
	s.start = beginning(s.Settings)
	if err := atomicfile.MkdirAll(dir); err != nil {
		return fmt.Errorf("store: %w", err)
	}

	// First, all chains are locked, their files are read, and the files are compared with
	// the settings. Nothing is written before that.
	var files []*file
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	var chains, open []*mcmc.Chain
	for _, index := range s.Only {
		c := mcmc.NewChain(index, s.Settings)
		f, err := claim(dir, c, s.Draws)
		if err != nil {
			return err
		}
		f.every, f.notes = o.Checkpoint, o.Notes
		files, chains = append(files, f), append(chains, c)
	}
	var active []*file // the chains that are not finished
	for _, f := range files {
		if f.done {
			continue
		}
		if err := f.chain.Start(kernel(f.chain.Index())); err != nil {
			return err
		}
		f.chain.Sink = f
		active, open = append(active, f), append(open, f.chain)
	}
	var l *layout // nil if there are no names and no kernel that determines how many there are
	if len(open) > 0 {
		s.Names = mcmc.CoordinateNames(s.Names, open)
	}
	if s.Names != nil {
		var err error
		if l, err = newLayout(s.Names, s.Generated); err != nil {
			return err
		}
	}
	if err := compare(dir, files, s, l); err != nil {
		return err
	}
	for _, f := range active {
		if f.state != nil {
			if err := f.restore(ctx); err != nil {
				return err
			}
		}
	}
	for _, f := range active {
		if err := f.ready(l, s); err != nil {
			return err
		}
	}
	for _, f := range active {
		if err := f.begin(); err != nil {
			return err
		}
	}

	complete, fault := mcmc.Advance(ctx, chains, s.Names, s.Settings)
	var failed []error
	for _, f := range active {
		f.save()
		if f.err != nil {
			failed = append(failed, f.err)
		}
	}
	switch {
	case len(failed) > 1:
		return fmt.Errorf("store: %w (and %d more)", failed[0], len(failed)-1)
	case failed != nil:
		return fmt.Errorf("store: %w", failed[0])
	case fault != nil:
		return fault
	case !complete:
		return ctx.Err()
	}
	return nil
}
