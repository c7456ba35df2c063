package sbml

import (
	"encoding/xml"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// A composer makes one model of a model with submodels (package comp), as the
// specification of the package says: each submodel is a copy of its definition, without
// what is deleted, in the time and extent of the model that contains it; x of the submodel
// a becomes a__x, or gets the ID of the element that replaces it.
type composer struct {
	s           *reader
	definitions map[string]*tree.Element
	gone        map[*tree.Element]bool          // submodels that are deleted or replaced
	successor   map[*tree.Element]*tree.Element // of an element that has been replaced
}

// A part is a copy of a model that belongs to the composed model.
type part struct {
	model     *tree.Element
	submodels []*tree.Element
	subs      map[string]*part
	deleted   map[string][]*tree.Element // by submodel
	replaced  map[string][]replacement   // likewise
}

// A replacement of the element old of a submodel. If kept is true, new is removed instead,
// and old gets its ID.
type replacement struct {
	old, new *tree.Element
	kept     bool
	factor   string // old times factor is new; may be empty
}

// compKinds holds the elements of the package.
var compKinds = kindsOf(`
listOfSubmodels:: submodel
submodel: modelRef timeConversionFactor extentConversionFactor: listOfDeletions
listOfDeletions:: deletion
deletion: portRef idRef unitRef metaIdRef: sBaseRef
listOfPorts:: port
port: portRef idRef unitRef metaIdRef: sBaseRef
listOfReplacedElements:: replacedElement
replacedElement: submodelRef portRef idRef unitRef metaIdRef deletion conversionFactor: sBaseRef
replacedBy: submodelRef portRef idRef unitRef metaIdRef: sBaseRef
sBaseRef: portRef idRef unitRef metaIdRef: sBaseRef`)

const compSpace = "http://www.sbml.org/sbml/level3/version1/comp/version1"

// composed replaces the model of root, unless it has no submodels.
func (s *reader) composed(root *tree.Element) {
	c := &composer{s, map[string]*tree.Element{}, map[*tree.Element]bool{}, map[*tree.Element]*tree.Element{}}
	root.Child = slices.DeleteFunc(root.Child, func(e *tree.Element) bool {
		if e.Space != compSpace || e.Name != "listOfModelDefinitions" && e.Name != "listOfExternalModelDefinitions" {
			return false
		}
		for _, d := range e.Child {
			if d.Name == "externalModelDefinition" {
				s.Refuse(d.Line, "external model definition", "want all models in one file: flatten it with libSBML (CompFlatteningConverter)")
			}
			c.definitions[get(d, "id")] = d
		}
		return true
	})
	walk(root, func(e *tree.Element) {
		is, known := compKinds[e.Name]
		switch {
		case e.Space != compSpace || e.Name == "modelDefinition":
		case !known:
			s.Refuse(e.Line, "SBML package comp", "<%s> is unknown", e.Name)
		default:
			s.allowed(e, is, compSpace)
		}
	})
	for i, e := range root.Child {
		if e.Name == "model" {
			p := c.instance(e, nil)
			c.prepare(p)
			c.compose(p)
			root.Child[i] = p.model
		}
	}
}

// get returns an attribute of any namespace.
func get(e *tree.Element, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func set(e *tree.Element, name, value string) {
	for i, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			e.Attr[i].Value = value
			return
		}
	}
	e.Attr = append(e.Attr, xml.Attr{Name: xml.Name{Local: name}, Value: value})
}

func copied(e *tree.Element) *tree.Element {
	c := *e
	c.Attr, c.Child = slices.Clone(e.Attr), slices.Clone(e.Child)
	for i, child := range c.Child {
		c.Child[i] = copied(child)
	}
	return &c
}

func walk(e *tree.Element, visit func(e *tree.Element)) {
	visit(e)
	for _, c := range e.Child {
		walk(c, visit)
	}
}

