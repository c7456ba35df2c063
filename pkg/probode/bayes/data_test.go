package bayes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/probode/probode/pkg/probode/bayes"
)

// What spreadsheets and R write is read as it is meant.
func TestReadCSVDialects(t *testing.T) {
	for in, want := range map[string]string{
		"\ufefft,y\n1,2\n":                              "[1] [[2]]",
		"\ufeff\"t\",\"y\"\r\n1,\"2.5\"\r\n":            "[1] [[2.5]]",
		"\"t\",\"y\"\n1,NA\n2,\"NA\"\n3,\n4,NaN\n5,1\n": "[1 2 3 4 5] [[NaN] [NaN] [NaN] [NaN] [1]]",
		"t,x,x,y\n1,,,2\n":                              "[1] [[2]]", // two of one name that nobody asks for
		"t,y\n-1e-3,+2E1\n":                             "[-0.001] [[20]]",
	} {
		d, err := bayes.ReadCSV(strings.NewReader(in), "t", "y")
		if err != nil {
			t.Errorf("%q: %v", in, err)
		} else if got := fmt.Sprint(d.T, d.Y); got != want || d.Time != "t" {
			t.Errorf("%q is read as %s, want %s", in, got, want)
		}
	}
}

// Errors are one line of text that can be printed and is not long, whatever the
// file is.
func TestReadCSVErrors(t *testing.T) {
	var utf16 strings.Builder
	for _, c := range "t,y\n1,2\n" {
		utf16.WriteByte(byte(c))
		utf16.WriteByte(0)
	}
	wide := "t"
	for i := range 2000 {
		wide += fmt.Sprintf(",column%d", i)
	}
	for _, c := range []struct{ in, want string }{
		{"t,y,y\n1,2,3\n", `the header contains the column "y" twice`},
		{"t,t,y\n1,2,3\n", `the header contains the column "t" twice`},
		{"t;y\n1;2\n", `the header has t;y: the separator seems to be ";": want commas`},
		{"t\ty\n1\t2\n", `the separator seems to be a tab: want commas`},
		{"t,z;y\n1,2\n", `no column "y": the header has t, z;y`},
		{"t,y\n1,1_000\n", `line 2, column "y": "1_000" is not a number`},
		{"t,y\n1,0x1p3\n", `"0x1p3" is not a number`},
		{"t,y\nNA,1\n", `line 2, column "t": "NA" is not a number`},
		{"t,y\n1,na\n", `"na" is not a number`},
		{"t,y\n8.5,1\n8.5,2\n", "time 8.5 comes after 8.5: want increasing times; several observations at one time belong in separate columns, or in another experiment"},
		{"t,y\n2,1\n1,2\n", "time 1 comes after 2: want increasing times"},
		{"\xff\xfe" + utf16.String(), "the file is in UTF-16: want UTF-8"},
		{"\xfe\xff\x00t\x00,", "the file is in UTF-16: want UTF-8"},
		{utf16.String(), "NUL bytes"},
		{"\x1f\x8b\x08\x00\x00", "compressed with gzip"},
		{"PK\x03\x04\x14\x00", "a zip archive"},
		{"t,y\r1,2\r3,4\r", "the lines end in CR only"},
		{"\x01\x02\x1b[31mred\x07,\x90\n", `\x01\x02\x1b[31mred\a`},
		{wide + "\n", "columns)"},
		{strings.Repeat("é", 3000) + "\n", `éé"…`},
		{"t,y\n1," + strings.Repeat("\x1b", 3000) + "\n", `\x1b"… is not a number`},
	} {
		_, err := bayes.ReadCSV(strings.NewReader(c.in), "t", "y")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %.400v, want %q", c.in, err, c.want)
			continue
		}
		// 200 characters of a header and one name of 40 bytes, each of which may
		// take four characters, and the words around them.
		if n := len(err.Error()); n > 500 {
			t.Errorf("%.40q: the error has %d bytes", c.in, n)
		}
		if i := strings.IndexFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }); i >= 0 {
			t.Errorf("%.40q: the error %q has what cannot be printed", c.in, err)
		}
	}
}

// What cannot be read is an error, with its cause.
func TestReadCSVFails(t *testing.T) {
	broken := errors.New("broken pipe")
	if _, err := bayes.ReadCSV(iotest.ErrReader(broken), "t", "y"); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// Whatever a table holds, it is refused in one short line that can be printed, or is
// data that can be used, and the same when they are written and read again.
func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{
		"", "t,y\n1,2\n", "t,y,z\n1,2,3\n2,NA,\n", "t,y\n1,NaN\n", "\ufefft,y\r\n1,2\r\n", "t;y\n1;2\n", "t,y\n1,\"2\n", "t,y\n2,1\n1,1\n",
		"t,y\n1,1e999\n", "t,y\n-0,0x1p3\n", "t,y\n1,1_0\n", "# a\nt,y,y\n1,2,3\n", "t,y\n1,2,3\n", "t,y\n1,\x1b[2J\n", "\x1f\x8b", "t,y\n1,5e-324\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, columns := range [][]string{{"y"}, {"y", "z"}} {
			d, err := bayes.ReadCSV(strings.NewReader(in), "t", columns...)
			if err != nil {
				if n := len(err.Error()); n > 700 || strings.ContainsAny(err.Error(), "\n\x1b\r\a") {
					t.Errorf("%q: an error of %d bytes: %q", in, n, err)
				}
				continue
			}
			var again strings.Builder
			fmt.Fprintf(&again, "t,%s\n", strings.Join(columns, ","))
			for i, at := range d.T {
				fmt.Fprint(&again, at)
				for _, y := range d.Y[i] {
					fmt.Fprint(&again, ",", y)
				}
				again.WriteByte('\n')
			}
			e, err := bayes.ReadCSV(strings.NewReader(again.String()), "t", columns...)
			if err != nil || fmt.Sprint(d.T, d.Y) != fmt.Sprint(e.T, e.Y) {
				t.Errorf("%q is read as %v %v, and after writing as %+v, %v", in, d.T, d.Y, e, err)
			}
		}
	})
}
