package tree

import (
	"strings"
	"testing"
	"unicode"
)

// Whatever is in a file, the error about it is one line that a terminal shows as it is.
func TestErrorsArePrintable(t *testing.T) {
	for _, file := range []string{
		"<!\r>", "<!DOCTYPE a\n[\x1b[2J]>", "<a>\r\n</\u202e>", "<?xml version='1.0' encoding='x\ny'?><a/>", "<a b='\x00'/>", "<a>&\t;</a>", "<a/><\u00e9\u2028/>", "<skip><a></skip>",
	} {
		_, err := Read([]byte(file), "skip")
		if err == nil {
			t.Errorf("%q: no error", file)
			continue
		}
		if s := err.Error(); strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) {
			t.Errorf("%q: error %q", file, s)
		}
	}
}
