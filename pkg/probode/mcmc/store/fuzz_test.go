//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sample returns the files of a small study.
func sample(tb testing.TB) map[string]string {
	tb.Helper()
	dir := tb.TempDir()
	s := streamed(50)
	s.Draws, s.BurnIn, s.Chains = 3, -1, 1
	if err := run(tb.Context(), walkers(0), dir, s); err != nil {
		tb.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range []string{"chain-1.csv", "chain-1.state"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

// Whatever a file holds, Read gives draws or an error of one short line that a
// terminal can show; and what it takes has the right checksum.
func FuzzRead(f *testing.F) {
	whole := sample(f)["chain-1.csv"]
	body := whole[:strings.Index(whole, "# checksum")]
	for _, seed := range []string{
		"", whole, whole[:len(whole)/2], sealed(body), "a,b\n1,2\n", "# format = probode-draws-1\n", "# format = probode-draws-9\n",
		sealed(strings.Replace(body, "num_chains = 1", "num_chains = 1000000", 1)),
		sealed(strings.Replace(body, "thin = 2", "thin = 0", 1)),
		sealed(strings.Replace(body, "num_params = 2", "num_params = 9223372036854775807", 1)),
		sealed(strings.Replace(body, "name.3 = ", "name.-1 = ", 1)),
		sealed(strings.Replace(body, "standard normal", "\x1b[2J", 1)),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "chain-1.csv"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Read(dir)
		if err == nil {
			at := bytes.LastIndex(data, []byte("# checksum"))
			if at < 0 || sealed(string(data[:at])) != string(data) {
				t.Fatal("draws of a file without its checksum")
			}
			_ = c.String()
			return
		}
		if message := strings.ReplaceAll(err.Error(), dir, ""); len(message) > 900 || strings.ContainsAny(message, "\n\x1b\r\a") {
			t.Errorf("%q", message)
		}
	})
}

// Whatever the file of a state holds, it is decoded as it was written, or not.
func FuzzDecodeState(f *testing.F) {
	whole := sample(f)["chain-1.state"]
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)-1]))
	f.Add([]byte(stateMagic))
	f.Add([]byte(nil))
	f.Add((&state{history: []string{"a"}, density: []float64{1}}).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := decodeState(data); err == nil && !bytes.Equal(s.encode(), data) {
			t.Errorf("a state is read as another")
		}
	})
}
