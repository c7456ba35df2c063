package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/probode/probode/internal/shell"
)

// A row of a table is stored in a struct. The tag `csv` of a field contains the name of
// its column. The tag of an array field contains one column name for each element of the
// array. If a field is itself a struct, its tag is the prefix of the column names of the
// inner fields.

func places(row reflect.Value, prefix string) (names []string, at []reflect.Value) {
	for i := range row.NumField() {
		field, tag := row.Field(i), row.Type().Field(i).Tag.Get("csv")
		switch field.Kind() {
		case reflect.Struct:
			n, a := places(field, prefix+tag)
			names, at = append(names, n...), append(at, a...)
		case reflect.Array:
			for k, name := range strings.Fields(tag) {
				names, at = append(names, prefix+name), append(at, field.Index(k))
			}
		default:
			names, at = append(names, prefix+tag), append(at, field)
		}
	}
	return names, at
}

func unknown[T any]() T {
	var row T
	_, at := places(reflect.ValueOf(&row).Elem(), "")
	for _, v := range at {
		if v.Kind() == reflect.Float64 {
			v.SetFloat(math.NaN())
		}
	}
	return row
}

func encode[T any](rows []T, digits int) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // to memory, where writing cannot fail
	names, _ := places(reflect.ValueOf(new(T)).Elem(), "")
	w.Write(names)
	for i := range rows {
		w.Write(record(&rows[i], digits))
	}
	w.Flush()
	return b.Bytes()
}

func record[T any](row *T, digits int) []string {
	var line []string
	_, at := places(reflect.ValueOf(row).Elem(), "")
	for _, v := range at {
		if v.Kind() == reflect.Float64 {
			line = append(line, strconv.FormatFloat(v.Float(), 'g', digits, 64))
		} else {
			line = append(line, fmt.Sprint(v))
		}
	}
	return line
}

func decode[T any](data []byte) ([]T, error) {
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, err
	}
	names, _ := places(reflect.ValueOf(new(T)).Elem(), "")
	if len(records) == 0 || !slices.Equal(records[0], names) {
		return nil, errors.New("the file does not have the columns that this version of the program writes")
	}
	rows := make([]T, len(records)-1)
	for i := range rows {
		_, at := places(reflect.ValueOf(&rows[i]).Elem(), "")
		for k, v := range at {
			cell := records[i+1][k]
			if v.Kind() == reflect.String {
				v.SetString(cell)
				continue
			}
			var err error
			if v.Kind() == reflect.Int {
				var n int64
				n, err = strconv.ParseInt(cell, 10, 64)
				v.SetInt(n)
			} else {
				var x float64
				x, err = strconv.ParseFloat(cell, 64)
				v.SetFloat(x)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d, column %s: %.80q is not a number", i+2, names[k], cell)
			}
		}
	}
	return rows, nil
}

// A ledger is written after every new row, so that a run can be continued. Keys identify
// rows.
type ledger[T any] struct {
	path string
	key  func(*T) string

	mu   sync.Mutex
	rows []T
}

func open[T any](path string, key func(*T) string) (*ledger[T], error) {
	l := &ledger[T]{path: path, key: key}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		l.rows, err = decode[T](data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it to begin again", path, err)
	}
	return l, nil
}

func (l *ledger[T]) only(inputs string, of func(*T) string) error {
	for i := range l.rows {
		if its := of(&l.rows[i]); its != inputs {
			return fmt.Errorf("%s has results for %s, not for %s: choose another folder with -out", l.path, its, inputs)
		}
	}
	return nil
}

func (l *ledger[T]) find(key string) *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.rows {
		if l.key(&l.rows[i]) == key {
			return &l.rows[i]
		}
	}
	return nil
}

func (l *ledger[T]) add(rows ...T) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range rows {
		key := l.key(&rows[i])
		l.rows = slices.DeleteFunc(l.rows, func(old T) bool { return l.key(&old) == key })
	}
	l.rows = append(l.rows, rows...)
	return l.save()
}

// arrange removes rows with a negative sort key.
func (l *ledger[T]) arrange(place func(*T) []float64) error {
	l.rows = slices.DeleteFunc(l.rows, func(r T) bool { return slices.Min(place(&r)) < 0 })
	slices.SortStableFunc(l.rows, func(a, b T) int { return slices.Compare(place(&a), place(&b)) })
	return l.save()
}

func (l *ledger[T]) save() error { return shell.WriteFile(l.path, encode(l.rows, 6)) }

func named[T any](list []T, name func(*T) string, want string) float64 {
	for i := range list {
		if name(&list[i]) == want {
			return float64(i)
		}
	}
	return -1
}
