package expr

import (
	"math"
	"slices"
)

// A pool keeps one node for each expression, so that equal expressions have the same
// pointer and common parts can be found. Each list of arguments is stored as a chain of
// numbered cells.
type pool struct {
	ids   map[*Node]int32 // the nodes of the pool
	cells map[cell]int32
	nodes map[key]*Node
}

type cell struct{ list, arg int32 }

type key struct {
	op   op
	bits uint64
	name string
	list int32
}

func newPool() *pool {
	return &pool{ids: map[*Node]int32{}, cells: map[cell]int32{}, nodes: map[key]*Node{}}
}

func (p *pool) key(n *Node, ids []int32) key {
	k := key{op: n.op, bits: math.Float64bits(n.val), name: n.name}
	for _, id := range ids {
		c := cell{k.list, id}
		next, ok := p.cells[c]
		if !ok {
			next = int32(len(p.cells) + 1)
			p.cells[c] = next
		}
		k.list = next
	}
	return k
}

// intern returns the node in the pool that equals n. If there is no such node, the method
// adds n. The arguments of n must be in the pool.
func (p *pool) intern(n *Node) *Node {
	if _, ok := p.ids[n]; ok {
		return n
	}
	var buf [8]int32
	ids := buf[:0]
	for _, a := range n.args {
		ids = append(ids, p.ids[a])
	}
	k := p.key(n, ids)
	if m, ok := p.nodes[k]; ok {
		return m
	}
	p.ids[n] = int32(len(p.ids))
	p.nodes[k] = n
	return n
}

// adopt returns the nodes in the pool that equal the given expressions. The parts of the
// given expressions need not be in the pool.
func (p *pool) adopt(list ...*Node) []*Node {
	return rebuildAll(list, func(m *Node, args []*Node) *Node {
		if _, ok := p.ids[m]; ok {
			return m
		}
		return p.intern(m.with(args))
	})
}

// commute does the same as intern(), for a sum or a product. The operands may be in any
// order: sums or products that differ only in the order of their operands share one node.
// The shared node keeps the operand order of the first sum or product that was stored.
func (p *pool) commute(n *Node) *Node {
	ids := make([]int32, len(n.args))
	for i, a := range n.args {
		ids[i] = p.ids[a]
	}
	slices.Sort(ids)
	k := p.key(n, ids)
	k.name = "sorted" // sums and products have no name of their own
	if m, ok := p.nodes[k]; ok {
		return m
	}
	n = p.intern(n)
	p.nodes[k] = n
	return n
}