func (c *composer) instance(definition *tree.Element, open []string) *part {
	p := &part{model: copied(definition), subs: map[string]*part{}, deleted: map[string][]*tree.Element{}, replaced: map[string][]replacement{}}
	p.submodels = p.model.List("listOfSubmodels")
	for _, e := range p.submodels {
		id, name := get(e, "id"), get(e, "modelRef")
		d := c.definitions[name]
		if d == nil {
			c.s.Failf(e.Line, "submodel %s is the model %q, which is not defined", id, name)
		}
		if slices.Contains(open, name) {
			c.s.Failf(e.Line, "model %s contains itself", name)
		}
		p.subs[id] = c.instance(d, append(slices.Clip(open), name))
	}
	return p
}

// prepare finds what deletions and replacements refer to, before anything moves.
func (c *composer) prepare(p *part) {
	for _, e := range p.submodels {
		id := get(e, "id")
		c.prepare(p.subs[id])
		for _, d := range e.List("listOfDeletions") {
			t := c.target(p.subs[id], d)
			p.deleted[id], c.gone[t] = append(p.deleted[id], t), true
		}
	}
	walk(p.model, func(e *tree.Element) {
		refs := slices.Clone(e.List("listOfReplacedElements"))
		if by := e.First("replacedBy"); by != nil {
			refs = append(refs, by)
		}
		for _, r := range refs {
			if get(r, "deletion") != "" {
				continue
			}
			id := get(r, "submodelRef")
			if p.subs[id] == nil {
				c.s.Failf(r.Line, "<%s> refers to %q, which is not a submodel", r.Name, id)
			}
			t := c.target(p.subs[id], r)
			if t.Name == "submodel" {
				c.gone[t] = true
			}
			p.replaced[id] = append(p.replaced[id], replacement{t, e, r.Name == "replacedBy", get(r, "conversionFactor")})
		}
	})
}

// target follows a reference to an element of p.
func (c *composer) target(p *part, ref *tree.Element) *tree.Element {
	for _, by := range [4][2]string{{"portRef", "id"}, {"idRef", "id"}, {"metaIdRef", "metaid"}, {"unitRef", "id"}} {
		name := get(ref, by[0])
		if name == "" {
			continue
		}
		var found *tree.Element
		walk(p.model, func(e *tree.Element) {
			if get(e, by[1]) == name && (e.Name == "port") == (by[0] == "portRef") && (e.Name == "unitDefinition" || by[0] != "unitRef") && e.Name != "deletion" {
				found = e
			}
		})
		switch {
		case found == nil:
			c.s.Failf(ref.Line, "<%s> refers to %q, which the submodel does not have", ref.Name, name)
		case found.Name == "port":
			found = c.target(p, found)
		}
		if next := ref.First("sBaseRef"); next != nil {
			if found.Name != "submodel" {
				c.s.Failf(next.Line, "%q is not a submodel", name)
			}
			return c.target(p.subs[get(found, "id")], next)
		}
		return found
	}
	c.s.Failf(ref.Line, "<%s> refers to nothing", ref.Name)
	return nil
}

func (c *composer) compose(p *part) {
	var subs []*tree.Element
	for _, e := range p.submodels {
		id := get(e, "id")
		sub := p.subs[id].model
		if c.gone[e] {
			continue
		}
		subs = append(subs, e)
		c.compose(p.subs[id])
		for _, t := range p.deleted[id] {
			remove(sub, c.now(t))
		}
		others := map[*tree.Element]bool{} // which the factors of their replacements convert
		for _, r := range p.replaced[id] {
			others[c.now(r.old)] = !r.kept
		}
		convert(sub, others, get(e, "timeConversionFactor"), get(e, "extentConversionFactor"))
		names := map[string]string{}
		walk(sub, func(e *tree.Element) {
			if v := e.Get("id"); v != "" && e != sub && e.Name != "localParameter" && e.Name != "unitDefinition" {
				names[v] = id + "__" + v
			}
		})
		rename(sub, names)
	}
	for _, e := range subs {
		id := get(e, "id")
		sub := p.subs[id].model
		for _, r := range p.replaced[id] {
			c.replace(p.model, sub, r)
		}
	}
	for _, e := range subs {
		merge(p.model, p.subs[get(e, "id")].model)
	}
	walk(p.model, func(e *tree.Element) {
		e.Child = slices.DeleteFunc(e.Child, func(c *tree.Element) bool {
			return c.Space == compSpace && (c.Name == "listOfReplacedElements" || c.Name == "replacedBy" || e == p.model && (c.Name == "listOfSubmodels" || c.Name == "listOfPorts"))
		})
	})
}

