package expr

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is the smallest unit of the text of an expression, such as a number.
type token struct {
	kind rune // '0' a number, 'a' a name, 'q' a quoted name, 'o' an operator or bracket, 0 the end
	text string
	val  float64
	pos  int // in bytes
}

// is reports whether t is the given operator or bracket. For a quoted name with the same
// text, is() returns false.
func (t token) is(operator string) bool { return t.kind == 'o' && t.text == operator }

func (t token) String() string {
	switch t.kind {
	case 0:
		return "the end"
	case '0':
		return "number " + t.text
	case 'a', 'q':
		return "name " + t.text
	}
	return strconv.Quote(t.text)
}

// A SyntaxError describes a mistake in the text of an expression and says where it is.
type SyntaxError struct {
	Column int    // counting letters from 1
	Line   int    // counting from 1; 0 if the text has one line only
	Msg    string // the text that was found, and the kinds of text allowed there
}

func (e *SyntaxError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
	}
	return fmt.Sprintf("column %d: %s", e.Column, e.Msg)
}

func syntaxError(src string, pos int, format string, args ...any) *SyntaxError {
	e := &SyntaxError{Msg: fmt.Sprintf(format, args...)}
	before := src[:pos]
	if strings.Contains(strings.TrimRight(src, "\r\n"), "\n") {
		e.Line = 1 + strings.Count(before, "\n")
	}
	e.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return e
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) }

// IsID reports whether s consists of letters, digits and underscores, and does not begin
// with a digit.
func IsID(s string) bool {
	return s != "" && isLetter(s[0]) && skip(s, 0, isWord) == len(s)
}

// IsName reports whether s is an ID, or an ID with indices, such as S[1] or C[2,13].
func IsName(s string) bool { return IsID(s) || indexed.MatchString(s) }

var indexed = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\[[1-9][0-9]*(,[1-9][0-9]*)*\]$`)

// skip starts at pos, skips characters as long as is() returns true, and returns the new
// position.
func skip(src string, pos int, is func(c byte) bool) int {
	for pos < len(src) && is(src[pos]) {
		pos++
	}
	return pos
}

// scan reads the first token that begins at or after the byte position pos.
func scan(src string, pos int) (token, error) {
	pos = skip(src, pos, func(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 })
	if pos == len(src) {
		return token{pos: pos}, nil
	}
	c := src[pos]
	switch {
	case isLetter(c):
		end := skip(src, pos, isWord)
		return token{kind: 'a', text: src[pos:end], pos: pos}, nil
	case isDigit(c) || c == '.' && pos+1 < len(src) && isDigit(src[pos+1]):
		return scanNumber(src, pos)
	case c == '`':
		end := strings.IndexByte(src[pos+1:], '`')
		if end <= 0 {
			return token{}, syntaxError(src, pos, "found a backquote that does not begin a quoted name: want `name`")
		}
		name := src[pos+1 : pos+1+end]
		if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return token{}, syntaxError(src, pos, "found the name %q: want printable characters only", name)
		}
		return token{kind: 'q', text: name, pos: pos}, nil
	}
	if pos+1 < len(src) {
		switch two := src[pos : pos+2]; two {
		case "**", "<=", ">=", "==", "!=", "&&", "||":
			return token{kind: 'o', text: two, pos: pos}, nil
		}
	}
	if strings.IndexByte("+-*/%^()<>!,[]", c) >= 0 {
		return token{kind: 'o', text: src[pos : pos+1], pos: pos}, nil
	}
	switch c {
	case '=':
		return token{}, syntaxError(src, pos, `found "=": want "==" to compare`)
	case '&', '|':
		return token{}, syntaxError(src, pos, `found "%c": want "%c%c"`, c, c, c)
	}
	r, _ := utf8.DecodeRuneInString(src[pos:])
	return token{}, syntaxError(src, pos, "found %q: want numbers, operators, and names made of letters, digits and _", r)
}

var digits = regexp.MustCompile(`^[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?`)

func scanNumber(src string, pos int) (token, error) {
	text := digits.FindString(src[pos:])
	end := pos + len(text)
	if end < len(src) && (isLetter(src[end]) || src[end] == '.') {
		return token{}, syntaxError(src, end, "found %q after number %s: want an operator (names must begin with a letter)", src[end], text)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return token{}, syntaxError(src, pos, "number %s is too large: want at most 1.8e308", text)
	}
	return token{kind: '0', text: text, val: v, pos: pos}, nil
}
