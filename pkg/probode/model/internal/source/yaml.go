package source

import (
	"bytes"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Node is a value in a YAML file, with its line number. Aliases are replaced by the
// values that they stand for. A scalar is kept as text: the code that reads a field
// decides whether 1e5, for example, is a number or a word.
type Node struct {
	File *File
	Line int
	Kind yaml.Kind

	Text  string // of a scalar
	Items []*Node
	Keys  []string // of a mapping, in the order in which the file lists them
	ByKey map[string]*Node
	Null  bool
	Index map[string]int // see expr.Names
}

// YAML reads a YAML file, which must contain a single document.
func (s *File) YAML() *Node {
	s.utf8()
	d := yaml.NewDecoder(bytes.NewReader(s.Text))
	var doc, second yaml.Node
	if err := d.Decode(&doc); err == io.EOF {
		s.Failf(0, "empty: want a YAML mapping")
	} else if err != nil {
		s.failYAML(err)
	}
	if err := d.Decode(&second); err == nil {
		s.Failf(second.Line, "a second YAML document: want one")
	} else if err != io.EOF {
		s.failYAML(err)
	}
	if len(doc.Content) != 1 {
		s.Failf(0, "empty: want a YAML mapping")
	}
	left := maxNodes
	return s.node(doc.Content[0], 0, &left)
}

var (
	yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	ofParser  = regexp.MustCompile(`^did not find expected (key$|node content$|'-' indicator$|',' or )`)
)

// failYAML reports an error of the library, whose parser counts lines from 0 and whose
// scanner counts them from 1.
func (s *File) failYAML(err error) {
	line, msg := 0, err.Error()
	if m := yamlError.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		if msg = m[2]; ofParser.MatchString(msg) {
			line++
		}
	}
	s.Failf(line, "YAML: %s", msg)
}

// node replaces aliases by copies. Without the limit `left` on values in the file, nested
// ones could expand to gigabytes.
func (s *File) node(y *yaml.Node, depth int, left *int) *Node {
	if *left--; *left < 0 {
		s.Failf(y.Line, "the file has more than %d values once all aliases are expanded", maxNodes)
	}
	if depth > maxDepth {
		s.Failf(y.Line, "values are nested more than %d levels deep", maxDepth)
	}
	if y.Kind == yaml.AliasNode {
		return s.node(y.Alias, depth+1, left)
	}
	n := &Node{File: s, Line: y.Line, Kind: y.Kind}
	switch y.Kind {
	case yaml.ScalarNode:
		switch y.ShortTag() {
		case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
			n.Text = strings.TrimSpace(y.Value)
		case "!!null":
			n.Null = true
		default:
			s.Failf(y.Line, "the tag %s is not supported: want a word or a number", y.ShortTag())
		}
	case yaml.SequenceNode:
		for _, c := range y.Content {
			n.Items = append(n.Items, s.node(c, depth+1, left))
		}
	case yaml.MappingNode:
		n.ByKey = map[string]*Node{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
				s.Failf(k.Line, "found a key that is not a word")
			}
			if _, twice := n.ByKey[k.Value]; twice {
				s.Failf(k.Line, "%s appears twice", k.Value)
			}
			n.Keys = append(n.Keys, k.Value)
			n.ByKey[k.Value] = s.node(y.Content[i+1], depth+1, left)
		}
	default:
		s.Failf(y.Line, "found a YAML value of an unknown kind: want a word, a list or a mapping")
	}
	return n
}

// Mapping checks that n is a mapping whose keys are all in the argument `keys`. If `keys`
// is empty, any key is allowed. The argument `what` describes n in the error message.
func (n *Node) Mapping(what string, keys ...string) {
	if n.Kind != yaml.MappingNode {
		n.File.Failf(n.Line, "%s is not a mapping: want pairs of the form key: value", what)
	}
	for _, k := range n.Keys {
		if len(keys) > 0 && !slices.Contains(keys, k) {
			n.File.Failf(n.ByKey[k].Line, "%s has a key %s: want %s", what, k, strings.Join(keys, ", "))
		}
	}
}

