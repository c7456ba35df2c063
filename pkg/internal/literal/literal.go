// Package literal writes values of any type as text.
package literal

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Of returns the full text of a value, much as it would appear in a Go program. A pointer
// is written as the value to which it points, unexported fields are included, maps are
// sorted, and numbers have all their digits. All processes of the same program write the
// same text for a value, so settings can be compared as text. For a function, the text is
// its name, so two closures made from the same function literal have the same text. Of
// writes the same text for all channels of the same type.
func Of(v any) string {
	w := new(writer)
	w.write(reflect.ValueOf(v), true, nil)
	return w.String()
}

// Declared is like Of, but leaves out the fields that may differ between two runs of the
// same study. Declared leaves out functions, because their names may change from one
// build to the next. Declared also leaves out channels and mutexes, because both belong to
// a running process. A resumed run compares texts written by Declared, to make sure that
// the study has not changed.
func Declared(v any) string {
	w := &writer{declared: true}
	w.write(reflect.ValueOf(v), true, nil)
	return w.String()
}

// NonZero is like Declared, but leaves out the struct fields that are zero. A new struct
// field does not change the text as long as the field is zero.
func NonZero(v any) string {
	w := &writer{brief: true, declared: true}
	w.write(reflect.ValueOf(v), true, nil)
	return w.String()
}

type writer struct {
	strings.Builder
	brief    bool // leave out fields that are zero
	declared bool // leave out what does not belong to a declaration
}

func isDeclared(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	return t.PkgPath() != "sync" && t.PkgPath() != "sync/atomic"
}

// write omits a type that is clear from the context; `above` has the pointers that lead
// to v.
func (b *writer) write(v reflect.Value, typed bool, above []uintptr) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	number := func(text string) {
		if typed {
			text = v.Type().String() + "(" + text + ")"
		}
		b.WriteString(text)
	}
	list := func(n int, write func(i int)) {
		if typed {
			b.WriteString(v.Type().String())
		}
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteString(", ")
			}
			write(i)
		}
		b.WriteByte('}')
	}
	switch v.Kind() {
	case reflect.Interface:
		b.write(v.Elem(), true, above)
	case reflect.Pointer:
		switch {
		case v.IsNil() && typed:
			fmt.Fprintf(b, "(%v)(nil)", v.Type())
		case v.IsNil():
			b.WriteString("nil")
		case slices.Contains(above, v.Pointer()):
			b.WriteString("&…") // a cycle
		default:
			b.WriteByte('&')
			b.write(v.Elem(), typed, append(above, v.Pointer()))
		}
	case reflect.Struct:
		var set []int
		for i := range v.NumField() {
			if b.declared && !isDeclared(v.Field(i).Type()) {
				continue
			}
			if !b.brief || !v.Field(i).IsZero() {
				set = append(set, i)
			}
		}
		list(len(set), func(i int) {
			b.WriteString(v.Type().Field(set[i]).Name + ": ")
			b.write(v.Field(set[i]), false, above)
		})
	case reflect.Slice, reflect.Array:
		list(v.Len(), func(i int) { b.write(v.Index(i), false, above) })
	case reflect.Map:
		var entries []string
		for it := v.MapRange(); it.Next(); {
			e := &writer{brief: b.brief, declared: b.declared}
			e.write(it.Key(), false, above)
			e.WriteString(": ")
			e.write(it.Value(), false, above)
			entries = append(entries, e.String())
		}
		slices.Sort(entries)
		list(len(entries), func(i int) { b.WriteString(entries[i]) })
	case reflect.Float32:
		number(strconv.FormatFloat(v.Float(), 'g', -1, 32))
	case reflect.Float64:
		number(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.Complex64, reflect.Complex128:
		number(strconv.FormatComplex(v.Complex(), 'g', -1, 128))
	case reflect.String:
		number(strconv.Quote(v.String()))
	case reflect.Bool:
		number(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		number(strconv.FormatUint(v.Uint(), 10))
	case reflect.Func:
		name := "nil"
		if b.declared {
			name = "func"
		} else if f := runtime.FuncForPC(v.Pointer()); f != nil {
			name = f.Name()
		}
		number(name)
	default: // channels
		number("…")
	}
}