// now returns the element that has taken the place of e.
func (c *composer) now(e *tree.Element) *tree.Element {
	for c.successor[e] != nil {
		e = c.successor[e]
	}
	return e
}

func remove(from, e *tree.Element) {
	walk(from, func(parent *tree.Element) {
		parent.Child = slices.DeleteFunc(parent.Child, func(c *tree.Element) bool { return c == e })
	})
}

func (c *composer) replace(model, sub *tree.Element, r replacement) {
	old, id := c.now(r.old), r.new.Get("id")
	if was := old.Get("id"); was != "" && id != "" {
		scope := sub
		if old.Name == "localParameter" || old.Name == "parameter" {
			walk(sub, func(e *tree.Element) {
				for _, list := range []string{"listOfLocalParameters", "listOfParameters"} {
					if e.Name == "kineticLaw" && slices.Contains(e.List(list), old) {
						scope = e
					}
				}
			})
		}
		if r.factor != "" {
			scale(scope, was, r.factor)
		}
		if scope != sub {
			remove(sub, old) // it no longer hides the name
		}
		rename(scope, map[string]string{was: id})
	}
	if r.kept {
		c.successor[r.new] = old
		remove(model, r.new)
		return
	}
	c.successor[old] = r.new
	remove(sub, old)
}

// merge moves the contents of sub to model.
func merge(model, sub *tree.Element) {
	factor := sub.Get("conversionFactor")
	for _, list := range sub.Child {
		if list.Name == "listOfUnitDefinitions" || !strings.HasPrefix(list.Name, "listOf") || list.Space == compSpace {
			continue
		}
		for _, e := range list.Child {
			if e.Name == "species" && factor != "" && e.Get("conversionFactor") == "" {
				set(e, "conversionFactor", factor)
			}
		}
		if to := model.First(list.Name); to != nil {
			to.Child = append(to.Child, list.Child...)
		} else {
			model.Child = append(model.Child, list)
		}
	}
}

// rename replaces IDs in attributes and in formulas, unless a local parameter or the
// argument of a function has the name.
func rename(e *tree.Element, names map[string]string) {
	for i, a := range e.Attr {
		switch a.Name.Local {
		case "id", "variable", "symbol", "species", "compartment", "conversionFactor":
			if to := names[a.Value]; to != "" && a.Name.Space == "" && e.Name != "localParameter" && e.Name != "unitDefinition" {
				e.Attr[i].Value = to
			}
		case "units", "substanceUnits", "timeUnits", "extentUnits":
			e.Attr[i].Value = "" // definitions of units are not composed
		}
	}
	if e.Name == "ci" && e.Space == expr.MathMLSpace && len(e.Text) > 0 && names[e.Text[0]] != "" {
		e.Text = []string{names[e.Text[0]]}
	}
	inner := names
	for _, name := range bound(e) {
		if inner[name] != "" {
			inner = map[string]string{}
			for k, v := range names {
				if !slices.Contains(bound(e), k) {
					inner[k] = v
				}
			}
			break
		}
	}
	for _, c := range e.Child {
		rename(c, inner)
	}
}

