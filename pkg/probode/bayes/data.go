package bayes

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/probode/probode/internal/plainfile"
)

// Data holds the observations of an experiment, ordered by time.
type Data struct {
	// T are the times.
	T []float64
	// Y holds a row for each time. NaN marks a missing value.
	Y [][]float64
	// Names are the names of the columns of Y; they may be nil.
	Names []string
	// Time is the name of the time variable in figures. If Time is empty, the name is
	// "t".
	Time string
}

func (d *Data) columns() int {
	if len(d.Y) == 0 {
		return 0
	}
	return len(d.Y[0])
}

func (d *Data) validate() error {
	if len(d.T) == 0 {
		return errors.New("data: there are no observations")
	}
	if len(d.Y) != len(d.T) {
		return fmt.Errorf("data: the number of rows is %d and the number of times is %d: want one row for each time", len(d.Y), len(d.T))
	}
	for i, t := range d.T {
		switch {
		case math.IsNaN(t) || math.IsInf(t, 0):
			return fmt.Errorf("data: time %d is %g: want a finite number", i+1, t)
		case i > 0 && t == d.T[i-1]:
			return fmt.Errorf("data: time %g comes after %g: want increasing times; several observations at one time belong in separate columns, or in another experiment", t, d.T[i-1])
		case i > 0 && t < d.T[i-1]:
			return fmt.Errorf("data: time %g comes after %g: want increasing times", t, d.T[i-1])
		case len(d.Y[i]) != d.columns():
			return fmt.Errorf("data: there are %d values at t = %g: want %d, as in the first row", len(d.Y[i]), t, d.columns())
		}
		for k, y := range d.Y[i] {
			if math.IsInf(y, 0) {
				return fmt.Errorf("data: value %d at t = %g is %g: want a number, or NaN for a missing value", k+1, t, y)
			}
		}
	}
	return nil
}

// ReadCSV reads observations from a UTF-8 table with a header row. The argument `time` is
// the name of the time column, and `columns` holds the names of the value columns, in the
// order of the result. Other columns are ignored. Numbers are written in decimal
// notation. An empty cell, NaN, or NA is a missing value. ReadCSV returns an error if all
// values of a column are missing, if the time column is also listed as a value column, or
// if a requested column occurs twice in `columns` or in the header. Error messages
// contain the number of the line.
func ReadCSV(r io.Reader, time string, columns ...string) (*Data, error) {
	text := bufio.NewReader(r)
	if err := checkText(text); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	in := csv.NewReader(text)
	in.Comment = '#'
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err == io.EOF {
		return nil, errors.New("data: the file is empty: want a header row")
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	at := make([]int, 1+len(columns))
	for i, name := range append([]string{time}, columns...) {
		at[i] = slices.Index(header, name)
		if at[i] < 0 {
			return nil, fmt.Errorf("data: there is no column %q: %s", name, describe(header))
		}
		if slices.Contains(header[at[i]+1:], name) {
			return nil, fmt.Errorf("data: the header contains the column %q twice: want different names", name)
		}
		switch j := slices.Index(at[:i], at[i]); {
		case j == 0:
			return nil, fmt.Errorf("data: column %q contains the times: name another column for the values", name)
		case j > 0: // the data of the column would count twice
			return nil, fmt.Errorf("data: column %q is requested twice: want different columns", name)
		}
	}
	d := &Data{Names: slices.Clone(columns), Time: time}
	for {
		rec, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		line, _ := in.FieldPos(0)
		row := make([]float64, len(at))
		for i, c := range at {
			cell := strings.TrimSpace(rec[c])
			if i > 0 && (cell == "" || cell == "NA") {
				row[i] = math.NaN()
				continue
			}
			// ParseFloat also accepts the Go notations 1_000 and 0x1p3, which are most
			// likely mistakes in a data table.
			if row[i], err = strconv.ParseFloat(cell, 64); err != nil || strings.ContainsAny(cell, "_xX") {
				return nil, fmt.Errorf("data: line %d, column %q: %s is not a number", line, header[c], quoted(cell))
			}
		}
		d.T = append(d.T, row[0])
		d.Y = append(d.Y, row[1:])
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	for k, name := range columns {
		if !slices.ContainsFunc(d.Y, func(row []float64) bool { return !math.IsNaN(row[k]) }) {
			return nil, fmt.Errorf("data: column %q contains no numbers: leave it out", name)
		}
	}
	return d, nil
}

// maxFile is much larger than most tables, and fits in memory.
const maxFile = 256 << 20 // bytes

// ReadFile reads the named file with [ReadCSV]. Error messages do not contain the name of
// the file.
func ReadFile(path, time string, columns ...string) (*Data, error) {
	f, err := plainfile.Open(path)
	var d *Data
	if err == nil {
		defer f.Close()
		in := &io.LimitedReader{R: f, N: maxFile}
		if d, err = ReadCSV(in, time, columns...); in.N == 0 {
			return nil, fmt.Errorf("the file is larger than the limit of %d MiB", maxFile>>20)
		}
	}
	if why := (*os.PathError)(nil); errors.As(err, &why) {
		err = why.Err
	}
	return d, err
}

// checkText refuses what is not UTF-8, and skips a byte order mark, which spreadsheets
// write.
func checkText(in *bufio.Reader) error {
	head, err := in.Peek(in.Size())
	if err != nil && err != io.EOF {
		return err
	}
	for _, known := range []struct{ mark, fault string }{
		{"\xff\xfe", "the file is in UTF-16: want UTF-8"},
		{"\xfe\xff", "the file is in UTF-16: want UTF-8"},
		{"\x1f\x8b", "the file is compressed with gzip: decompress it first"},
		{"PK\x03\x04", "the file is a zip archive, such as a spreadsheet workbook: save the table as a CSV text file"},
	} {
		if bytes.HasPrefix(head, []byte(known.mark)) {
			return errors.New(known.fault)
		}
	}
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		return errors.New("the file contains NUL bytes: want text in UTF-8")
	case bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0:
		return errors.New("the lines end in CR only: want LF or CR LF")
	case bytes.HasPrefix(head, []byte("\ufeff")):
		in.Discard(len("\ufeff"))
	}
	return nil
}

// describe fits a header on a line, and remarks on separators other than a comma.
func describe(header []string) string {
	var b strings.Builder
	for i, name := range header {
		if b.Len() > 200 {
			fmt.Fprintf(&b, ", … (%d columns)", len(header))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if q := quoted(name); q != `"`+name+`"` {
			name = q // too long, or with characters that must not be printed
		}
		b.WriteString(name)
	}
	text := "the header has " + b.String()
	if len(header) == 1 {
		switch {
		case strings.Contains(header[0], ";"):
			return text + `: the separator seems to be ";": want commas`
		case strings.Contains(header[0], "\t"):
			return text + ": the separator seems to be a tab: want commas"
		}
	}
	return text
}

func quoted(text string) string {
	const most = 40
	if len(text) <= most {
		return strconv.Quote(text)
	}
	n := most
	for !utf8.RuneStart(text[n]) && n > most-utf8.UTFMax {
		n--
	}
	return strconv.Quote(text[:n]) + "…"
}
