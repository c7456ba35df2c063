package nb

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"image/color"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
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
// A stored result has a name, the value of `inputs`, the type T and a version of this
// library. Memo does not look into compute: whatever else the result depends on must be
// among the inputs, as in Memo("fan", []any{h, alpha}, func() …), and after a change of
// compute or of a function that it calls, nb.Forget("fan") makes it run again. Inputs are
// compared as text; functions among them only by name.
//
// A result that encoding/gob does not restore exactly is not stored, for example one with
// functions, unexported fields, or a pointer to zero in a struct, and neither is one if
// the folder is not writable. A line below the cell then gives the reason, and the cell
// continues with the computed result. A type whose values are stored in an interface must
// be registered with gob. An empty slice or map counts as equal to nil.
//
// The results are stored in the folder .memo beside the notebook, or in the folder given
// by the environment variable PROBODE_MEMO. A damaged file is treated as missing.
func Memo[T any](name string, inputs any, compute func() (T, error)) T {
	id := sha256.Sum256(fmt.Appendf(nil, "%q %s %T\n%s", name, library(), (*T)(nil), literal.Of(inputs)))
	file := filepath.Join(memoDir(), url.QueryEscape(name)+"-"+hex.EncodeToString(id[:8])+".gob")
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

// Forget removes the results with the given names, so that they are computed again, as is
// necessary after a change of a function that computes them. If no name is given, Forget
// removes all results and any incomplete files left behind by interrupted cells.
func Forget(names ...string) {
	patterns := []string{"*.gob", "*.tmp"}
	if len(names) > 0 {
		patterns = nil
		for _, n := range names {
			patterns = append(patterns, url.QueryEscape(n)+"-????????????????.gob")
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

// encode returns a SHA-256 hash and the gob encoding of v, which it decodes again: gob
// changes some values without an error.
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
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	data = append(sum[:], b.Bytes()...)
	again, err := decode[T](data)
	if err == nil && literal.Of(again) != was {
		err = fmt.Errorf("encoding/gob does not restore this %T: store its numbers, or a figure made from them", v)
	}
	return data, err
}

func decode[T any](data []byte) (v T, err error) {
	if len(data) < sha256.Size || sha256.Sum256(data[sha256.Size:]) != [sha256.Size]byte(data) {
		return v, errors.New("nb: a damaged memo") // gob would read most damage as other numbers
	}
	err = gob.NewDecoder(bytes.NewReader(data[sha256.Size:])).Decode(&v)
	return v, err
}

func restore[T any](file string) (v T, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return v, err
	}
	return decode[T](data)
}

// store keeps the folder out of git, and paths, which would become part of the notebook,
// out of its errors.
func store(file string, data []byte) error {
	dir := filepath.Dir(file)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o666)
	}
	if err == nil {
		err = atomicfile.Write(file, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	if err != nil {
		return fmt.Errorf("writing to the memo folder failed: %w", err)
	}
	return nil
}

// library is a hash of the source code of this module. Without the source, as in a program
// built with -trimpath, nothing is read back.
var library = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..") // from pkg/viz/nb
	h := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", strings.TrimPrefix(path, root), len(data), data)
		return err
	})
	if err != nil {
		return rand.Text()
	}
	return hex.EncodeToString(h.Sum(nil))
})
