package nb

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/viz"
)

func init() {
	// What a figure, and an assessment, hold behind interfaces.
	for _, v := range []any{viz.Line{}, viz.Band{}, viz.Points{}, viz.Rule{}, viz.Figure{}, viz.Frames{},
		color.NRGBA{}, color.RGBA{}, color.Gray{},
		probode.AdamsBashforth{}, probode.AdamsMoulton{}, probode.RungeKutta{}} {
		gob.Register(v)
	}
}

// Memo returns the result of compute, which it keeps on disk: when the cell is
// run again, or another cell asks for the same, the result is read back, and a
// line below the cell says so. An error ends the cell as [Check] does, and an
// interrupted computation is not kept.
//
// A result belongs to its name, the value of inputs, the source of compute and
// of the declarations in the notebook that it uses, and the source of this
// library; if any of them changes it is computed again. Variables of the cell
// that compute uses must be among the inputs, since their values are not seen
// otherwise: Memo("fan", []any{h, alpha}, func() …).
//
// T must be plain data or a figure: what encoding/gob stores without loss, so
// no functions and no unexported fields.
//
// The files are in the folder .memo beside the notebook, or in that named by the
// environment variable PROBODE_MEMO. [Forget] removes them.
func Memo[T any](name string, inputs any, compute func() (T, error)) T {
	var v T
	if why := lossy(reflect.TypeFor[T](), "", map[reflect.Type]bool{}); why != "" {
		panic(fmt.Sprintf("nb: memo %q: a %v cannot be stored: %s; keep the numbers or the figure made from it", name, reflect.TypeFor[T](), why))
	}
	file := filepath.Join(memoDir(), fileName(name)+"-"+key(inputs, reflect.ValueOf(compute), reflect.TypeFor[T]().String())+".gob")
	if data, err := os.ReadFile(file); err == nil {
		if gob.NewDecoder(bytes.NewReader(data)).Decode(&v) == nil {
			note(fmt.Sprintf("Memo “%s”: read back from disk, not computed. nb.Forget(%[1]q) removes it.", name))
			return v
		}
		var zero T // the file is damaged
		v = zero
	}
	v, err := compute()
	if err != nil {
		return Must(v, err)
	}
	closeBars()
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(&v); err != nil {
		panic(fmt.Sprintf("nb: memo %q: %v", name, err))
	}
	Check(store(file, data.Bytes()))
	note(fmt.Sprintf("Memo “%s”: computed, and kept on disk for the next time.", name))
	return v
}

// Forget removes the results kept under these names, all if there are none, so
// that they are computed again.
func Forget(names ...string) {
	patterns := []string{"*.gob"}
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
			Check(os.Remove(filepath.Join(memoDir(), f)))
		}
	}
}

func memoDir() string {
	if dir := os.Getenv("PROBODE_MEMO"); dir != "" {
		return dir
	}
	return ".memo"
}

// fileName keeps letters, digits and hyphens.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// store writes the file under another name first, so that nobody reads half of
// it. The folder keeps itself out of git.
func store(file string, data []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o666); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "*.part")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// lossy tells what encoding/gob would leave out of a T in silence.
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

// key is the hash of all that a result depends on.
func key(inputs any, compute reflect.Value, t string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", library(), t)
	value(h, reflect.ValueOf(inputs))
	if f := runtime.FuncForPC(compute.Pointer()); f != nil {
		file, line := f.FileLine(f.Entry())
		h.Write(source(file, line))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// library is the hash of the source of this module, or its version where the
// source is not at hand.
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
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/probode/probode" {
				return m.Version
			}
		}
	}
	return ""
})

// value writes v, with its types, in a form that differs for different values
// and does not depend on addresses or on the order of maps. A function is
// written by its name.
func value(h hash.Hash, v reflect.Value) {
	if !v.IsValid() {
		h.Write([]byte("nil\n"))
		return
	}
	fmt.Fprintf(h, "%s ", v.Type())
	switch v.Kind() {
	case reflect.Func:
		if f := runtime.FuncForPC(v.Pointer()); f != nil {
			fmt.Fprintln(h, f.Name())
		}
	case reflect.Pointer, reflect.Interface:
		value(h, v.Elem())
	case reflect.Slice, reflect.Array:
		fmt.Fprintln(h, v.Len())
		for i := range v.Len() {
			value(h, v.Index(i))
		}
	case reflect.Map:
		var entries []string
		for it := v.MapRange(); it.Next(); {
			e := sha256.New()
			value(e, it.Key())
			value(e, it.Value())
			entries = append(entries, string(e.Sum(nil)))
		}
		slices.Sort(entries)
		fmt.Fprintf(h, "%d %x\n", len(entries), entries)
	case reflect.Struct:
		for i := range v.NumField() {
			fmt.Fprintf(h, "%s ", v.Type().Field(i).Name)
			value(h, v.Field(i))
		}
	case reflect.Float32, reflect.Float64:
		binary.Write(h, binary.LittleEndian, math.Float64bits(v.Float()))
	case reflect.String:
		fmt.Fprintf(h, "%q\n", v.String())
	case reflect.Chan, reflect.UnsafePointer:
		panic(fmt.Sprintf("nb: a %v cannot be an input of a memo", v.Type()))
	default: // booleans, integers and complex numbers
		fmt.Fprintln(h, v)
	}
}

// source returns the text of the functions that begin on this line, and of all
// declarations of the file that they use. In a notebook the file holds the cell
// and the declarations of those before it.
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
