package sbml

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// An element is an XML element with its line; <math> is read at once.
type element struct {
	space, name string
	attr        []xml.Attr
	line        int
	child       []*element
	math        *expr.Node // of an element <math>
}

const mathML = "http://www.w3.org/1998/Math/MathML"

// readXML reads the tree of elements, without notes and annotations, which
// say nothing that is computed. A document type is refused: it is where
// entities that expand to gigabytes are declared.
func readXML(s *source.File) *element {
	d := xml.NewDecoder(bytes.NewReader(s.Text))
	d.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii", "ascii":
			return input, nil
		case "iso-8859-1", "latin1":
			return &latin1{r: input}, nil
		}
		return nil, fmt.Errorf("encoding %q: want UTF-8", charset)
	}
	var root *element
	var open []*element
	elements := 0
	for {
		tok, err := d.Token()
		line, _ := d.InputPos()
		if err == io.EOF && root != nil {
			return root
		}
		if err == io.EOF {
			s.Failf(0, "no XML element: want SBML")
		}
		if err != nil {
			failXML(s, line, err)
		}
		switch tok := tok.(type) {
		case xml.Directive:
			s.Failf(line, "<!%.20s …>: want SBML without a document type", tok)
		case xml.StartElement:
			if root != nil && len(open) == 0 {
				s.Failf(line, "a second root element <%s>", tok.Name.Local)
			}
			if len(open) >= source.MaxDepth {
				s.Failf(line, "elements nested more than %d deep", source.MaxDepth)
			}
			if elements++; elements > source.MaxElements {
				s.Failf(line, "more than %d elements: want a smaller file", source.MaxElements)
			}
			if tok.Name.Local == "annotation" || tok.Name.Local == "notes" {
				if err := d.Skip(); err != nil {
					failXML(s, line, err)
				}
				continue
			}
			e := &element{space: tok.Name.Space, name: tok.Name.Local, attr: tok.Copy().Attr, line: line}
			if len(open) > 0 {
				p := open[len(open)-1]
				p.child = append(p.child, e)
			} else {
				root = e
			}
			if e.name == "math" && e.space == mathML {
				if e.math, err = expr.ParseMathML(d, tok); err != nil {
					line, _ = d.InputPos()
					s.FailMath(line, "", err)
				}
				continue
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && len(bytes.TrimSpace(tok)) > 0 && open[len(open)-1].space != mathML {
				// SBML keeps everything in attributes.
				if p := open[len(open)-1]; p.name != "message" {
					s.Failf(line, "text %.20q inside <%s>", bytes.TrimSpace(tok), p.name)
				}
			}
		}
	}
}

func failXML(s *source.File, line int, err error) {
	if se, ok := err.(*xml.SyntaxError); ok {
		s.Failf(se.Line, "XML: %s", se.Msg)
	}
	s.Failf(line, "XML: %v", err)
}

// get returns an attribute without a prefix, "" if it is absent.
func (e *element) get(name string) string {
	for _, a := range e.attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// list returns the elements of a list such as <listOfSpecies>.
func (e *element) list(listName string) []*element {
	if l := e.first(listName); l != nil {
		return l.child
	}
	return nil
}

// first returns the first child of that name, nil if there is none.
func (e *element) first(name string) *element {
	for _, c := range e.child {
		if c.name == name {
			return c
		}
	}
	return nil
}

// latin1 turns ISO 8859-1 into UTF-8.
type latin1 struct {
	r    io.Reader
	rest []byte
}

func (l *latin1) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		var b [512]byte
		n, err := l.r.Read(b[:])
		if n == 0 {
			return 0, err
		}
		for _, c := range b[:n] {
			l.rest = append(l.rest, string(rune(c))...)
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}
