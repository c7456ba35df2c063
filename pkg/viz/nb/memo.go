package nb

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"image/color"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/pkg/internal/literal"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/viz"
)

func init() {
	// Figures and assessments have interface fields, so gob must know which types of
	// values these fields may contain.
	for _, v := range []any{viz.Line{}, viz.Band{}, viz.Points{}, viz.Guide{}, viz.Figure{}, viz.Frames{},
		color.NRGBA{}, color.RGBA{}, color.Gray{},
		adams.Bashforth{}, adams.Moulton{}, methods.RungeKutta{}} {
		gob.Register(v)
	}
}

// Memo returns the result of compute, and stores it on disk. When the cell runs again, or
// when another cell needs the same result, Memo reads the stored result, and a line below
// the cell says so. If compute() returns an error, Memo ends the cell in the same way as
// [Check]. The result of an interrupted computation is not stored.
//
// Memo uses a stored result only if the name, the value of `inputs` and the source code
// are the same as when the result was computed. The source code includes compute(), the
// declarations in the notebook that compute() uses, and this library. If compute() uses
// variables of the cell, they must be among the inputs, because Memo cannot find out
// their values in any other way: Memo("fan", []any{h, alpha}, func() …). Inputs are
// compared as text. If an input contains functions, Memo compares only their names. If
// the source code is not available, as in a program built with -trimpath, Memo uses a
// hash of the running program instead; only the same program can then read a stored
// result.
//
// The argument `compute` must be a function literal or a declared function of the
// notebook. Memo panics at once if `compute` is a method value such as m.Run, or an
// instance of a generic function. The source code of a method does not show the value of
// the receiver, and the source code of a generic function does not show the type
// arguments. Instead of m.Run, write func() … { return m.Run() }, with m among the
// inputs.
//
// The type T must be plain data or a figure, so that encoding/gob can store it without
// loss. T must not contain functions or unexported fields. If T is a type that is not
// allowed, Memo panics before it calls compute(). Even in plain data, gob does not
// preserve every value: for example, a pointer to zero in a struct becomes nil. A type
// whose values are stored in an interface must be registered with gob. A result is not
// stored if gob cannot restore it exactly, or if the folder is not writable. If a result
// is not stored, a line below the cell gives the reason, and the cell continues with the
// computed result. An empty slice or map counts as equal to nil.
//
// The results are stored in the folder .memo beside the notebook, or in the folder given
// by the environment variable PROBODE_MEMO. A damaged file is treated as missing.
// [Forget] removes stored results.
func Memo[T any](name string, inputs any, compute func() (T, error)) T {
	t := reflect.TypeFor[T]()
	if why := lossy(t, "", map[reflect.Type]bool{}); why != "" {
		panic(fmt.Sprintf("nb: memo %q: a value of type %v cannot be stored: %s; store its numbers, or a figure made from them", name, t, why))
	}
	f := runtime.FuncForPC(reflect.ValueOf(compute).Pointer())
	if !sourced(f) {
		panic(fmt.Sprintf("nb: memo %q: compute must be a function literal or a declared function of the notebook, not a method value or an instance of a generic function", name))
	}
	file := filepath.Join(memoDir(), fileName(name)+"-"+key(name, inputs, f, t.String())+".gob")
	if v, err := restore[T](file); err == nil {
		note(fmt.Sprintf("Memo “%s” was read from disk, not computed. nb.Forget(%[1]q) removes it.", name))
		return v
	}
	v, err := compute()
	if err != nil {
		return Must(v, err)
	}
	closeBars()
	data, err := encode(v)
	if err == nil {
		err = store(file, data)
	}
	if err != nil {
		note(fmt.Sprintf("Memo “%s” was computed, but it cannot be kept on disk: %v.", name, err))
	} else {
		note(fmt.Sprintf("Memo “%s” was computed, and is kept on disk for next time.", name))
	}
	return v
}

