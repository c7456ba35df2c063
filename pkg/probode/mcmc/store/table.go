package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
)

type table struct {
	header  []mcmc.Field
	columns []string
	rows    int
	trailer []mcmc.Field
	sealed  bool   // the file has a line with a checksum
	sum     uint64 // the checksum in that line

	size int64  // bytes read
	crc  uint64 // the checksum of the bytes before that line
	// The file is divided into a head and a body. The head consists of all lines before
	// the first draw, except the line that contains the number of draws. The body
	// consists of all lines from the first draw on.
	headSize         int64
	headCRC, bodyCRC uint64

	samples                             int64 // iterations after burn-in
	chain, chains, draws, stats, params int
	burnIn, after                       mcmc.Stats
	names                               []string // of the columns, as the caller gave them

	// If Read reads the file, these are the draws, the quantities, the numbers of a line,
	// and space for further draws.
	drawn, generated [][]float64
	cells, space     []float64
}

func (t *table) body() int64 { return t.size - t.headSize }

func lookup(fields []mcmc.Field, key string) (value string, ok bool) {
	for _, f := range fields {
		if f.Key == key {
			return f.Value, true
		}
	}
	return "", false
}

// If the limit passed to scan() is the constant `everything`, the whole file is read.
const everything = -1

// scan reads `body` bytes after the column names, or everything, and calls row for each
// draw. With an error comes a table of the lines before it.
func scan(in io.Reader, body int64, row func(t *table, line []byte) error) (*table, error) {
	t := new(table)
	r := bufio.NewReaderSize(in, 1<<16)
	var line []byte
	for {
		if t.columns != nil && body != everything && t.body() >= body {
			return t, nil
		}
		line = line[:0]
		var err error
		for more := true; more; {
			var part []byte
			part, err = r.ReadSlice('\n')
			line = append(line, part...)
			more = errors.Is(err, bufio.ErrBufferFull)
			if t.columns == nil && len(t.header) == 0 && len(line) > maxFirst {
				return t, fmt.Errorf("the first line of the file begins with %q: want “format = %s%d”", text.Clip(string(line[:maxFirst])), formatPrefix, formatVersion)
			}
			if len(line) > maxLine {
				return t, fmt.Errorf("line %d of the file is longer than %d MiB", len(t.header)+t.rows+1, maxLine>>20)
			}
		}
		if err != nil && err != io.EOF {
			return t, err
		}
		whole := err == nil
		if err := t.line(line, whole, row); err != nil || !whole { // the end, or an incomplete line
			return t, err
		}
	}
}

const maxFirst = 200

// maxLine is enough for a draw of ten million numbers.
const maxLine = 256 << 20

func (t *table) line(line []byte, whole bool, row func(t *table, line []byte) error) (err error) {
	t.size += int64(len(line))
	content, comment := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("# "))
	if sum, ok := bytes.CutPrefix(content, []byte("checksum = ")); ok && comment && whole {
		if t.sealed {
			return errors.New("the file has two checksums")
		}
		t.sealed = true
		t.sum, err = strconv.ParseUint(string(sum), 16, 64)
		if err != nil || fmt.Sprintf("%016x", t.sum) != string(sum) {
			return fmt.Errorf("the checksum of the file is %q: want 16 hexadecimal digits", text.Clip(string(sum)))
		}
		return nil
	}
	if t.sealed && len(line) > 0 {
		return errors.New("something follows the checksum")
	}
	t.crc = crc64.Update(t.crc, crcTable, line)
	if t.columns != nil {
		t.bodyCRC = crc64.Update(t.bodyCRC, crcTable, line)
	} else {
		t.headSize = t.size
		if !bytes.HasPrefix(line, []byte("# "+lengthKey+" = ")) {
			t.headCRC = crc64.Update(t.headCRC, crcTable, line)
		}
	}
	switch {
	case !whole:
		return nil
	case comment:
		return t.field(string(content))
	case t.columns == nil && !printable(string(content)):
		return fmt.Errorf("its columns are %q", text.Clip(string(content)))
	case t.columns == nil:
		t.columns = strings.Split(string(content), ",")
		return t.interpret()
	}
	t.rows++
	if row != nil {
		if err := row(t, content); err != nil {
			return fmt.Errorf("draw %d: %w", t.rows, err)
		}
	}
	return nil
}

func (t *table) field(content string) error {
	key, value, ok := strings.Cut(content, " = ")
	if !ok || !printable(content) {
		return fmt.Errorf("the comment is %q: want “key = value”", text.Clip(content))
	}
	if t.columns != nil {
		t.trailer = append(t.trailer, mcmc.Field{Key: key, Value: value})
		return nil
	}
	t.header = append(t.header, mcmc.Field{Key: key, Value: value})
	if len(t.header) == 1 {
		return checkFormat(key, value)
	}
	return nil
}

