package bayes

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Data are observations at increasing times.
type Data struct {
	// T are the times.
	T []float64
	// Y holds a row for each time. An element that is NaN is missing.
	Y [][]float64
	// Names are the names of the columns of Y; they may be nil.
	Names []string
}

func (d *Data) columns() int {
	if len(d.Y) == 0 {
		return 0
	}
	return len(d.Y[0])
}

func (d *Data) validate() error {
	if len(d.T) == 0 {
		return errors.New("data: no observations")
	}
	if len(d.Y) != len(d.T) {
		return fmt.Errorf("data: %d rows for %d times", len(d.Y), len(d.T))
	}
	for i, t := range d.T {
		switch {
		case math.IsNaN(t) || math.IsInf(t, 0):
			return fmt.Errorf("data: time %d is %g: want a finite number", i+1, t)
		case i > 0 && t <= d.T[i-1]:
			return fmt.Errorf("data: time %g comes after %g: want increasing times", t, d.T[i-1])
		case len(d.Y[i]) != d.columns():
			return fmt.Errorf("data: %d values at t = %g: want %d as in the first row", len(d.Y[i]), t, d.columns())
		}
		for k, y := range d.Y[i] {
			if math.IsInf(y, 0) {
				return fmt.Errorf("data: value %d at t = %g is %g: want a number, or NaN where it is missing", k+1, t, y)
			}
		}
	}
	return nil
}

// ReadCSV reads observations from a table with a header row. time is the name
// of the column of times and columns those of the values, in the order wanted;
// other columns are ignored. An empty cell or NaN is a missing value. Errors
// name the line.
func ReadCSV(r io.Reader, time string, columns ...string) (*Data, error) {
	in := csv.NewReader(r)
	in.Comment = '#'
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err == io.EOF {
		return nil, errors.New("data: the file is empty: want a header row")
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // the mark that spreadsheets put in front
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	at := make([]int, 1+len(columns))
	for i, name := range append([]string{time}, columns...) {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return nil, fmt.Errorf("data: no column %q: the header has %s", name, strings.Join(header, ", "))
		}
	}
	d := &Data{Names: slices.Clone(columns)}
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
			if cell == "" && i > 0 {
				row[i] = math.NaN()
				continue
			}
			if row[i], err = strconv.ParseFloat(cell, 64); err != nil {
				return nil, fmt.Errorf("data: line %d, column %q: %q is not a number", line, header[c], cell)
			}
		}
		d.T = append(d.T, row[0])
		d.Y = append(d.Y, row[1:])
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	return d, nil
}