// Get returns the value of a key, or nil if the key is absent or its value is null.
func (n *Node) Get(key string) *Node {
	v := n.ByKey[key]
	if v == nil || v.Null {
		return nil
	}
	return v
}

// Word returns the scalar value of a key, or "" if the key is absent.
func (n *Node) Word(key string) string {
	v := n.Get(key)
	if v == nil {
		return ""
	}
	if v.Kind != yaml.ScalarNode {
		n.File.Failf(v.Line, "%s is a list or a mapping: want a word or a number", key)
	}
	return v.Text
}

// Must returns the scalar value of a key, and reports an error if this value is absent or
// empty.
func (n *Node) Must(what, key string) string {
	w := n.Word(key)
	if w == "" {
		n.File.Failf(n.Line, "%s has no %s", what, key)
	}
	return w
}

// Number returns the numerical value of a key, or the default value def if the key is
// absent.
// The number must be finite.
func (n *Node) Number(key string, def float64) float64 {
	w := n.Word(key)
	if w == "" {
		return def
	}
	v, err := ParseNumber(w)
	if err != nil || math.IsInf(v, 0) {
		n.File.Failf(n.ByKey[key].Line, "%s is %q: want a finite number", key, w)
	}
	return v
}

// Flag reports whether the value of a key is 1 or true. If the key is absent or its value
// is 0 or false, Flag returns false. Any other value is an error.
func (n *Node) Flag(key string) bool {
	switch v := n.Word(key); v {
	case "1", "true":
		return true
	case "", "0", "false":
	default:
		n.File.Failf(n.LineOf(key), "%s is %q: want 1 or 0", key, v)
	}
	return false
}

// List returns the items of the list with the given key. A scalar is treated as a list
// with one item.
func (n *Node) List(key string) []*Node {
	v := n.Get(key)
	switch {
	case v == nil:
		return nil
	case v.Kind == yaml.SequenceNode:
		return v.Items
	case v.Kind == yaml.ScalarNode:
		return []*Node{v}
	}
	n.File.Failf(v.Line, "%s is not a list", key)
	return nil
}

// LineOf returns the line of a key's value, or the line of n if the key is absent.
func (n *Node) LineOf(key string) int {
	if v := n.ByKey[key]; v != nil {
		return v.Line
	}
	return n.Line
}

// FileName returns the text of n, which is the name of a file to which the YAML file
// refers.
func (n *Node) FileName() string {
	switch {
	case n.Text == "":
		n.File.Failf(n.Line, "a file name is empty")
	case strings.Contains(n.Text, "://"):
		n.File.Refuse(n.Line, "file at a URL", "%s: want a file beside this one", n.Text)
	}
	return n.Text
}

// FileNames returns the file names in `list`. The argument `key` is the key of this list,
// and appears in error messages. It is an error if a file is listed twice, because the
// data in this file would be counted twice.
func (n *Node) FileNames(key string, list []*Node) []string {
	var names []string
	for _, one := range list {
		name := path.Clean(one.FileName())
		if slices.Contains(names, name) {
			n.File.Failf(one.Line, "%s lists %s twice: list each file only once", key, name)
		}
		names = append(names, name)
	}
	return names
}

// Tables returns the data tables that the value of a key contains or names. A value that
// spans several lines is itself a table; a value on one line is the name of a file that
// contains a table.
func (n *Node) Tables(key string) []*File {
	var tables []*File
	var names []*Node
	for _, one := range n.List(key) {
		if strings.Contains(one.Text, "\n") {
			s := *n.File
			s.Text, s.above = []byte(one.Text), one.Line
			tables = append(tables, &s)
		} else {
			names = append(names, one)
		}
	}
	for _, name := range n.FileNames(key, names) {
		tables = append(tables, n.File.Read(name, MaxTable))
	}
	return tables
}