// Forget removes the results with the given names, so that they are computed again. If no
// name is given, Forget removes all results and any incomplete files left behind by
// interrupted cells.
func Forget(names ...string) {
	patterns := []string{"*.gob", "*.tmp"}
	if len(names) > 0 {
		patterns = nil
		for _, n := range names {
			patterns = append(patterns, fileName(n)+"-????????????????.gob")
		}
	}
	for _, p := range patterns {
		files, err := fs.Glob(os.DirFS(memoDir()), p)
		Check(err)
		for _, f := range files {
			// Another process may remove the same file at the same time.
			if err := os.Remove(filepath.Join(memoDir(), f)); !errors.Is(err, fs.ErrNotExist) {
				Check(err)
			}
		}
	}
}

func memoDir() string {
	if dir := os.Getenv("PROBODE_MEMO"); dir != "" {
		return dir
	}
	return ".memo"
}

// fileName keeps letters, digits and hyphens, and replaces all other characters by
// underscores. A file name with underscores ends with a hash of the original name.
// Different names therefore never share a file, and Forget never removes a result that is
// stored under another name.
func fileName(name string) string {
	file := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if strings.Contains(file, "_") {
		h := sha256.Sum256([]byte(name))
		file += "_" + hex.EncodeToString(h[:4])
	}
	return file
}

// encode returns the bytes that restore() reads: a SHA-256 hash, followed by the gob
// encoding of v. To find values that gob changes without reporting an error, encode()
// decodes the bytes again. A decoding error is therefore reported at once, rather than
// when a later cell reads the result.
func encode[T any](v T) (data []byte, err error) {
	defer func() {
		// A value that took a long time to compute should not be lost if its encoder
		// panics.
		if r := recover(); r != nil {
			data, err = nil, fmt.Errorf("%v", r)
		}
	}()
	was := literal.Of(v)
	if strings.Contains(was, "&…") { // a cycle, which gob would follow until the stack overflows
		return nil, errors.New("its pointers form a cycle")
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "gob: type not registered for interface: "); ok {
			return nil, fmt.Errorf("the value contains a %s in an interface: store plain data, or call gob.Register(%[1]s{}) in the cell", name)
		}
		return nil, err
	}
	var again T
	if err := gob.NewDecoder(bytes.NewReader(b.Bytes())).Decode(&again); err != nil {
		return nil, err
	}
	if is := literal.Of(again); is != was {
		was, is := difference(was, is)
		return nil, fmt.Errorf("encoding/gob makes “%s” of “%s”", is, was)
	}
	sum := sha256.Sum256(b.Bytes())
	return append(sum[:], b.Bytes()...), nil
}

// difference returns the first pair of corresponding elements that differ in the Go
// literals a and b.
func difference(a, b string) (string, string) {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	i = strings.LastIndexAny(a[:i], "{,") + 1
	element := func(s string) string {
		s = s[i:]
		if end := strings.IndexAny(s, ",}"); end >= 0 {
			s = s[:end]
		}
		if len(s) > 60 {
			s = strings.ToValidUTF8(s[:60], "") + "…"
		}
		return strings.TrimSpace(s)
	}
	return element(a), element(b)
}

// restore reads a file that contains the bytes returned by encode().
func restore[T any](file string) (T, error) {
	var v, zero T
	data, err := os.ReadFile(file)
	if err != nil {
		return zero, err
	}
	if len(data) < sha256.Size || sha256.Sum256(data[sha256.Size:]) != [sha256.Size]byte(data) {
		return zero, errors.New("nb: a damaged memo") // gob would read most damage as other numbers
	}
	if err := gob.NewDecoder(bytes.NewReader(data[sha256.Size:])).Decode(&v); err != nil {
		return zero, err
	}
	return v, nil
}

