package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// file writes the draws of one chain to the disk. At any moment, one of three cases
// applies to the files of the chain:
//
//   - There is no state: nothing has been drawn. There may be a .part file that holds
//     at most a header.
//   - There is a state, and a .part file that begins with the draws that were made
//     before the state was saved. Draws that follow them in the file are made again.
//   - There is a .csv file, and a state that was saved after its last draw: the chain is
//     finished, and can be extended. If there is a .part file as well, an extension has
//     begun: if the .part file holds all draws that were made before the state was
//     saved, it replaces the .csv file; otherwise it is made from the .csv file again.
//
// The chain passes from one case to the next when a process renames or removes a single
// file. A process that writes the files holds the lock of the chain.
type file struct {
	path  string // of the .csv file
	chain *mcmc.Chain
	lock  *flock.Flock
	f     *os.File // the .part file
	size  int64    // of the .part file
	made  bool     // this call made the .part file
	done  bool     // the .csv file exists and has all the draws

	whole *table // the .csv file, if it exists with fewer draws than this run asks for
	old   *table // the draws found on the disk: those of the .csv file, or those made before the state was saved
	state *state

	layout  *layout
	buf     []byte // draws to be written
	crc     uint64 // of all bytes written
	body    int64  // bytes written after the line of column names
	bodyCRC uint64 // the checksum of these
	headCRC uint64 // see state
	length  int64  // the number of iterations after burn-in

	every time.Duration
	notes func(k mcmc.Kernel) []string
	saved time.Time
	at    int // the iteration at which the state was saved
	err   error
}

var _ mcmc.Sink = (*file)(nil)

func (f *file) partPath() string  { return f.path + partSuffix }
func (f *file) statePath() string { return statePath(f.path) }
func (f *file) lockPath() string  { return strings.TrimSuffix(f.path, ".csv") + ".lock" }

// claim locks the chain unless its files hold all the draws.
func claim(dir string, c *mcmc.Chain, draws int) (*file, error) {
	f := &file{path: chainPath(dir, c.Index()), chain: c}
	if exists(f.path) {
		t, err := readHeader(f.path)
		if err != nil || t.draws >= draws {
			err := f.finished(draws)
			if err == nil && exists(f.lockPath()) { // left by a process that was killed at the end
				if l, err := lock(f.lockPath()); err == nil {
					unlock(l)
				}
			}
			return f, err
		}
	}
	err := f.reserve(draws)
	if err != nil || f.done {
		f.close()
	}
	return f, err
}

