package expr

import (
	"encoding/binary"
	"math"
	"slices"
)

// A pool keeps one node for each expression, so that equal expressions have the same
// pointer and common parts can be found.
type pool struct {
	ids   map[*Node]uint32 // the nodes of the pool
	nodes map[key]*Node
}

type key struct {
	op   op
	bits uint64
	name string
	args string // the ids, in four bytes each
}

func newPool() *pool {
	return &pool{ids: map[*Node]uint32{}, nodes: map[key]*Node{}}
}

// argIDs appends the ids of the arguments of n.
func (p *pool) argIDs(ids []uint32, n *Node) []uint32 {
	for _, a := range n.args {
		ids = append(ids, p.ids[a])
	}
	return ids
}

func keyOf(n *Node, name string, ids []uint32) key {
	var buf [64]byte
	args := buf[:0]
	for _, id := range ids {
		args = binary.LittleEndian.AppendUint32(args, id)
	}
	return key{n.op, math.Float64bits(n.val), name, string(args)}
}

// intern returns the node in the pool that equals n. If there is no such node, the method
// adds n. The arguments of n must be in the pool.
func (p *pool) intern(n *Node) *Node {
	if _, ok := p.ids[n]; ok {
		return n
	}
	var buf [8]uint32
	k := keyOf(n, n.name, p.argIDs(buf[:0], n))
	if m, ok := p.nodes[k]; ok {
		return m
	}
	p.ids[n] = uint32(len(p.ids))
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
	ids := p.argIDs(nil, n)
	slices.Sort(ids)
	k := keyOf(n, "sorted", ids) // sums and products have no name of their own
	if m, ok := p.nodes[k]; ok {
		return m
	}
	n = p.intern(n)
	p.nodes[k] = n
	return n
}
