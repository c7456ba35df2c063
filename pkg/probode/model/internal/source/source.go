// Package source reads the files of a model: text, tables and YAML, with limits on their size.
//
// The readers stop at the first fault by a panic of *Error, which Catch turns into an error:
// each of their hundred checks is then one line.
package source

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
	MaxTable    = 64 << 20 // bytes of a table
	MaxXML      = 32 << 20 // bytes of an SBML file
	MaxYAML     = 2 << 20  // bytes of a YAML file
	MaxDepth    = 200      // nesting of XML or YAML
	maxNodes    = 1 << 18  // values of a YAML file, with aliases written out
	MaxElements = 1 << 20  // elements of an SBML file, outside of formulas
)

// Files opens what a model file refers to.
type Files struct {
	Opened   []string // of a folder on disk
	Warnings []string

	open func(name string) (io.ReadCloser, error)
}

// Dir are the files of a folder on disk; a name may leave the folder, as
// PEtab problems that share a table do.
func Dir(dir string) *Files {
	f := &Files{}
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
		f.Opened = append(f.Opened, full)
		return os.Open(full)
	}
	return f
}

// FS are the files beside one of a file system.
func FS(fsys fs.FS, dir string) *Files {
	return &Files{open: func(name string) (io.ReadCloser, error) {
		return fsys.Open(path.Join(dir, name))
	}}
}

// A File is one file that is being read: its text, and its name for errors.
type File struct {
	*Files
	Name string
	Text []byte
}

// Read reads a file of UTF-8 text, without its byte order mark if it has one.
func (f *Files) Read(name string, limit int64) *File {
	s := &File{Files: f, Name: name}
	r, err := f.open(name)
	if err != nil {
		if pe, ok := err.(*fs.PathError); ok {
			err = pe.Err
		}
		s.Failf(0, "cannot be opened: %v", err)
	}
	defer r.Close()
	s.Text, err = io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		s.Failf(0, "cannot be read: %v", err)
	}
	if int64(len(s.Text)) > limit {
		s.Failf(0, "longer than %d MiB: want a smaller file", limit>>20)
	}
	const bom = "\ufeff"
	if len(s.Text) >= len(bom) && string(s.Text[:len(bom)]) == bom {
		s.Text = s.Text[len(bom):]
	}
	return s
}

// utf8 stops if the text is not UTF-8.
func (s *File) utf8() {
	line := 1
	for rest := s.Text; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			s.Failf(line, "a byte that is not UTF-8: want a text file in UTF-8")
		}
		if r == 0 {
			s.Failf(line, "a zero byte: want a text file in UTF-8")
		}
		if r == '\n' {
			line++
		}
		rest = rest[n:]
	}
}

// Failf stops reading: the file is at fault.
func (s *File) Failf(line int, format string, args ...any) {
	panic(&Error{File: s.Name, Line: line, Msg: OneLine(fmt.Sprintf(format, args...))})
}

// Refuse stops reading: the file asks for what this package does not do.
func (s *File) Refuse(line int, feature, format string, args ...any) {
	panic(&Error{File: s.Name, Line: line, Feature: feature,
		Msg: OneLine(feature + " is not supported: " + fmt.Sprintf(format, args...))})
}

// Warnf notes what is odd and changes no result.
func (s *File) Warnf(line int, format string, args ...any) {
	e := Error{File: s.Name, Line: line, Msg: OneLine(fmt.Sprintf(format, args...))}
	s.Warnings = append(s.Warnings, e.Error())
}

// Catch puts an *Error that a reader stopped with into err.
func Catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// OneLine replaces what would break or hide a line of a message, and cuts it
// at a length that a file cannot choose.
func OneLine(s string) string {
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

// Where is the place in a file that something was read from; its zero value is
// nowhere.
type Where struct {
	File string
	Line int
}

// At returns a place in the file.
func (s *File) At(line int) Where { return Where{File: s.Name, Line: line} }

// Failf stops with an error about what was read there.
func (w Where) Failf(format string, args ...any) {
	(&File{Name: w.File}).Failf(w.Line, format, args...)
}

// Refuse stops, as the file asks there for what is not supported.
func (w Where) Refuse(feature, format string, args ...any) {
	(&File{Name: w.File}).Refuse(w.Line, feature, format, args...)
}
