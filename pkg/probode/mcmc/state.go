package mcmc

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// An Archive writes the state of a chain to a slice of bytes, or reads the state from
// such a slice. A single method, State, both writes and reads the variables of the state,
// so the order of the variables is always the same:
//
//	func (k *kernel) State(a *Archive) {
//		a.Floats(k.x)
//		a.Float(&k.logp)
//	}
//
// Numbers are stored without rounding.
//
// Reading stops at the first mismatch, and Err then returns an error that describes the
// mismatch. A mismatch is, for example, a slice of a different length or an archive that
// ends too early.
type Archive struct {
	buf     []byte
	reading bool
	err     error
}

// NewArchive returns an Archive that reads the argument `data`, which must come from
// Bytes of another Archive. If data is nil, NewArchive returns an empty Archive for
// writing.
func NewArchive(data []byte) *Archive { return &Archive{buf: data, reading: data != nil} }

// Bytes returns what was written.
func (a *Archive) Bytes() []byte { return a.buf }

// Err returns the error that occurred while reading, or nil. Err also returns an error if
// some bytes have not been read.
func (a *Archive) Err() error {
	if a.err == nil && a.reading && len(a.buf) > 0 {
		return fmt.Errorf("mcmc: the state was not written by this sampler: it is %d bytes too long", len(a.buf))
	}
	return a.err
}

// Reading reports whether the Archive is open for reading. A State method can use Reading
// to decide whether to recompute variables that are not stored.
func (a *Archive) Reading() bool { return a.reading }

func (a *Archive) word(v *uint64) {
	if !a.reading {
		a.buf = binary.LittleEndian.AppendUint64(a.buf, *v)
		return
	}
	if a.err != nil {
		return
	}
	if len(a.buf) < 8 {
		a.err = fmt.Errorf("mcmc: the state was not written by this sampler: its last bytes are missing")
		return
	}
	*v, a.buf = binary.LittleEndian.Uint64(a.buf), a.buf[8:]
}

// Int writes or reads an integer.
func (a *Archive) Int(v *int) {
	w := uint64(*v)
	a.word(&w)
	*v = int(w)
}

// Float writes or reads a number.
func (a *Archive) Float(v *float64) {
	w := math.Float64bits(*v)
	a.word(&w)
	*v = math.Float64frombits(w)
}

// Floats writes or reads the elements of v. The kernel determines the length of v. A
// stored slice of a different length is an error.
func (a *Archive) Floats(v []float64) {
	n := len(v)
	a.Int(&n)
	if a.err == nil && n != len(v) {
		a.err = fmt.Errorf("mcmc: the state was not written by this sampler: it has %d numbers, want %d", n, len(v))
	}
	for i := range v {
		a.Float(&v[i])
	}
}

// Source writes or reads the state of a random number generator. The state may have at
// most 64 bytes.
func (a *Archive) Source(src *rand.PCG) {
	var state []byte
	if !a.reading {
		state, _ = src.MarshalBinary() // the sources of math/rand/v2 return no errors
	}
	n := len(state)
	a.Int(&n)
	if !a.reading {
		a.buf = append(a.buf, state...)
		return
	}
	if a.err != nil {
		return
	}
	if n < 0 || n > 64 || n > len(a.buf) {
		a.err = fmt.Errorf("mcmc: the state was not written by this sampler: the state of the random number generator has an impossible length, %d bytes", n)
		return
	}
	a.err = src.UnmarshalBinary(a.buf[:n])
	a.buf = a.buf[n:]
}