func checkFormat(key, value string) error {
	v, ok := strings.CutPrefix(value, formatPrefix)
	n, err := strconv.Atoi(v)
	if key != "format" || !ok || err != nil {
		return fmt.Errorf("the first line of the file is %q: want “format = %s%d”", text.Clip(key+" = "+value), formatPrefix, formatVersion)
	}
	if n != formatVersion {
		return fmt.Errorf("the file uses version %d of the format, but this program reads version %d", n, formatVersion)
	}
	return nil
}

func (t *table) interpret() error {
	if len(t.header) == 0 {
		return fmt.Errorf("the file has no header: want “format = %s%d” in the first line", formatPrefix, formatVersion)
	}
	var samples, thin int
	for _, n := range []struct {
		key   string
		least int
		v     *int
	}{
		{"chain", 1, &t.chain}, {"num_chains", 1, &t.chains}, {"num_samples", 0, &samples}, {"thin", 1, &thin},
		{"num_stats", 0, &t.stats}, {"num_params", 0, &t.params},
	} {
		value, _ := lookup(t.header, n.key)
		var err error
		if *n.v, err = strconv.Atoi(value); err != nil || *n.v < n.least {
			return fmt.Errorf("%s is %q: want a whole number ≥ %d", n.key, text.Clip(value), n.least)
		}
	}
	if t.chains > mcmc.MaxChains {
		return fmt.Errorf("num_chains is %d: want at most %d", t.chains, mcmc.MaxChains)
	}
	t.samples = int64(samples)
	t.draws = samples / thin
	if t.stats > len(t.columns) || t.params > len(t.columns)-t.stats { // the sum may be beyond an int
		return fmt.Errorf("the file has %d columns, too few for the %d statistics and %d parameters in its header", len(t.columns), t.stats, t.params)
	}
	t.names = slices.Clone(t.columns)
	for _, f := range t.header {
		if k, ok := strings.CutPrefix(f.Key, "name."); ok {
			i, err := strconv.Atoi(k)
			name, bad := strconv.Unquote(f.Value)
			if err != nil || bad != nil || i < 1 || i > len(t.names) {
				return fmt.Errorf("the header contains “%s = %s”: want the number of a column and its quoted name", text.Clip(f.Key), text.Clip(f.Value))
			}
			t.names[i-1] = name
		}
	}
	return nil
}

func (t *table) check() error {
	switch {
	case t.columns == nil || !t.sealed:
		return errors.New("the file ends too early")
	case t.sum != t.crc:
		return fmt.Errorf("the checksum of the file is %016x, but should be %016x", t.crc, t.sum)
	case t.rows != t.draws:
		return fmt.Errorf("the file has %d draws: want %d", t.rows, t.draws)
	}
	keys, values := counts(&t.burnIn, &t.after)
	for i, key := range keys {
		value, ok := lookup(t.trailer, key)
		if !ok {
			return fmt.Errorf("%s is missing", key)
		}
		var err error
		if *values[i], err = strconv.Atoi(value); err != nil {
			return fmt.Errorf("%s is %q: want a number", key, text.Clip(value))
		}
	}
	return nil
}

// parse appends the first `most` numbers of a line that must have one for each column.
func (t *table) parse(dst []float64, line []byte, most int) ([]float64, error) {
	if n := bytes.Count(line, []byte(",")) + 1; n != len(t.columns) {
		return nil, fmt.Errorf("the line of a draw has %d numbers: want %d", n, len(t.columns))
	}
	for range most {
		var cell []byte
		cell, line, _ = bytes.Cut(line, []byte(","))
		v, err := strconv.ParseFloat(string(cell), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", text.Clip(string(cell)))
		}
		dst = append(dst, v)
	}
	return dst, nil
}

func readWhole(path string, row func(t *table, line []byte) error) (*table, error) {
	f, err := plainfile.OpenUnlinked(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := scan(f, everything, row)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", path, err)
	}
	return t, nil
}

func readHeader(path string) (*table, error) {
	f, err := plainfile.OpenUnlinked(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return scan(f, 0, nil)
}

// begun refuses a .part file without a state that has more than a header, because the
// chain would overwrite it.
func begun(f *os.File, partPath, statePath string) error {
	t, err := scan(io.NewSectionReader(f, 0, 1<<62), everything, nil)
	foreign := func(why string) error {
		return fmt.Errorf("%s does not belong to this study (%s): move it elsewhere", partPath, why)
	}
	switch {
	case len(t.header) == 0 && t.columns == nil: // it has no complete line
		first := make([]byte, min(t.size, maxFirst))
		if _, e := f.ReadAt(first, 0); e != nil && !errors.Is(e, io.EOF) {
			return e
		}
		if own := fmt.Sprintf("# format = %s%d\n", formatPrefix, formatVersion); strings.HasPrefix(own, string(first)) {
			return nil
		}
		if err == nil {
			err = errors.New("the file has no header")
		}
		return foreign(err.Error())
	case err != nil:
		return foreign(err.Error())
	case t.body() > 0:
		return fmt.Errorf("%[1]s is missing, so the chain in %[2]s cannot be resumed: restore %[1]s, or remove %[2]s to restart the chain", statePath, partPath)
	}
	return nil
}
