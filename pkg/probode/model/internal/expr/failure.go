package expr

import "fmt"

// A failure is the value that the parsers and Expand pass to panic() at the first
// mistake. Panics keep the code short, because each of the many checks needs only one
// line.
type failure struct{ error }

func failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// catch ends a panic that a failure has caused, and stores the error in err. The caller
// must defer catch().
func catch(err *error) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = f.error
	default:
		panic(f)
	}
}
