package store

import (
	"bytes"
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

	"github.com/probode/probode/pkg/internal/atomicfile"
	"github.com/probode/probode/pkg/probode/mcmc"
)

const (
	partSuffix  = ".part"  // of the draws of a chain that is not finished
	stateSuffix = ".state" // in place of .csv
	tmpSuffix   = ".tmp"   // of what is about to get its name

	// flushSize is how many bytes of draws are gathered before they are
	// written.
	flushSize = 1 << 16
)

var errLocked = errors.New("another process is at work on this chain")

// A file takes the draws of one chain. The chain is, at any moment, in one of
// these conditions on the disk:
//
//   - no state: nothing has been drawn yet. There may be a .part with no more
//     than a header;
//   - a state, and a .part that begins with the draws which the state knows of.
//     What follows them is drawn again;
//   - a .csv and a state that knows of all its draws: the chain is finished, and
//     can be extended. There may be a .part: somebody has begun to extend it. If
//     the draws in it are those that the state knows of, it takes the place of the
//     .csv; else it is made again from that.
//
// One passes to the next by a rename or a removal. Whoever writes holds a lock on
// the .part, which the system lifts when the process ends, in whatever way.
type file struct {
	path  string // of the .csv
	chain *mcmc.Chain
	f     *os.File // the .part, locked
	made  bool     // by this call
	done  bool     // the .csv was there, with all the draws

	whole *table // the .csv was there, with fewer draws than are wanted
	old   *table // what was there: the draws of the .csv, or those that the state knows of
	state *state

	layout  *layout
	buf     []byte // draws to be written
	crc     uint64 // of all bytes written
	body    int64  // bytes written behind the line of the columns
	bodyCRC uint64 // of these
	headCRC uint64 // see state
	length  int64  // of the chain, in iterations after burn-in
	history []string

	every time.Duration
	saved time.Time
	at    int // the iteration at which the state was saved
	err   error
}

var _ mcmc.Sink = (*file)(nil)

func (f *file) partPath() string  { return f.path + partSuffix }
func (f *file) statePath() string { return statePath(f.path) }

// statePath returns the path of the state that belongs to a .csv.
func statePath(path string) string { return strings.TrimSuffix(path, ".csv") + stateSuffix }

