package mcmc

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
)

// An Archive takes down the state of a chain, or gives it back. What a state
// consists of is said once, by a method that names every variable in order,
//
//	func (k *kernel) State(a *Archive) {
//		a.Floats(k.x)
//		a.Float(&k.logp)
//	}
//
// and the same method serves both ways: so that what is written and what is
// read cannot differ. Numbers are kept bit for bit.
//
// The first thing that does not fit, a slice of another length or an archive
// that ends too early, is kept as the error, and the rest is not read.
type Archive struct {
	buf     []byte
	reading bool
	err     error
}

// NewArchive returns an Archive that gives back what data, the Bytes of
// another, holds; an empty one that takes down if data is nil.
func NewArchive(data []byte) *Archive { return &Archive{buf: data, reading: data != nil} }

// Bytes returns what was taken down.
func (a *Archive) Bytes() []byte { return a.buf }

// Err returns what went wrong in reading, if anything did. Something left over
// is an error too.
func (a *Archive) Err() error {
	if a.err == nil && a.reading && len(a.buf) > 0 {
		return fmt.Errorf("mcmc: state of another kind: %d bytes too long", len(a.buf))
	}
	return a.err
}

// Reading tells whether the Archive gives back, for states of which some part
// has to be made again from the rest.
func (a *Archive) Reading() bool { return a.reading }

// Word takes down or gives back 64 bits.
func (a *Archive) Word(v *uint64) {
	if !a.reading {
		a.buf = binary.LittleEndian.AppendUint64(a.buf, *v)
		return
	}
	if a.err != nil {
		return
	}
	if len(a.buf) < 8 {
		a.err = fmt.Errorf("mcmc: state of another kind: it ends too early")
		return
	}
	*v, a.buf = binary.LittleEndian.Uint64(a.buf), a.buf[8:]
}

// Int takes down or gives back an integer.
func (a *Archive) Int(v *int) {
	w := uint64(*v)
	a.Word(&w)
	*v = int(w)
}

// Float takes down or gives back a number.
func (a *Archive) Float(v *float64) {
	w := math.Float64bits(*v)
	a.Word(&w)
	*v = math.Float64frombits(w)
}

// Floats takes down or gives back the elements of v. The length is part of the
// kernel, not of its state: another one is an error.
func (a *Archive) Floats(v []float64) {
	n := len(v)
	a.Int(&n)
	if a.err == nil && n != len(v) {
		a.err = fmt.Errorf("mcmc: state of another kind: %d numbers where %d are wanted", n, len(v))
	}
	for i := range v {
		a.Float(&v[i])
	}
}

// Moves takes down or gives back counts.
func (a *Archive) Moves(m *Moves) {
	a.Int(&m.Proposed)
	a.Int(&m.Accepted)
	a.Int(&m.Failed)
}

// Stats takes down or gives back counts.
func (a *Archive) Stats(s *Stats) {
	a.Moves(&s.Moves)
	a.Moves(&s.Latent)
}

// Source takes down or gives back the state of a random number generator such
// as *rand.PCG, at most 64 bytes of it.
func (a *Archive) Source(src interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}) {
	var state []byte
	if !a.reading {
		state, _ = src.MarshalBinary() // those of math/rand/v2 do not fail
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
		a.err = fmt.Errorf("mcmc: state of another kind: random numbers of %d bytes", n)
		return
	}
	a.err = src.UnmarshalBinary(a.buf[:n])
	a.buf = a.buf[n:]
}
