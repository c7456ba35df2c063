package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"log σ, β":                 "log σ, β",
		"R̂":                       "R̂", // with a combining character
		"a\x1b[2Jb":                "a\ufffd[2Jb",
		"a\u202eb\r\n\x00\u009b1m": "a\ufffdb\ufffd\ufffd\ufffd\ufffd1m",
		"\xff":                     "\ufffd",
		strings.Repeat("θ", 80):    strings.Repeat("θ", 80),
		strings.Repeat("θ", 81):    strings.Repeat("θ", 80) + "…",
	} {
		if got := Clip(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\a")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clip(s)
		if utf8.RuneCountInString(got) > 81 || !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
		for _, r := range got {
			if r < ' ' || 0x7f <= r && r < 0xa0 {
				t.Errorf("%q holds a control character", got)
			}
		}
	})
}

func TestTable(t *testing.T) {
	rows := [][]string{{"", "R̂", "note"}, {"θ₁", "1.01", "a"}, {"log σ", "12", ""}, {"x"}}
	want := "" +
		"          R̂  note\n" +
		"θ₁     1.01  a\n" +
		"log σ    12\n" +
		"x\n"
	if got := Table(rows, func(i int) bool { return i != 1 }); got != want {
		t.Errorf("\n%swant\n%s", got, want)
	}
	if got := Table(nil, First); got != "" {
		t.Errorf("no rows are %q", got)
	}
	// Only the first column of numbers is flush left.
	if got, want := Table([][]string{{"a", "b"}, {"aa", "bb"}}, First), "a    b\naa  bb\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
