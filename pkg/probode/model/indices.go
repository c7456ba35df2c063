package model

import (
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// maxIndex keeps a short file from expanding to a huge model.
const maxIndex, maxEntries = 1000, 100_000

// indices reads the ranges of the indices, and replaces each entry of a list whose ID has
// indices by one entry for each of their values.
func (r *modelReader) indices(y *source.Node) {
	list := y.Get("indices")
	if list == nil {
		return
	}
	list.Mapping("indices")
	r.Names.Ranges = map[string]int{}
	for _, id := range list.Keys {
		n := list.Number(id, math.NaN())
		if !(n >= 1 && n <= maxIndex) || n != math.Trunc(n) {
			r.Failf(list.LineOf(id), "index %s has the largest value %v: want a whole number from 1 to %d", id, list.Word(id), maxIndex)
		}
		r.Names.Ranges[r.notTime(list.LineOf(id), "an index", id)] = int(n)
	}
	for _, key := range []string{"parameters", "odes", "assignments", "observables", "events", "doses"} {
		if v := y.Get(key); v != nil && v.Kind == yaml.SequenceNode {
			var items []*source.Node
			for _, n := range v.Items {
				items = append(items, r.expandEntry(n)...)
				if len(items) > maxEntries {
					r.Failf(n.Line, "%s has more than %d entries once all indices are expanded", key, maxEntries)
				}
			}
			v.Items = items
		}
	}
}

func (r *modelReader) expandEntry(n *source.Node) []*source.Node {
	for _, k := range n.Keys {
		if strings.HasSuffix(k, "Id") && n.ByKey[k].Kind == yaml.ScalarNode {
			var out []*source.Node
			for _, values := range r.valuesOf(n.ByKey[k].Text) {
				out = append(out, r.at(n, values, true))
			}
			return out
		}
	}
	return []*source.Node{n}
}

// An indexValue is the value of an index.
type indexValue struct {
	index string
	value int
}

// valuesOf lists the values of the indices in square brackets in an ID, the last index
// first to change. Without an index there is one list, which is empty.
func (r *modelReader) valuesOf(id string) [][]indexValue {
	_, inside, _ := strings.Cut(id, "[")
	all := [][]indexValue{nil}
	for _, index := range strings.FieldsFunc(inside, func(c rune) bool { return strings.ContainsRune(", ]", c) }) {
		n, known := r.Names.Ranges[index]
		if !known || slices.ContainsFunc(all[0], func(v indexValue) bool { return v.index == index }) {
			continue
		}
		var longer [][]indexValue
		for _, values := range all {
			for v := range n {
				longer = append(longer, append(slices.Clip(values), indexValue{index, v + 1}))
			}
		}
		all = longer
	}
	return all
}

// at returns a copy of n for values of indices. IDs get their values, and a list in the
// place of a number has an item for each value.
func (r *modelReader) at(n *source.Node, values []indexValue, top bool) *source.Node {
	m := bound(n, values)
	if n.Kind != yaml.MappingNode {
		return m
	}
	m.Keys, m.ByKey = nil, map[string]*source.Node{}
	for _, k := range n.Keys {
		v := n.ByKey[k]
		for _, i := range values {
			if !top || v == n.ByKey[k] && v.Kind != yaml.SequenceNode {
				break
			}
			if v.Kind != yaml.SequenceNode {
				r.Failf(v.Line, "%s has a list for fewer indices than its entry: want a list of lists, with a level for each index", k)
			}
			if size := r.Names.Ranges[i.index]; len(v.Items) != size {
				r.Failf(v.Line, "%s has %d items: want %d, one for each value of %s", k, len(v.Items), size, i.index)
			}
			v = v.Items[i.value-1]
		}
		v = r.at(v, values, false)
		if strings.HasSuffix(k, "Id") || k == "state" {
			v.Text = r.indexed(v, v.Text)
		}
		k = r.indexed(m, k)
		m.Keys = append(m.Keys, k)
		m.ByKey[k] = v
	}
	return m
}

func bound(n *source.Node, values []indexValue) *source.Node {
	m := *n
	m.Index = map[string]int{}
	for _, v := range values {
		m.Index[v.index] = v.value
	}
	return &m
}

// indexed replaces the indices in an ID by their values.
func (r *modelReader) indexed(n *source.Node, id string) string {
	if !strings.Contains(id, "[") {
		return id
	}
	e, err := expr.Parse(r.in(n).Names, id)
	if err != nil {
		r.FailMath(n.Line, id, err)
	}
	if name, ok := e.Symbol(); ok {
		return name
	}
	return id
}

// in returns the file with the values of the indices of n.
func (r *modelReader) in(n *source.Node) *source.File {
	f := *r.File
	f.Names.Index = n.Index
	return &f
}

// suffixed appends to an ID, before its indices.
func suffixed(id, suffix string) string {
	base, indices, _ := strings.Cut(id, "[")
	if indices != "" {
		indices = "[" + indices
	}
	return base + suffix + indices
}
