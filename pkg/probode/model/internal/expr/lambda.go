package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Lambda returns a node for a function that a model defines. The function consists of a
// body with named parameters. It is an error if a parameter name is empty, contains a
// space or appears twice.
func Lambda(params []string, body *Node) (*Node, error) {
	for i, p := range params {
		if p == "" || len(strings.Fields(p)) != 1 || strings.Fields(p)[0] != p {
			return nil, fmt.Errorf("parameter %d of a function is %q: want a name", i+1, p)
		}
		if slices.Contains(params[:i], p) {
			return nil, fmt.Errorf("parameter %s of a function appears twice", p)
		}
	}
	if body.op == opLambda {
		return nil, fmt.Errorf("the body of a function is a lambda: want an expression")
	}
	return &Node{op: opLambda, name: strings.Join(params, " "), args: []*Node{body}}, nil
}

// expandMost is the largest number of operators that the result of Expand may have.
// Consider a chain of functions in which each function calls the next one twice. Without
// a limit, each function in the chain would double the size of the expression.
const expandMost = 200_000

// Expand replaces calls to a model's functions with the bodies of these functions. The
// argument `functions` maps the name of each function to its definition, which is a
// lambda. It is an error if a function is not defined or calls itself. A call must have
// the right number of arguments, and every argument must be a number. The result may have
// at most 200,000 operators.
func (n *Node) Expand(functions map[string]*Node) (r *Node, err error) {
	if !slices.ContainsFunc(Parts(n), func(m *Node) bool { return m.op == opUser }) {
		return n, nil
	}
	defer catch(&err)
	e := &expander{functions: functions, open: map[string]*Node{}}
	return e.expand(n), nil
}

type expander struct {
	functions map[string]*Node
	open      map[string]*Node // bodies without calls; nil while a body is being expanded
	path      []string
	made      int
}

// body returns the definition of the named function, with all calls in it expanded.
func (e *expander) body(name string) *Node {
	if l, ok := e.open[name]; ok {
		if l == nil {
			i := slices.Index(e.path, name)
			failf("function %s calls itself: %s", name, strings.Join(append(e.path[i:], name), ", "))
		}
		return l
	}
	l, ok := e.functions[name]
	if !ok {
		panic(failure{unknownFunction(name, slices.Collect(maps.Keys(e.functions)))})
	}
	if l.op != opLambda {
		failf("function %s is %s: want a lambda", name, kind(l))
	}
	if len(e.path) >= 1000 {
		failf("function %s: calls are nested more than 1000 levels deep", name)
	}
	e.open[name] = nil
	e.path = append(e.path, name)
	r := &Node{op: opLambda, name: l.name, args: []*Node{e.expand(l.args[0])}}
	e.path = e.path[:len(e.path)-1]
	e.open[name] = r
	return r
}

func (e *expander) expand(n *Node) *Node {
	return rebuild(n, func(m *Node, args []*Node) *Node {
		if e.made++; e.made > expandMost {
			failf("the expression has more than %d operators after its function calls are expanded", expandMost)
		}
		if m.op == opUser {
			return e.call(m.name, args)
		}
		return checked(m, args)
	})
}

func (e *expander) call(name string, args []*Node) *Node {
	l := e.body(name)
	params := l.params()
	if len(args) != len(params) {
		failf("function %s has %s: want %d", name, arguments(len(args)), len(params))
	}
	by := map[string]*Node{}
	for i, p := range params {
		if args[i].Boolean() {
			failf("argument %d of function %s is a condition: want a number", i+1, name)
		}
		by[p] = args[i]
	}
	e.made += len(Parts(l.args[0]))
	return l.args[0].Substitute(by)
}

// checked replaces the arguments of m by `args`, and panics if the types of `args` are
// wrong. Before calls are expanded, it is not known whether the result of a call is a
// number or a condition.
func checked(m *Node, args []*Node) *Node {
	changed := m.op == opAnd || m.op == opOr || m.op == opXor || m.op == opNot || m.op == opPiecewise
	for i, a := range args {
		changed = changed || a.Boolean() != m.args[i].Boolean()
	}
	if m.op == opLambda || !changed {
		return m.with(args)
	}
	name := operators[m.op].name
	if m.op == opCurve {
		name = m.name
	}
	n, err := builders[name].apply(name, args)
	if err != nil {
		panic(failure{err})
	}
	return n
}