// bound returns the local parameters of a kinetic law, or the arguments of a function.
func bound(e *tree.Element) (names []string) {
	switch e.Name {
	case "kineticLaw":
		for _, p := range append(e.List("listOfLocalParameters"), e.List("listOfParameters")...) {
			names = append(names, p.Get("id"))
		}
	case "lambda":
		for _, b := range e.Child {
			if b.Name == "bvar" && len(b.Child) == 1 && len(b.Child[0].Text) > 0 {
				names = append(names, b.Child[0].Text[0])
			}
		}
	}
	return names
}

func element(like *tree.Element, name, text string, child ...*tree.Element) *tree.Element {
	return &tree.Element{Space: expr.MathMLSpace, Name: name, Line: like.Line, Column: like.Column, Text: []string{text}, Child: child}
}

// by returns e times or divided by a name.
func by(operator string, e *tree.Element, name string) *tree.Element {
	if name == "" {
		return e
	}
	return element(e, "apply", "", element(e, operator, ""), e, element(e, "ci", name))
}

// formulas calls change for the parts of all formulas, those inside first, and replaces
// them by its results. Names that are bound are left out.
func formulas(e *tree.Element, hidden []string, change func(e *tree.Element) *tree.Element) {
	hidden = append(slices.Clip(hidden), bound(e)...)
	for i, c := range e.Child {
		if formulas(c, hidden, change); c.Space == expr.MathMLSpace && c.Name != "math" && c.Name != "bvar" && e.Name != "bvar" &&
			!(c.Name == "ci" && len(c.Text) > 0 && slices.Contains(hidden, c.Text[0])) {
			e.Child[i] = change(c)
		}
	}
}

// inside applies change to the formula in e.
func inside(e *tree.Element, change func(e *tree.Element) *tree.Element) {
	if m := e.First("math"); m != nil && len(m.Child) == 1 {
		m.Child[0] = change(m.Child[0])
	}
}

// scale makes formulas right for an id that stands for factor times what it stood for.
func scale(model *tree.Element, id, factor string) {
	formulas(model, nil, func(e *tree.Element) *tree.Element {
		if e.Name == "ci" && e.Text[0] == id {
			return by("divide", e, factor)
		}
		return e
	})
	walk(model, func(e *tree.Element) {
		if e.Get("variable") == id || e.Get("symbol") == id {
			inside(e, func(f *tree.Element) *tree.Element { return by("times", f, factor) })
		}
	})
}

// convert changes the time and the extent of reactions of a submodel to those of the model
// that contains it: one unit of the former is `time` or `extent` units of the latter.
func convert(model *tree.Element, others map[*tree.Element]bool, time, extent string) {
	if time == "" && extent == "" {
		return
	}
	reactions := map[string]bool{}
	for _, e := range model.List("listOfReactions") {
		reactions[e.Get("id")] = !others[e]
	}
	symbol := func(e *tree.Element, name string) bool {
		return e.Name == "csymbol" && strings.HasSuffix(e.Get("definitionURL"), "/"+name)
	}
	formulas(model, nil, func(e *tree.Element) *tree.Element {
		switch {
		case symbol(e, "time"):
			return by("divide", e, time)
		case e.Name == "ci" && reactions[e.Text[0]]:
			return by("divide", by("times", e, time), extent)
		case e.Name == "apply" && len(e.Child) > 0 && symbol(e.Child[0], "rateOf"):
			return by("times", e, time)
		case e.Name == "apply" && len(e.Child) == 3 && symbol(e.Child[0], "delay"):
			e.Child[2] = by("times", e.Child[2], time)
		}
		return e
	})
	walk(model, func(e *tree.Element) {
		switch e.Name {
		case "rateRule":
			inside(e, func(f *tree.Element) *tree.Element { return by("divide", f, time) })
		case "kineticLaw":
			inside(e, func(f *tree.Element) *tree.Element { return by("divide", by("times", f, extent), time) })
		case "delay":
			inside(e, func(f *tree.Element) *tree.Element { return by("times", f, time) })
		}
	})
}