// store writes the data to the file. A file .gitignore excludes the folder from git.
// Error messages contain no file paths, because the messages become part of the notebook.
func store(file string, data []byte) (err error) {
	defer func() {
		var p *fs.PathError
		var l *os.LinkError
		switch {
		case errors.As(err, &p):
			err = p.Err
		case errors.As(err, &l):
			err = l.Err
		}
		if err != nil {
			err = fmt.Errorf("writing to the memo folder failed: %w", err)
		}
	}()
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o666); err != nil {
		return err
	}
	return atomicfile.Write(file, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// If encoding/gob would omit a field without an error, lossy returns a phrase that names
// this field. If encoding/gob omits no field, lossy() returns "".
func lossy(t reflect.Type, path string, seen map[reflect.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	for _, it := range []reflect.Type{reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[interface{ MarshalBinary() ([]byte, error) }]()} {
		if t.Implements(it) {
			return ""
		}
	}
	where := func(what string) string {
		if path == "" {
			return "it is " + what
		}
		return strings.TrimPrefix(path, ".") + " is " + what
	}
	switch t.Kind() {
	case reflect.Func:
		return where("a function")
	case reflect.Chan, reflect.UnsafePointer, reflect.Uintptr:
		return where("a " + t.Kind().String())
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return lossy(t.Elem(), path, seen)
	case reflect.Map:
		if s := lossy(t.Key(), path, seen); s != "" {
			return s
		}
		return lossy(t.Elem(), path, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				path += "." + f.Name
				return where("not exported")
			}
			if s := lossy(f.Type, path+"."+f.Name, seen); s != "" {
				return s
			}
		}
	}
	return ""
}

// sourced reports whether the source code of a function determines its results. There are
// three exceptions. The source code of a method value does not contain the receiver. The
// source code of an instance of a generic function does not contain the type arguments. A
// function that was created with the package reflect has no source code.
func sourced(f *runtime.Func) bool {
	name := f.Name()
	return !strings.HasSuffix(name, "-fm") && !strings.HasSuffix(name, "[...]") && !strings.HasPrefix(name, "reflect.")
}

// key returns a hash of everything on which a result depends.
func key(name string, inputs any, compute *runtime.Func, t string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %s %s\n%s\n", name, library(), t, literal.Of(inputs))
	file, line := compute.FileLine(compute.Entry())
	text := source(file, line)
	if len(text) == 0 { // the place identifies the function; its name changes with inlining
		text = fmt.Appendf(nil, "%s:%d of %s", file, line, program())
	}
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// library is a hash of the source code of this module or, if the source code is not
// available, of the running program.
var library = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..") // from pkg/viz/nb
	h := sha256.New()
	n := 0
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if data, err := os.ReadFile(path); err == nil {
			rel, _ := filepath.Rel(root, path)
			fmt.Fprintf(h, "%s %d\n", rel, len(data))
			h.Write(data)
			n++
		}
		return nil
	})
	if n > 0 {
		return hex.EncodeToString(h.Sum(nil))
	}
	return program()
})

// program is a hash of the executable file of the running program.
var program = sync.OnceValue(func() string {
	h := sha256.New()
	path, err := os.Executable()
	if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			_, err = io.Copy(h, f)
			f.Close()
		}
	}
	if err != nil { // without a hash, do not share results with another program
		return rand.Text()
	}
	return hex.EncodeToString(h.Sum(nil))
})

// source returns the text of the functions that begin on the given line, and of all
// declarations in the file that these functions use. GoNB writes the cell and the
// declarations of earlier cells to the same file.
func source(file string, line int) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	declared := map[string][]ast.Node{}
	declare := func(name string, n ast.Node) { declared[name] = append(declared[name], n) }
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declare(d.Name.Name, d)
			if d.Recv != nil {
				ast.Inspect(d.Recv, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						declare(id.Name, d)
					}
					return true
				})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					declare(s.Name.Name, s)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						declare(id.Name, d) // with the iota of a group
					}
				}
			}
		}
	}
	var queue []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			if fset.Position(n.Pos()).Line == line {
				queue = append(queue, n)
			}
		}
		return true
	})
	var out bytes.Buffer
	seen := map[ast.Node]bool{}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		out.Write(text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				queue = append(queue, declared[id.Name]...)
			}
			return true
		})
	}
	return out.Bytes()
}
