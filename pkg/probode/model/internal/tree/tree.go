// Package tree reads XML into a tree of elements and records the line of each element.
package tree

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
)

// An Element is an XML element with its attributes, its text and its children.
type Element struct {
	Space, Name  string
	Attr         []xml.Attr
	Line, Column int // the place where the start tag ends
	Child        []*Element

	// Text contains the pieces of text before, between and after the children, without
	// leading and trailing blanks. The number of pieces is the number of children plus 1.
	Text []string
}

// The limits maxElements and maxDepth keep a malicious file from exhausting memory or the
// stack.
const (
	maxElements = 1 << 20
	maxDepth    = 10000
)

// An Error describes a mistake in a file and says where it is.
type Error struct {
	Line, Column int
	Msg          string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// latin1 makes UTF-8 of ISO 8859-1, whose bytes are code points.
func latin1(input io.Reader) (io.Reader, error) {
	all, err := io.ReadAll(input)
	characters := make([]rune, len(all))
	for i, b := range all {
		characters[i] = rune(b)
	}
	return strings.NewReader(string(characters)), err
}

// Read reads the root element of a file and all elements inside it, except for elements
// whose names are in the argument `skip`. A document type declaration is an error,
// because it could declare entities that expand to gigabytes. If Read fails, the error is
// an *Error with a one-line message.
func Read(file []byte, skip ...string) (*Element, error) {
	d := xml.NewDecoder(bytes.NewReader(file))
	d.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii", "ascii":
			return input, nil
		case "iso-8859-1", "latin1":
			return latin1(input)
		}
		return nil, fmt.Errorf("encoding %q: want UTF-8", charset)
	}
	fail := func(format string, args ...any) (*Element, error) {
		line, column := d.InputPos()
		msg := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
		return nil, &Error{line, column, text.Printable(msg)} // parts of the file can be in the message
	}
	var root *Element
	var open []*Element
	elements := 0
	for {
		tok, err := d.Token()
		if err == io.EOF && root != nil {
			return root, nil
		}
		switch tok := tok.(type) {
		case nil:
			if se, ok := err.(*xml.SyntaxError); ok {
				return fail("XML: %s", se.Msg)
			}
			if err == io.EOF {
				return fail("found no XML element")
			}
			return fail("XML: %v", err)
		case xml.Directive:
			return fail("found <!%.20s …>: remove the document type declaration", tok)
		case xml.StartElement:
			if root != nil && len(open) == 0 {
				return fail("found a second root element, <%s>", tok.Name.Local)
			}
			if len(open) >= maxDepth {
				return fail("elements are nested more than %d levels deep", maxDepth)
			}
			if elements++; elements > maxElements {
				return fail("the file has too many elements: want at most %d", maxElements)
			}
			if slices.Contains(skip, tok.Name.Local) {
				if err := d.Skip(); err != nil {
					return fail("XML: %v", err)
				}
				continue
			}
			e := &Element{Space: tok.Name.Space, Name: tok.Name.Local, Attr: tok.Copy().Attr, Text: []string{""}}
			e.Line, e.Column = d.InputPos()
			for i, a := range e.Attr {
				if slices.ContainsFunc(e.Attr[:i], func(b xml.Attr) bool { return a.Name == b.Name }) {
					return fail("<%s> has the attribute %s twice", e.Name, a.Name.Local)
				}
			}
			if len(open) > 0 {
				p := open[len(open)-1]
				p.Child, p.Text = append(p.Child, e), append(p.Text, "")
			} else {
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				p := open[len(open)-1]
				p.Text[len(p.Text)-1] = strings.TrimSpace(p.Text[len(p.Text)-1] + string(tok))
			} else if len(bytes.TrimSpace(tok)) > 0 {
				return fail("found text outside of the root element")
			}
		}
	}
}

// Get returns the attribute with the given name and no prefix, or "" if it is absent.
func (e *Element) Get(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// List returns the elements of the list with the given name, such as <listOfSpecies>. If
// e has several children with this name, the first one is used.
func (e *Element) List(name string) []*Element {
	if l := e.First(name); l != nil {
		return l.Child
	}
	return nil
}

// First returns the first child with the given name, or nil if there is no such child.
func (e *Element) First(name string) *Element {
	for _, c := range e.Child {
		if c.Name == name {
			return c
		}
	}
	return nil
}
