// Package source reads the files of a model: text, tables and YAML. The size of each file
// is limited.
//
// A function that reads a file panics with an *Error at the first mistake, and Catch
// turns the panic into an error. Panics keep the code short, because each of the many
// checks of the input needs only one line.
package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// An Error describes a mistake in a model file and says where it is.
type Error struct {
	File string // name of the file, as the user or another file gives it
	Line int    // counted from 1; 0 if the error is about the file as a whole

	// Feature names the unsupported feature that the file uses, such as "delay" or
	// "algebraicRule". Feature is empty if the file contains a mistake rather than an
	// unsupported feature.
	Feature string

	Msg string // one line
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return e.File + ": " + e.Msg
}

// The limits protect the program from files that are designed to exhaust the memory or
// the stack. All published problems are far below the limits.
const (
	MaxTable = 64 << 20 // bytes of a table
	MaxXML   = 32 << 20 // bytes of an SBML file
	MaxYAML  = 2 << 20  // bytes of a YAML file
	maxDepth = 200      // nesting of a YAML file
	maxNodes = 1 << 18  // values of a YAML file, with aliases written out
)

// Files opens the files to which a model file refers.
type Files struct {
	Opened   []string // names of the opened files, if they are on disk
	Warnings []string

	open func(name string) (r io.ReadCloser, quiet bool, err error)
}

// Dir returns the files of a folder on disk. The user gives the name of the first file.
// The model gives the names of all other files, so a downloaded model could make the
// program open the user's private files. If the argument `outside` is false, all files
// except the first must be inside the folder. For a symbolic link, the target must be
// inside the folder. An error about a file outside the folder contains no text from the
// file.
func Dir(dir string, outside bool) *Files {
	f := &Files{}
	f.open = func(name string) (r io.ReadCloser, quiet bool, err error) {
		local := filepath.FromSlash(name)
		full := filepath.Join(dir, local)
		if filepath.IsAbs(local) {
			full = local
		}
		if len(f.Opened) > 0 && !inside(dir, local) {
			if quiet = true; !outside {
				return nil, quiet, errOutside
			}
		}
		file, err := plainfile.Open(full)
		if err == nil && !slices.Contains(f.Opened, full) {
			f.Opened = append(f.Opened, full)
		}
		return file, quiet, err
	}
	return f
}

var errOutside = errors.New("the file is outside the folder of the file that refers to it: move it into that folder, or set the flag -outside")

// inside follows symbolic links.
func inside(dir, name string) bool {
	if !filepath.IsLocal(name) {
		return false
	}
	folder, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
	if err != nil {
		return false
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	rel, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(rel)
}

// FS returns the files in the folder dir of the file system fsys.
func FS(fsys fs.FS, dir string) *Files {
	return &Files{open: func(name string) (io.ReadCloser, bool, error) {
		r, err := fsys.Open(path.Join(dir, name))
		return r, false, err
	}}
}

// A File holds the text of a file that is being read, and the name of this file for error
// messages.
type File struct {
	*Files
	Name  string
	Text  []byte
	Names expr.Names // in formulas
	quiet bool       // messages contain no text from the file
	above int        // lines of the file before Text
}

// Read reads a file of UTF-8 text, and removes its byte order mark if it has one.
func (f *Files) Read(name string, limit int64) *File {
	s := &File{Files: f, Name: name}
	r, quiet, err := f.open(name)
	if err != nil {
		if pe, ok := err.(*fs.PathError); ok {
			err = pe.Err
		}
		s.Failf(0, "cannot be opened: %v", err)
	}
	s.quiet = quiet
	defer r.Close()
	s.Text, err = io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		s.Failf(0, "cannot be read: %v", err)
	}
	if int64(len(s.Text)) > limit {
		s.Failf(0, "the file is too large: want at most %d MiB", limit>>20)
	}
	const bom = "\ufeff"
	if len(s.Text) >= len(bom) && string(s.Text[:len(bom)]) == bom {
		s.Text = s.Text[len(bom):]
	}
	return s
}

func (s *File) utf8() {
	line := 1
	for rest := s.Text; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			s.Failf(line, "found a byte that is not valid UTF-8: want a text file in UTF-8")
		}
		if r == 0 {
			s.Failf(line, "found a NUL byte: want a text file in UTF-8")
		}
		if r == '\n' {
			line++
		}
		rest = rest[n:]
	}
}

// Failf reports a mistake in the file, and stops reading.
func (s *File) Failf(line int, format string, args ...any) {
	panic(s.fault(line, "", fmt.Sprintf(format, args...)))
}

// Refuse reports that the file uses an unsupported feature, and stops reading.
func (s *File) Refuse(line int, feature, format string, args ...any) {
	panic(s.fault(line, feature, feature+" is not supported: "+fmt.Sprintf(format, args...)))
}

// Warnf adds a warning about a mistake that does not affect the results.
func (s *File) Warnf(line int, format string, args ...any) {
	s.Warnings = append(s.Warnings, s.fault(line, "", fmt.Sprintf(format, args...)).Error())
}

func (s *File) fault(line int, feature, msg string) *Error {
	if s.quiet {
		feature, msg = "", "the file that refers to this file requires a different format"
	}
	if line > 0 {
		line += s.above
	}
	return &Error{File: s.Name, Line: line, Feature: feature, Msg: oneLine(msg)}
}

// Catch, which must be deferred, recovers from the panic of a reader and stores its
// *Error in err.
func Catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// oneLine replaces control characters and invalid characters in a message by spaces, and
// truncates long text.
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

// A Where holds the file and the line in which an element of a model is defined. The zero
// value means that the position is not known.
type Where struct {
	File  string
	Line  int
	quiet bool // messages contain no text from the file
}

// At returns the position of a line in the file.
func (s *File) At(line int) Where { return Where{s.Name, line + s.above, s.quiet} }

// Failf reports a mistake at the position w, and stops reading.
func (w Where) Failf(format string, args ...any) {
	(&File{Name: w.File, quiet: w.quiet}).Failf(w.Line, format, args...)
}

// Refuse reports that the file uses an unsupported feature at the position w, and stops
// reading.
func (w Where) Refuse(feature, format string, args ...any) {
	(&File{Name: w.File, quiet: w.quiet}).Refuse(w.Line, feature, format, args...)
}
