package store

import (
	"bytes"
	"fmt"
	"hash/crc64"
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
	f.Add((&state{density: []float64{1}}).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := decodeState(data); err == nil && !bytes.Equal(s.encode(), data) {
			t.Errorf("a state is read as another")
		}
	})
}

// sealed adds the checksum.
func sealed(text string) string {
	return fmt.Sprintf("%s# checksum = %016x\n", text, crc64.Checksum([]byte(text), crcTable))
}

// A file that says what a terminal would obey, a checksum in other letters, and
// numbers that would make a long message, are refused in a short line.
func TestUnfriendlyHeaders(t *testing.T) {
	s := streamed(41)
	s.Draws, s.Chains = 20, 2
	dir := t.TempDir()
	mustStream(t, dir, s)
	good := contents(t, dir)
	text := func(name string) string { return good[name][:strings.Index(good[name], "# checksum")] }
	one := text("chain-1.csv")
	change := func(old, new string) map[string]string {
		if !strings.Contains(one, old) {
			t.Fatalf("no %q", old)
		}
		return map[string]string{"chain-1.csv": sealed(strings.Replace(one, old, new, 1)), "chain-2.csv": good["chain-2.csv"]}
	}
	for what, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"an escape":             {change("standard normal", "\x1b]0;owned\a"), "comment"},
		"a turn of direction":   {change("standard normal", "a\u202eb"), "comment"},
		"an escape in a column": {change("y.1,", "y\x1b[2J,"), "columns"},
		"a million chains":      {map[string]string{"chain-1.csv": sealed(strings.Replace(one, "num_chains = 2", "num_chains = 1000000", 1))}, "lacks 999999 of the 1000000 chains: chain-2.csv, chain-3.csv, chain-4.csv, chain-5.csv, chain-6.csv, chain-7.csv, and 999993 more"},
		"two million chains":    {change("num_chains = 2", "num_chains = 2000000"), "want at most 1000000"},
		"a long value":          {change("standard normal", strings.Repeat("long ", 3000)+"x"), "model is long long"},
		"a long key":            {change("# model = ", "# "+strings.Repeat("k", 10000)+" = "), "…"},
		"a long number":         {change("num_chains = 2", "num_chains = "+strings.Repeat("9", 10000)), "num_chains is"},
		"a long first line":     {map[string]string{"chain-1.csv": strings.Repeat("x", 1<<20)}, "first line"},
		"other letters": {map[string]string{"chain-1.csv": func() string {
			whole := good["chain-1.csv"]
			return whole[:len(whole)-17] + strings.ToUpper(whole[len(whole)-17:])
		}(), "chain-2.csv": good["chain-2.csv"]}, "checksum"},
	} {
		if what == "other letters" && strings.ToUpper(good["chain-1.csv"][len(good["chain-1.csv"])-17:]) == good["chain-1.csv"][len(good["chain-1.csv"])-17:] {
			t.Fatal("a checksum without letters: take another seed")
		}
		dir := t.TempDir()
		fill(t, dir, c.files)
		got, err := Read(dir)
		if got != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %.300v, want %q", what, err, c.want)
			continue
		}
		if message := strings.ReplaceAll(err.Error(), dir, ""); len(message) > 700 || strings.ContainsAny(message, "\n\x1b\a\u202e") {
			t.Errorf("%s: %d characters: %.400q", what, len(message), message)
		}
	}
}
