package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"

	"github.com/probode/probode/internal/plainfile"
)

// A state is all that resuming a chain needs, except its draws.
type state struct {
	// These fields describe the draws that were made before the state was saved. The
	// field `body` is the number of bytes after the line of column names, bodyCRC is the
	// checksum of these bytes, and headCRC is the checksum of the preceding lines. The
	// field headCRC leaves out the line with the number of draws, because that line
	// changes if the chain is extended.
	body             int64
	bodyCRC, headCRC uint64
	length           int64 // the smallest number that this line may hold

	// density holds the numbers that an Evaluator computes at the position of the chain.
	density []float64

	// The fields `turn` and `now` hold two states from which the chain can be continued. The
	// field `now` holds the state at the time of saving, and the field `turn` holds the
	// state a few milliseconds earlier. restore repeats the iterations from `turn` to `now`
	// as a check. The field `turn` is empty if the chain had not yet run when the state was
	// saved.
	turn, now []byte
}

const (
	// A state file is stateMagic, the version, the length of the fields in bytes, the
	// fields, and a CRC-64/ECMA of all that. Numbers are little-endian; slices begin with
	// their length.
	stateMagic   = "PROBODES"
	stateVersion = 3
	stateHead    = 24
	stateFoot    = 8

	maxState = 1 << 30 // bytes of a state file, far more than any sampler needs
)

func (s *state) encode() []byte {
	out := append([]byte(stateMagic), make([]byte, stateHead-len(stateMagic))...)
	word := func(v uint64) { out = binary.LittleEndian.AppendUint64(out, v) }
	slice := func(b []byte) {
		word(uint64(len(b)))
		out = append(out, b...)
	}
	word(uint64(s.body))
	word(s.bodyCRC)
	word(s.headCRC)
	word(uint64(s.length))
	word(uint64(len(s.density)))
	for _, v := range s.density {
		word(math.Float64bits(v))
	}
	slice(s.turn)
	slice(s.now)
	binary.LittleEndian.PutUint64(out[8:], stateVersion)
	binary.LittleEndian.PutUint64(out[16:], uint64(len(out)-stateHead))
	return binary.LittleEndian.AppendUint64(out, crc64.Checksum(out, crcTable))
}

func readState(path string) (*state, error) {
	data, err := plainfile.ReadUnlinked(path, maxState)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s, err := decodeState(data)
	if err != nil {
		return nil, fmt.Errorf("store: %s cannot be used: %w", path, err)
	}
	return s, nil
}

func decodeState(data []byte) (*state, error) {
	if len(data) < stateHead+stateFoot || string(data[:8]) != stateMagic {
		return nil, errors.New("the file does not contain the state of a chain, or is truncated")
	}
	if v := binary.LittleEndian.Uint64(data[8:]); v != stateVersion {
		return nil, fmt.Errorf("the file uses version %d of the format, but this program reads version %d", v, stateVersion)
	}
	if n := binary.LittleEndian.Uint64(data[16:]); n != uint64(len(data)-stateHead-stateFoot) {
		return nil, fmt.Errorf("the file has %d bytes, but should have %d", len(data)-stateHead-stateFoot, n)
	}
	rest, sum := data[stateHead:len(data)-stateFoot], binary.LittleEndian.Uint64(data[len(data)-stateFoot:])
	if crc := crc64.Checksum(data[:len(data)-stateFoot], crcTable); crc != sum {
		return nil, fmt.Errorf("the checksum of the file is %016x, but should be %016x", crc, sum)
	}
	bad := false
	word := func() (v uint64) {
		if len(rest) < 8 {
			bad = true
			return 0
		}
		v, rest = binary.LittleEndian.Uint64(rest), rest[8:]
		return v
	}
	count := func(size uint64) uint64 { // of elements, each of at least size bytes
		n := word()
		if n > uint64(len(rest))/size {
			bad = true
			return 0
		}
		return n
	}
	slice := func() (b []byte) {
		n := count(1)
		b, rest = rest[:n:n], rest[n:]
		return b
	}
	s := &state{body: int64(word()), bodyCRC: word(), headCRC: word(), length: int64(word())}
	for range count(8) {
		s.density = append(s.density, math.Float64frombits(word()))
	}
	s.turn, s.now = slice(), slice()
	if bad || len(rest) > 0 || s.body < 0 {
		return nil, errors.New("the file does not contain the state of a chain")
	}
	return s, nil
}

// An Evaluator is a Kernel that can recompute the log density at its position, without
// using cached values. Evaluate returns one or more numbers. Every call of Evaluate
// returns the same number of results. A chain is resumed only if Evaluate returns, bit
// for bit, the same numbers as when the state of the chain was saved. The results of
// Evaluate must depend only on the data that State stores.
type Evaluator interface {
	Evaluate() []float64
}
