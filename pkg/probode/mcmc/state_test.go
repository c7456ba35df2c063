package mcmc

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// Everything that an Archive takes, with numbers that not every form of writing
// keeps.
type everything struct {
	w      uint64
	i      int
	f      float64
	x      []float64
	s      Stats
	source *rand.PCG
}

func (e *everything) State(a *Archive) {
	a.word(&e.w)
	a.Int(&e.i)
	a.Float(&e.f)
	a.Floats(e.x)
	a.Stats(&e.s)
	a.Source(e.source)
}

func TestArchive(t *testing.T) {
	nan := math.Float64frombits(0x7ff8000000000123)
	full := everything{1 << 63, -5, math.Copysign(0, -1), []float64{math.Inf(-1), 5e-324, nan}, Stats{Moves{1, 2, 3}, Moves{4, 5, 6}}, rand.NewPCG(7, 8)}
	full.source.Uint64()
	a := NewArchive(nil)
	full.State(a)
	data := a.Bytes()
	if a.Reading() || a.Err() != nil {
		t.Fatal(a.Err())
	}
	read := func(data []byte, d int) (*everything, error) {
		e := &everything{x: make([]float64, d), source: rand.NewPCG(0, 0)}
		a := NewArchive(data)
		e.State(a)
		return e, a.Err()
	}
	got, err := read(data, 3)
	if err != nil {
		t.Fatal(err)
	}
	if math.Float64bits(got.f) != 1<<63 || math.Float64bits(got.x[2]) != math.Float64bits(nan) {
		t.Error("numbers are not kept bit for bit")
	}
	got.x[2], full.x[2] = 0, 0
	if !reflect.DeepEqual(*got, full) || got.source.Uint64() != full.source.Uint64() {
		t.Errorf("got %+v, want %+v", got, full)
	}

	for n := range len(data) {
		if _, err := read(data[:n:n], 3); err == nil {
			t.Errorf("%d of %d bytes are taken for a state", n, len(data))
		}
	}
	for what, c := range map[string]struct {
		data []byte
		d    int
		want string
	}{
		"too long":          {append(data[:len(data):len(data)], 0), 3, "1 bytes too long"},
		"another dimension": {data, 2, "3 numbers, want 2"},
		"no data":           {[]byte{}, 3, "last bytes are missing"},
	} {
		if _, err := read(c.data, c.d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", what, err, c.want)
		}
	}
}
