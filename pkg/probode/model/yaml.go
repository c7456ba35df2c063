package model

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A node is a value of a YAML file with its line, aliases written out. Scalars
// keep the text of the file: whether y, no or 1e5 are words or numbers is for
// the reader of the field to say, not for YAML.
type node struct {
	s    *source
	line int

	text  string // of a scalar
	items []*node
	keys  []string // of a mapping, in the order of the file
	byKey map[string]*node
	kind  yaml.Kind
	null  bool
}

// readYAML reads the one document of a file.
func (s *source) readYAML() *node {
	s.utf8()
	d := yaml.NewDecoder(bytes.NewReader(s.text))
	var doc, second yaml.Node
	if err := d.Decode(&doc); err == io.EOF {
		s.failf(0, "empty: want a YAML mapping")
	} else if err != nil {
		s.failf(0, "%s", yamlMessage(err))
	}
	if err := d.Decode(&second); err == nil {
		s.failf(second.Line, "a second YAML document: want one")
	} else if err != io.EOF {
		s.failf(0, "%s", yamlMessage(err))
	}
	if len(doc.Content) != 1 {
		s.failf(0, "empty: want a YAML mapping")
	}
	left := maxNodes
	return s.node(doc.Content[0], 0, &left)
}

func yamlMessage(err error) string {
	return "YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")
}

// node copies y with its aliases written out; left counts down over the whole
// file, so that aliases of aliases end in an error and not in gigabytes.
func (s *source) node(y *yaml.Node, depth int, left *int) *node {
	if *left--; *left < 0 {
		s.failf(y.Line, "more than %d values with all aliases written out", maxNodes)
	}
	if depth > maxDepth {
		s.failf(y.Line, "values nested more than %d deep", maxDepth)
	}
	if y.Kind == yaml.AliasNode {
		return s.node(y.Alias, depth+1, left)
	}
	n := &node{s: s, line: y.Line, kind: y.Kind}
	switch y.Kind {
	case yaml.ScalarNode:
		switch y.ShortTag() {
		case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
			n.text = strings.TrimSpace(y.Value)
		case "!!null":
			n.null = true
		default:
			s.failf(y.Line, "tag %s: want a word or a number", y.ShortTag())
		}
	case yaml.SequenceNode:
		for _, c := range y.Content {
			n.items = append(n.items, s.node(c, depth+1, left))
		}
	case yaml.MappingNode:
		n.byKey = map[string]*node{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
				s.failf(k.Line, "a key that is not a word")
			}
			if _, twice := n.byKey[k.Value]; twice {
				s.failf(k.Line, "%s appears twice", k.Value)
			}
			n.keys = append(n.keys, k.Value)
			n.byKey[k.Value] = s.node(y.Content[i+1], depth+1, left)
		}
	default:
		s.failf(y.Line, "a YAML value that is neither word, list nor mapping")
	}
	return n
}

// mapping stops unless n is a mapping with keys among those given; what names
// it in the message.
func (n *node) mapping(what string, keys ...string) {
	if n.kind != yaml.MappingNode {
		n.s.failf(n.line, "%s is not a mapping: want key: value", what)
	}
	for _, k := range n.keys {
		if len(keys) > 0 && !slices.Contains(keys, k) {
			n.s.failf(n.byKey[k].line, "%s has a key %s: want %s", what, k, strings.Join(keys, ", "))
		}
	}
}

// get returns the value of a key, nil if it is absent or null.
func (n *node) get(key string) *node {
	v := n.byKey[key]
	if v == nil || v.null {
		return nil
	}
	return v
}

// word returns the scalar of a key, "" if it is absent.
func (n *node) word(key string) string {
	v := n.get(key)
	if v == nil {
		return ""
	}
	if v.kind != yaml.ScalarNode {
		n.s.failf(v.line, "%s is not a word or a number", key)
	}
	return v.text
}

// must returns the scalar of a key that may not be absent or empty.
func (n *node) must(what, key string) string {
	w := n.word(key)
	if w == "" {
		n.s.failf(n.line, "%s has no %s", what, key)
	}
	return w
}

// number returns the number of a key, def if it is absent. It is finite.
func (n *node) number(key string, def float64) float64 {
	w := n.word(key)
	if w == "" {
		return def
	}
	v, err := parseNumber(w)
	if err != nil || math.IsInf(v, 0) {
		n.s.failf(n.byKey[key].line, "%s is %q: want a finite number", key, w)
	}
	return v
}

// list returns the items of a key; a scalar stands for a list of one.
func (n *node) list(key string) []*node {
	v := n.get(key)
	switch {
	case v == nil:
		return nil
	case v.kind == yaml.SequenceNode:
		return v.items
	case v.kind == yaml.ScalarNode:
		return []*node{v}
	}
	n.s.failf(v.line, "%s is not a list", key)
	return nil
}

// lineOf returns the line of a key's value, or of n if it is absent.
func (n *node) lineOf(key string) int {
	if v := n.byKey[key]; v != nil {
		return v.line
	}
	return n.line
}
