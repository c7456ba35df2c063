package mcmc

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Literal writes a value out in full, nearly as a Go program would: pointers are
// followed and shown by what they point at, fields that are not exported are shown
// too, maps are sorted, and numbers have all their digits. The text is the same in
// every process, so that it tells settings apart: see Settings.Meta. Functions are
// shown by their names, and two closures of one function are not told apart;
// neither are channels.
func Literal(v any) string {
	var b strings.Builder
	writeLiteral(&b, reflect.ValueOf(v), true, nil)
	return b.String()
}

// writeLiteral writes v, with its type if that does not follow from where v stands.
// Above are the pointers on the way to it.
func writeLiteral(b *strings.Builder, v reflect.Value, typed bool, above []uintptr) {
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
		writeLiteral(b, v.Elem(), true, above)
	case reflect.Pointer:
		switch {
		case v.IsNil() && typed:
			fmt.Fprintf(b, "(%v)(nil)", v.Type())
		case v.IsNil():
			b.WriteString("nil")
		case slices.Contains(above, v.Pointer()):
			b.WriteString("&…") // a circle
		default:
			b.WriteByte('&')
			writeLiteral(b, v.Elem(), typed, append(above, v.Pointer()))
		}
	case reflect.Struct:
		list(v.NumField(), func(i int) {
			b.WriteString(v.Type().Field(i).Name + ": ")
			writeLiteral(b, v.Field(i), false, above)
		})
	case reflect.Slice, reflect.Array:
		list(v.Len(), func(i int) { writeLiteral(b, v.Index(i), false, above) })
	case reflect.Map:
		var entries []string
		for it := v.MapRange(); it.Next(); {
			var e strings.Builder
			writeLiteral(&e, it.Key(), false, above)
			e.WriteString(": ")
			writeLiteral(&e, it.Value(), false, above)
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
		if f := runtime.FuncForPC(v.Pointer()); f != nil {
			name = f.Name()
		}
		number(name)
	default: // channels
		number("…")
	}
}