func (f *file) reserve(draws int) (err error) {
	if f.lock, err = lock(f.lockPath()); err != nil {
		return fmt.Errorf("store: %s: %w", f.path, err)
	}
	if exists(f.path) { // another process may have finished the chain before the lock
		if err := f.finished(draws); err != nil || f.done {
			return err
		}
	}
	f.made = !exists(f.partPath())
	if f.f, err = openForWriting(f.partPath()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	info, err := f.f.Stat()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return f.load(info.Size())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// finished reads a .csv file that may have fewer draws than this run asks for.
func (f *file) finished(draws int) error {
	t, err := readWhole(f.path, f.recorder())
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	f.old = t
	if t.draws >= draws {
		f.done = true
		f.chain.Finished(t.burnIn, t.after)
	} else {
		f.whole = t
	}
	return nil
}

func (f *file) recorder() func(t *table, line []byte) error {
	var x []float64
	return func(t *table, line []byte) error {
		return f.chain.Recall(func() (_ []float64, err error) {
			if x, err = t.parse(x[:0], line, t.stats+t.params); err != nil {
				return nil, err
			}
			return x[t.stats : t.stats+t.params], nil
		})
	}
}

func (f *file) load(size int64) error {
	for path, magic := range map[string]string{
		f.statePath() + tmpSuffix: stateMagic,
		f.partPath() + tmpSuffix:  "# format = " + formatPrefix,
	} {
		if err := replaceable(path, magic); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	var err error
	f.state, err = readState(f.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		if f.whole != nil {
			return nil // see ready
		}
		if err := begun(f.f, f.partPath(), f.statePath()); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if f.whole != nil {
		// An earlier call may have been interrupted after it had copied all the draws to
		// the .part file, and before it removed the .csv file. The chain then continues
		// from the .part file.
		if t, err := f.known(f.f, size, nil); err == nil {
			f.old, f.whole = t, nil
			return nil
		}
		csv, err := plainfile.OpenUnlinked(f.path)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		defer csv.Close()
		if _, err := f.known(csv, f.whole.size, nil); err != nil {
			return fmt.Errorf("store: the chain in %[2]s cannot be extended, because %[1]s does not contain the state of the sampler at the end of the chain: %[3]w", f.statePath(), f.path, err)
		}
		return nil
	}
	if f.old, err = f.known(f.f, size, f.recorder()); err != nil {
		return fmt.Errorf("store: %s cannot be used: %w", f.partPath(), err)
	}
	return nil
}

// known checks the draws before the saved state against it.
func (f *file) known(in io.ReaderAt, size int64, row func(t *table, line []byte) error) (*table, error) {
	t, err := scan(io.NewSectionReader(in, 0, size), f.state.body, row)
	switch {
	case t.columns == nil && size == t.size: // before errors of the header, which may be cut
		return nil, fmt.Errorf("the file is too short to contain all the draws: it has only %d bytes", size)
	case t.columns != nil && size < t.headSize+f.state.body:
		return nil, fmt.Errorf("the file has %d bytes, want at least %d", size, t.headSize+f.state.body)
	case err != nil:
		return nil, err
	case t.samples < f.state.length:
		return nil, fmt.Errorf("%s is %d in the header of the file, want at least %d", lengthKey, t.samples, f.state.length)
	case t.headCRC != f.state.headCRC:
		return nil, fmt.Errorf("the checksum of the header is %016x, but should be %016x", t.headCRC, f.state.headCRC)
	case t.body() != f.state.body || t.bodyCRC != f.state.bodyCRC || t.sealed:
		return nil, fmt.Errorf("the checksum of the draws is %016x, but should be %016x", t.bodyCRC, f.state.bodyCRC)
	}
	return t, nil
}

// restore checks that the program still computes the same chain: the log density at the
// saved position, and that the last few iterations repeated lead to the saved state.
func (f *file) restore(ctx context.Context) error {
	s, c := f.state, f.chain
	give := func(state []byte) error {
		a := mcmc.NewArchive(state)
		c.State(a)
		if err := a.Err(); err != nil {
			return fmt.Errorf("store: the sampler cannot read %s: %w", f.statePath(), err)
		}
		return nil
	}
	if err := give(s.now); err != nil {
		return err
	}
	if e, ok := c.Kernel().(Evaluator); ok {
		if d := changed(s.density, e.Evaluate()); d != nil {
			return fmt.Errorf("store: %s: the chain cannot be resumed: the log density at its position is %.17g, but was saved as %.17g (relative difference %.1g): %s",
				f.statePath(), d.is, d.was, d.relative, d.cause())
		}
	}
	if len(s.turn) > 0 {
		at, x := c.Iteration(), slices.Clone(c.Kernel().Position())
		if err := give(s.turn); err != nil {
			return err
		}
		from := c.Iteration()
		c.Replay(at)
		if c.Interrupted() { // in the middle of an iteration, so there is nothing to compare
			return cmp.Or(ctx.Err(), errors.New("store: the chain was interrupted during the check that repeats its last iterations"))
		}
		a := mcmc.NewArchive(nil)
		c.State(a)
		if !bytes.Equal(a.Bytes(), s.now) {
			d := changed(x, c.Kernel().Position())
			if d == nil {
				return fmt.Errorf("store: %s: the chain cannot be resumed: the sampler or its settings have changed, as its last %d iterations show", f.statePath(), at-from)
			}
			return fmt.Errorf("store: %s: the chain cannot be resumed: repeating its last %d iterations leads to a different draw, %.17g instead of %.17g (relative difference %.1g): %s",
				f.statePath(), at-from, d.is, d.was, d.relative, d.cause())
		}
	}
	return nil
}

const flushSize = 1 << 16

func (f *file) ready(l *layout, s *study) error {
	f.layout, f.length = l, int64(s.Draws*s.Thin)
	if f.state == nil {
		if f.whole != nil {
			return fmt.Errorf("store: %s is missing, so the chain in %s cannot be extended: run the study again in another directory", f.statePath(), f.path)
		}
		f.buf = l.appendHeader(nil, s.fields(f.chain.Index()))
		t, _ := scan(bytes.NewReader(f.buf), everything, nil)
		f.headCRC = t.headCRC
		return nil
	}
	f.body, f.bodyCRC, f.headCRC = f.state.body, f.state.bodyCRC, f.state.headCRC
	f.crc = f.old.crc
	return nil
}

func (f *file) begin() error {
	var err error
	f.at = -1
	switch {
	case f.state == nil:
		err = f.cut(0)
	case f.old.samples != f.length:
		err = f.lengthen()
	default:
		err = f.cut(f.old.headSize + f.body)
	}
	if err == nil && exists(f.path) {
		// All draws of the .csv file are in the .part file now. The name of the .part file
		// must be on the disk before the .csv file is removed.
		if err = atomicfile.SyncDir(filepath.Dir(f.path)); err == nil {
			err = os.Remove(f.path)
		}
	}
	f.made, f.old, f.whole = false, nil, nil
	if err == nil {
		f.save()
		err = f.err
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

func (f *file) cut(size int64) error {
	err := f.f.Truncate(size)
	if err == nil {
		f.size, err = f.f.Seek(size, io.SeekStart)
	}
	return err
}

// lengthen changes the number of draws in the header.
func (f *file) lengthen() error {
	header := slices.Clone(f.old.header)
	for i := range header {
		if header[i].Key == lengthKey {
			header[i].Value = strconv.FormatInt(f.length, 10)
		}
	}
	head := appendFields(nil, header)
	head = append(append(head, strings.Join(f.old.columns, ",")...), '\n')

	from := f.partPath()
	if f.whole != nil {
		from = f.path
	}
	in, err := plainfile.OpenUnlinked(from)
	if err != nil {
		return err
	}
	defer in.Close()
	sum := crc64.New(crcTable)
	err = f.rewrite(io.TeeReader(io.MultiReader(bytes.NewReader(head), io.NewSectionReader(in, f.old.headSize, f.body)), sum), in)
	f.crc = sum.Sum64()
	return err
}

func (f *file) rewrite(content io.Reader, in *os.File) error {
	err := atomicfile.WriteVia(f.partPath()+tmpSuffix, f.partPath(), func(w io.Writer) error {
		if _, err := io.Copy(w, content); err != nil {
			return err
		}
		// On Windows, a rename cannot replace an open file.
		in.Close()
		f.f.Close()
		return nil
	})
	if err != nil {
		return err
	}
	if f.f, err = openForWriting(f.partPath()); err != nil {
		return err
	}
	f.size, err = f.f.Seek(0, io.SeekEnd)
	return err
}

// intact returns an error if another program, such as one that synchronises folders, has
// changed the length of the .part file. One that was removed or replaced is written again
// from the open file.
func (f *file) intact() error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != f.size {
		return fmt.Errorf("another program has changed %s: it has %d bytes, but %d were written: remove it and %s to start the chain again", f.partPath(), info.Size(), f.size, f.statePath())
	}
	if there, err := os.Lstat(f.partPath()); err == nil && os.SameFile(info, there) {
		return nil
	}
	return f.rewrite(io.NewSectionReader(f.f, 0, f.size), f.f)
}

func (f *file) Keep(x, generated []float64) {
	from := len(f.buf)
	f.buf = f.layout.appendRow(f.buf, x, generated)
	f.body += int64(len(f.buf) - from)
	f.bodyCRC = crc64.Update(f.bodyCRC, crcTable, f.buf[from:])
	if len(f.buf) >= flushSize {
		f.flush()
	}
}

func (f *file) flush() {
	if f.err == nil {
		f.err = f.intact()
	}
	if f.err == nil {
		_, f.err = f.f.Write(f.buf)
		f.size += int64(len(f.buf))
		f.crc = crc64.Update(f.crc, crcTable, f.buf)
	}
	f.buf = f.buf[:0]
}

// Turn completes a finished file, and otherwise saves the state at regular intervals.
func (f *file) Turn(_ *mcmc.Chain, finished bool) bool {
	switch {
	case finished:
		f.finish()
	case time.Since(f.saved) >= f.every:
		f.save()
	}
	return f.err == nil
}

func (f *file) save() {
	c := f.chain
	if f.f == nil || c.Iteration() == f.at || c.Interrupted() {
		return
	}
	f.flush()
	if f.err == nil {
		f.err = f.f.Sync()
	}
	if f.err != nil {
		return
	}
	s := &state{body: f.body, bodyCRC: f.bodyCRC, headCRC: f.headCRC, length: f.length, turn: c.TurnState()}
	if s.turn == nil && f.state != nil {
		s.turn = f.state.turn // no turn since
	}
	if e, ok := c.Kernel().(Evaluator); ok {
		s.density = e.Evaluate()
	}
	a := mcmc.NewArchive(nil)
	c.State(a)
	s.now = a.Bytes()
	data := s.encode()
	f.err = atomicfile.WriteVia(f.statePath()+tmpSuffix, f.statePath(), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	f.saved, f.at = time.Now(), c.Iteration()
}

// finish keeps the state, so that the chain can be extended.
func (f *file) finish() {
	f.save()
	burnIn, after := f.chain.Counts()
	keys, values := counts(&burnIn, &after)
	for i, key := range keys {
		f.buf = fmt.Appendf(f.buf, "# %s = %d\n", key, *values[i])
	}
	if f.notes != nil {
		for _, note := range f.notes(f.chain.Kernel()) {
			f.buf = fmt.Appendf(f.buf, "# note = %s\n", strings.Join(strings.Fields(note), " "))
		}
	}
	f.flush()
	f.buf = fmt.Appendf(f.buf, "# checksum = %016x\n", f.crc)
	f.flush()
	if f.err == nil {
		f.err = f.f.Sync()
	}
	if f.err == nil {
		f.err = f.f.Close() // before the rename, for Windows
		f.f = nil
	}
	if f.err == nil {
		_, f.err = readWhole(f.partPath(), nil) // whatever other programs have done to it
	}
	if f.err == nil {
		f.err = atomicfile.Rename(f.partPath(), f.path)
	}
	if f.err == nil {
		f.close()
	}
}

// close removes a .part file that this run created and did not write to.
func (f *file) close() {
	if f.f != nil {
		info, err := f.f.Stat()
		f.f.Close()
		if f.made && err == nil && info.Size() == 0 {
			os.Remove(f.partPath())
		}
		f.f = nil
	}
	if f.lock != nil {
		unlock(f.lock)
		f.lock = nil
	}
}