// claim looks at what there is of a chain and, if draws are wanting, locks it.
func claim(dir string, c *mcmc.Chain, draws int) (*file, error) {
	f := &file{path: chainPath(dir, c.Index()), chain: c}
	if exists(f.path) {
		t, err := readHeader(f.path)
		if err != nil || t.draws >= draws {
			return f, f.finished(draws)
		}
	}
	f.made = !exists(f.partPath())
	part, err := openForWriting(f.partPath())
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	f.f = part
	if err := lock(part); err != nil {
		f.close()
		return nil, fmt.Errorf("store: %s: %w", f.partPath(), err)
	}
	// Another process may have finished the chain, or removed what there was,
	// between the opening and the lock.
	mine, err := part.Stat()
	there, e := os.Stat(f.partPath())
	if err != nil || e != nil || !os.SameFile(mine, there) {
		f.made = false
		f.close()
		if exists(f.path) {
			return f, f.finished(draws)
		}
		return nil, fmt.Errorf("store: %s: %w", f.partPath(), errLocked)
	}
	if exists(f.path) {
		if err := f.finished(draws); err != nil || f.done {
			f.close()
			return f, err
		}
	}
	if err := f.load(mine.Size()); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// finished reads the .csv, which may have fewer draws than are wanted.
func (f *file) finished(draws int) error {
	t, err := readWhole(f.path, f.recorder())
	if err != nil {
		return err
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

// recorder returns a function that tells the chain of the draws in a file.
func (f *file) recorder() func(t *table, line []byte) error {
	var x []float64
	return func(t *table, line []byte) error {
		return f.chain.Recall(func() (_ []float64, err error) {
			if x, err = t.parse(x[:0], line); err != nil {
				return nil, err
			}
			return x[t.stats : t.stats+t.params], nil
		})
	}
}

// load reads the state and the draws that it knows of.
func (f *file) load(size int64) error {
	for path, magic := range map[string]string{
		f.statePath() + tmpSuffix: stateMagic,
		f.partPath() + tmpSuffix:  "# format = " + formatPrefix,
	} {
		if err := replaceable(path, magic); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	data, err := readAll(f.statePath())
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
		return fmt.Errorf("store: %w", err)
	}
	if f.state, err = decodeState(data); err != nil {
		return fmt.Errorf("store: %s cannot be used: %w", f.statePath(), err)
	}
	if f.whole != nil {
		// Either will do. The .part is there whole if the .csv is about to be
		// removed.
		if t, err := f.known(f.f, size, nil); err == nil {
			f.old, f.whole = t, nil
			return nil
		}
		csv, err := openForReading(f.path)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		defer csv.Close()
		if _, err := f.known(csv, f.whole.size, nil); err != nil {
			return fmt.Errorf("store: %s cannot be used: it is not the state at the end of %s, so that the chain cannot be extended: %w", f.statePath(), f.path, err)
		}
		return nil
	}
	if f.old, err = f.known(f.f, size, f.recorder()); err != nil {
		return fmt.Errorf("store: %s cannot be used: %w", f.partPath(), err)
	}
	return nil
}

func readAll(path string) ([]byte, error) {
	in, err := openForReading(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// known reads the draws that the state knows of.
func (f *file) known(in io.ReaderAt, size int64, row func(t *table, line []byte) error) (*table, error) {
	t, err := scan(io.NewSectionReader(in, 0, size), f.state.body, row)
	switch {
	case t.columns == nil && size == t.size: // before errors of the header, which may be cut
		return nil, fmt.Errorf("it has %d bytes, and ends before the draws do", size)
	case t.columns != nil && size < t.headSize+f.state.body:
		return nil, fmt.Errorf("it has %d bytes, want at least %d", size, t.headSize+f.state.body)
	case err != nil:
		return nil, err
	case t.samples < f.state.length:
		return nil, fmt.Errorf("%s is %d in its header, want at least %d", lengthKey, t.samples, f.state.length)
	case t.headCRC != f.state.headCRC:
		return nil, fmt.Errorf("the checksum of its header is %016x and should be %016x", t.headCRC, f.state.headCRC)
	case t.body() != f.state.body || t.bodyCRC != f.state.bodyCRC || t.sealed:
		return nil, fmt.Errorf("the checksum of its draws is %016x and should be %016x", t.bodyCRC, f.state.bodyCRC)
	}
	return t, nil
}

// restore gives the chain, which has been started, its state back, and sees
// whether it is still the same chain: whether the log density at its position is
// the same, and whether its last turn leads there once more.
func (f *file) restore(here maker) error {
	s, c := f.state, f.chain
	give := func(state []byte) error {
		a := mcmc.NewArchive(state)
		c.State(a)
		if err := a.Err(); err != nil {
			return fmt.Errorf("store: %s cannot be used: the sampler does not know it: %w", f.statePath(), err)
		}
		return nil
	}
	if err := give(s.now); err != nil {
		return err
	}
	there := makerOf(f.old.header)
	if e, ok := c.Kernel().(Evaluator); ok {
		if d := changed(s.density, e.Evaluate()); d != nil {
			return fmt.Errorf("store: %s: the chain cannot be resumed: the log density at its position is %.17g, and was %.17g when it was saved, a relative difference of %.1g; %s",
				f.statePath(), d.is, d.was, d.relative, d.cause(there, here))
		}
	}
	if len(s.turn) > 0 {
		at, x := c.Iteration(), slices.Clone(c.Kernel().Position())
		if err := give(s.turn); err != nil {
			return err
		}
		from := c.Iteration()
		c.Replay(at)
		a := mcmc.NewArchive(nil)
		c.State(a)
		if !bytes.Equal(a.Bytes(), s.now) {
			d := changed(x, c.Kernel().Position())
			if d == nil {
				return fmt.Errorf("store: %s: the chain cannot be resumed: its last %d iterations, made again, lead to the same draw but another state of the sampler: its settings, or it, are not the ones that it was drawn with", f.statePath(), at-from)
			}
			return fmt.Errorf("store: %s: the chain cannot be resumed: its last %d iterations, made again, lead to another draw, %.17g in the place of %.17g, a relative difference of %.1g; %s",
				f.statePath(), at-from, d.is, d.was, d.relative, d.cause(there, here))
		}
	}
	f.history = s.history
	last := there.String()
	if n := len(f.history); n > 0 {
		_, last, _ = strings.Cut(f.history[n-1], drawnBy)
	}
	if last != here.String() {
		f.history = append(f.history, fmt.Sprintf("from iteration %d on%s%v", c.Iteration()+1, drawnBy, here))
	}
	return nil
}

const drawnBy = " drawn by "

// ready prepares the file for the next draw of s. Nothing is written yet.
func (f *file) ready(l *layout, s *study) error {
	f.layout, f.length = l, int64(s.Draws*s.Thin)
	if f.state == nil {
		if f.whole != nil {
			return fmt.Errorf("store: %s is missing beside %s: the chain cannot be extended; draw the study again in another directory", f.statePath(), f.path)
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

// begin writes what a file holds before the next draw.
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
		// All its draws are in the .part now, whose name has to be on the disk
		// before this one goes.
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

// cut ends the .part, and goes there.
func (f *file) cut(size int64) error {
	err := f.f.Truncate(size)
	if err == nil {
		_, err = f.f.Seek(size, io.SeekStart)
	}
	return err
}

// lengthen puts a .part in the place of what there is, with the same draws and a
// header that says how many there are to be.
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
	in, err := openForReading(from)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp := f.partPath() + tmpSuffix
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	f.crc = crc64.Checksum(head, crcTable)
	sum := crcWriter{&f.crc}
	err = lock(part) // before others can see it
	if err == nil {
		_, err = part.Write(head)
	}
	if err == nil {
		_, err = io.Copy(io.MultiWriter(part, sum), io.NewSectionReader(in, f.old.headSize, f.body))
	}
	if err == nil {
		err = part.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, f.partPath())
	}
	if err != nil {
		part.Close()
		os.Remove(tmp)
		return err
	}
	f.f.Close()
	f.f = part
	return nil
}

// A crcWriter sums up what is written to it.
type crcWriter struct{ crc *uint64 }

func (w crcWriter) Write(p []byte) (int, error) {
	*w.crc = crc64.Update(*w.crc, crcTable, p)
	return len(p), nil
}

// Keep writes a draw.
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
		_, f.err = f.f.Write(f.buf)
		f.crc = crc64.Update(f.crc, crcTable, f.buf)
	}
	f.buf = f.buf[:0]
}

// Turn does what is due when the chain rests: it ends the file or saves the state
// from time to time. It tells whether all is well.
func (f *file) Turn(_ *mcmc.Chain, finished bool) bool {
	switch {
	case finished:
		f.finish()
	case time.Since(f.saved) >= f.every:
		f.save()
	}
	return f.err == nil
}

// save brings draws and state to the disk, the draws first.
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
	s := &state{body: f.body, bodyCRC: f.bodyCRC, headCRC: f.headCRC, length: f.length, history: f.history, turn: c.TurnState()}
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

// finish writes what comes after the draws and gives the file its name. The state
// stays, so that the chain can be extended.
func (f *file) finish() {
	f.save()
	burnIn, after := f.chain.Counts()
	keys, values := counts(&burnIn, &after)
	for i, key := range keys {
		f.buf = fmt.Appendf(f.buf, "# %s = %d\n", key, *values[i])
	}
	notes := f.history
	if n, ok := f.chain.Kernel().(Noter); ok {
		notes = append(slices.Clone(n.Notes()), notes...)
	}
	for _, note := range notes {
		f.buf = fmt.Appendf(f.buf, "# note = %s\n", strings.Join(strings.Fields(note), " "))
	}
	f.flush()
	f.buf = fmt.Appendf(f.buf, "# checksum = %016x\n", f.crc)
	f.flush()
	if f.err == nil {
		f.err = f.f.Sync()
	}
	if f.err == nil {
		f.err = os.Rename(f.partPath(), f.path)
	}
	if f.err == nil {
		f.err = atomicfile.SyncDir(filepath.Dir(f.path))
	}
	if f.err == nil {
		f.f.Close() // lifts the lock
		f.f = nil
	}
}

// close lifts the lock. A file that this call has made and not begun goes.
func (f *file) close() {
	if f.f == nil {
		return
	}
	if f.made {
		if info, err := f.f.Stat(); err == nil && info.Size() == 0 {
			os.Remove(f.partPath())
		}
	}
	f.f.Close()
	f.f = nil
}
