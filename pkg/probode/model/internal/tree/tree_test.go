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

// A file that is not XML is refused, also where encoding/xml reads it.
func TestNotXML(t *testing.T) {
	for file, want := range map[string]string{
		`<a b="1" b="2"/>`:                   "<a> has the attribute b twice",
		`<a><c b="1" d="" b="1"/></a>`:       "<c> has the attribute b twice",
		`<a xmlns:x="u" xmlns:x="v"/>`:       "<a> has the attribute x twice",
		`<a xmlns:x="u" x:b="1" b="1"/>`:     "",
		"<a/>x":                              "text outside of the root element",
		"<a></a>\n<!-- note -->\n":           "",
		"<a/> <![CDATA[x]]>":                 "text outside of the root element",
		"x<a/>":                              "text outside of the root element",
		"\n <?xml-stylesheet href='b'?><a/>": "",
		"<a/><b/>":                           "second root element",
	} {
		_, err := Read([]byte(file))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v: want %q", file, err, want)
		}
	}
}
