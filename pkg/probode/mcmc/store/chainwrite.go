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

// How the file of a chain grows: from what there is, a new header or draws of an
// earlier run, over draws and states to the .csv.

// flushSize is how many bytes of draws are gathered before they are written.
const flushSize = 1 << 16

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
