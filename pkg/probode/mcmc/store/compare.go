package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A mismatch is a setting, or a column, in which two files differ.
type mismatch struct{ key, a, b string }

// difference returns the first setting in which two headers differ, or nil if there is
// none. The comparison ignores which chains the files hold, and which programs wrote the
// files. Notes often depend on other settings, so the function compares the notes after
// those settings. A different number of draws is returned only if the files differ in
// nothing else. If one of the lists of columns is nil, the columns are not compared.
func difference(a, b []mcmc.Field, aColumns, bColumns []string) *mismatch {
	const none = "nothing"
	var length *mismatch
	compared := func(fields []mcmc.Field) []mcmc.Field {
		is := func(key string) []mcmc.Field {
			return slices.DeleteFunc(slices.Clone(fields), func(f mcmc.Field) bool {
				return isMaker(f.Key) || f.Key == "chain" || (f.Key == "note") != (key == "note")
			})
		}
		return append(is(""), is("note")...)
	}
	a, b = compared(a), compared(b)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return clip(b[i].Key, none, b[i].Value)
		case i >= len(b):
			return clip(a[i].Key, a[i].Value, none)
		case a[i].Key != b[i].Key:
			if !slices.ContainsFunc(b, func(f mcmc.Field) bool { return f.Key == a[i].Key }) {
				return clip(a[i].Key, a[i].Value, none)
			}
			if !slices.ContainsFunc(a, func(f mcmc.Field) bool { return f.Key == b[i].Key }) {
				return clip(b[i].Key, none, b[i].Value)
			}
			return clip("order of settings", a[i].Key, b[i].Key)
		case a[i].Value != b[i].Value && a[i].Key == lengthKey:
			length = clip(lengthKey, a[i].Value, b[i].Value)
		case a[i].Value != b[i].Value:
			return clip(a[i].Key, a[i].Value, b[i].Value)
		}
	}
	if aColumns != nil && bColumns != nil {
		for i := range max(len(aColumns), len(bColumns)) {
			va, vb := none, none
			if i < len(aColumns) {
				va = aColumns[i]
			}
			if i < len(bColumns) {
				vb = bColumns[i]
			}
			if va != vb {
				return clip(fmt.Sprintf("column %d", i+1), va, vb)
			}
		}
	}
	return length
}

// clip returns a mismatch that is short enough for a message. If the values are long and
// begin with the same text, the mismatch contains only the text around the first
// difference.
func clip(key, a, b string) *mismatch {
	const most, before = 80, 20
	if len(a) > most || len(b) > most {
		i := 0
		for i < len(a) && i < len(b) && a[i] == b[i] {
			i++
		}
		if i > before {
			i -= before
			for i > 0 && a[i]&0xc0 == 0x80 { // in the middle of a character
				i--
			}
			a, b = "…"+a[i:], "…"+b[i:]
		}
	}
	return &mismatch{text.Clip(key), text.Clip(a), text.Clip(b)}
}

// roundingHint returns a remark for an error message: rounding may explain why two files
// differ. The remark is empty if the two programs round numbers in the same way.
func roundingHint(d *mismatch, there, here maker) string {
	if there[3] == here[3] || d.key == lengthKey || there[3].Value == "" {
		return ""
	}
	return fmt.Sprintf(" (the cause may be rounding: the two builds or processors round differently, so their hashes can differ: %v; %v)", there, here)
}

// compare returns an error if the draws in dir were made with settings other than s. The
// error names one setting that differs. compare checks every chain in dir, even if this
// call of Run does not run that chain. The files in dir may contain fewer draws than
// s.Draws.
func compare(ctx context.Context, dir string, files []*file, s *study, l *layout) error {
	mine := map[string]bool{}
	check := func(path string, t *table, f *file) error {
		want := s.fields(t.chain - 1)
		have, columns := t.header, t.columns
		var wantColumns []string
		if l != nil {
			want, wantColumns = append(want, l.fields...), l.columns
		} else {
			have, columns = have[:min(len(have), len(want))], nil
		}
		d := difference(have, want, columns, wantColumns)
		switch {
		case d == nil:
			return nil
		case d.key != lengthKey:
			// Different hashes do not show how much the log densities differ. The error
			// that restore() returns says whether rounding can explain the difference.
			if f != nil && f.state != nil && !f.done && isHash(d.a) && isHash(d.b) {
				if err := f.restore(ctx, s.maker); err != nil {
					return err
				}
			}
			return fmt.Errorf("store: %s was made with different settings: %s is %s in the file and %s now%s", path, d.key, d.a, d.b,
				roundingHint(d, makerOf(t.header), s.maker))
		case t.draws > s.Draws:
			return fmt.Errorf("store: %s has more draws than the new settings ask for (%s is %s in the file and %s now): a study can be extended, but not shortened", path, d.key, d.a, d.b)
		}
		return nil
	}
	for _, f := range files {
		path := f.path
		if !f.done {
			path = f.partPath()
		}
		if f.whole != nil {
			path = f.path
		}
		mine[path], mine[f.partPath()] = true, true
		if f.old == nil {
			continue
		}
		if f.old.chain != f.chain.Index()+1 {
			return fmt.Errorf("store: %s contains chain %d", path, f.old.chain)
		}
		if err := check(path, f.old, f); err != nil {
			return err
		}
	}
	for _, suffix := range []string{".csv", ".csv" + partSuffix} {
		paths, err := chainFiles(dir, suffix)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if mine[path] {
				continue
			}
			t, err := readHeader(path)
			switch {
			case errors.Is(err, fs.ErrNotExist): // it has been finished just now
				continue
			case err != nil:
				return fmt.Errorf("store: %s cannot be used: %w", path, err)
			case t.columns == nil: // it has been begun just now
				continue
			}
			if err := check(path, t, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// isHash reports whether a value consists of 16 hexadecimal digits, as a hash of numbers
// does.
func isHash(value string) bool {
	_, err := strconv.ParseUint(value, 16, 64)
	return err == nil && len(value) == 16
}
