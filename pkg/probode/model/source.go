package model

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"unicode/utf8"
)

// An Error says what is wrong with a model file, and where.
type Error struct {
	File string // as the user or the file that refers to it names it
	Line int    // counted from 1; 0 if it is about the file as a whole

	// Feature is the name of what the file asks for and this package does
	// not do, such as "delay" or "algebraicRule". It is empty where the
	// file itself is at fault.
	Feature string

	Msg string // one line
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return e.File + ": " + e.Msg
}

// Limits on what is read. They are far above any published problem, and low
// enough that a file made to exhaust memory or the stack ends in an error.
const (
	maxTable    = 64 << 20 // bytes of a table
	maxXML      = 32 << 20 // bytes of an SBML file
	maxYAML     = 2 << 20  // bytes of a YAML file
	maxDepth    = 200      // nesting of XML or YAML
	maxNodes    = 1 << 18  // values of a YAML file, with aliases written out
	maxElements = 1 << 20  // elements of an SBML file, outside of formulas
)

// A files opens what a model file refers to.
type files struct {
	open     func(name string) (io.ReadCloser, error)
	opened   []string // of a folder on disk
	warnings []string
}

// dirFiles are the files of a folder on disk; a name may leave the folder, as
// PEtab problems that share a table do.
func dirFiles(dir string) *files {
	f := &files{}
	f.open = func(name string) (io.ReadCloser, error) {
		full := filepath.FromSlash(name)
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, full)
		}
		// A pipe or a device would block or never end.
		info, err := os.Stat(full)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("not a regular file")
		}
		f.opened = append(f.opened, full)
		return os.Open(full)
	}
	return f
}

// fsFiles are the files beside one of a file system.
func fsFiles(fsys fs.FS, dir string) *files {
	return &files{open: func(name string) (io.ReadCloser, error) {
		return fsys.Open(path.Join(dir, name))
	}}
}

// A source is one file that is being read: its text and where complaints go.
// The readers stop at the first fault by a panic of *Error, which catch turns
// into an error: each of their hundred checks is then one line.
type source struct {
	*files
	name string
	text []byte
}

// read reads a file of UTF-8 text, without its byte order mark if it has one.
func (f *files) read(name string, limit int64) *source {
	s := &source{files: f, name: name}
	r, err := f.open(name)
	if err != nil {
		if pe, ok := err.(*fs.PathError); ok {
			err = pe.Err
		}
		s.failf(0, "cannot be opened: %v", err)
	}
	defer r.Close()
	s.text, err = io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		s.failf(0, "cannot be read: %v", err)
	}
	if int64(len(s.text)) > limit {
		s.failf(0, "longer than %d MiB: want a smaller file", limit>>20)
	}
	const bom = "\ufeff"
	if len(s.text) >= len(bom) && string(s.text[:len(bom)]) == bom {
		s.text = s.text[len(bom):]
	}
	return s
}

// utf8 stops if the text is not UTF-8.
func (s *source) utf8() {
	line := 1
	for rest := s.text; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			s.failf(line, "a byte that is not UTF-8: want a text file in UTF-8")
		}
		if r == 0 {
			s.failf(line, "a zero byte: want a text file in UTF-8")
		}
		if r == '\n' {
			line++
		}
		rest = rest[n:]
	}
}

// failf stops reading: the file is at fault.
func (s *source) failf(line int, format string, args ...any) {
	panic(&Error{File: s.name, Line: line, Msg: oneLine(fmt.Sprintf(format, args...))})
}

// refuse stops reading: the file asks for what this package does not do.
func (s *source) refuse(line int, feature, format string, args ...any) {
	panic(&Error{File: s.name, Line: line, Feature: feature,
		Msg: oneLine(feature + " is not supported: " + fmt.Sprintf(format, args...))})
}

// warnf notes what is odd and changes no result.
func (s *source) warnf(line int, format string, args ...any) {
	e := Error{File: s.name, Line: line, Msg: oneLine(fmt.Sprintf(format, args...))}
	s.warnings = append(s.warnings, e.Error())
}

// catch puts an *Error that a reader stopped with into err.
func catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// oneLine replaces what would break or hide a line of a message, and cuts it
// at a length that a file cannot choose.
func oneLine(s string) string {
	const most = 400
	out := make([]rune, 0, min(len(s), most))
	for _, r := range s {
		if len(out) == most {
			return string(out) + " …"
		}
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
