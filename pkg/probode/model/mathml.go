package model

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/probode/model/expr"
)

// mathMLNames are the operators of MathML that have another name there.
var mathMLNames = map[string]string{
	"pow": "power", "sqrt": "root", "ceil": "ceiling",
	"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}

// writeMathML writes an expression as the content MathML that SBML Level 3
// Version 1 allows. Names among those defined are theirs, even if they are pi.
func writeMathML(w io.Writer, n *expr.Node, defined func(string) bool) {
	op, args := n.Operator()
	apply := func(operator string, args ...*expr.Node) {
		fmt.Fprintf(w, "<apply>%s", operator)
		for _, a := range args {
			writeMathML(w, a, defined)
		}
		io.WriteString(w, "</apply>")
	}
	switch op {
	case "number":
		v, _ := n.Const()
		writeNumber(w, v)
	case "name":
		id, _ := n.Symbol()
		switch {
		case id == TimeSymbol:
			io.WriteString(w, `<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">time</csymbol>`)
		case defined(id):
			fmt.Fprintf(w, "<ci>%s</ci>", escape(id))
		default:
			v, _ := expr.Constant(id)
			writeNumber(w, v)
		}
	case "true", "false":
		fmt.Fprintf(w, "<%s/>", op)
	case "log10":
		apply("<log/><logbase><cn>10</cn></logbase>", args...)
	case "log2":
		apply("<log/><logbase><cn>2</cn></logbase>", args...)
	case "piecewise":
		io.WriteString(w, "<piecewise>")
		for i := 0; i+1 < len(args); i += 2 {
			io.WriteString(w, "<piece>")
			writeMathML(w, args[i], defined)
			writeMathML(w, args[i+1], defined)
			io.WriteString(w, "</piece>")
		}
		io.WriteString(w, "<otherwise>")
		writeMathML(w, args[len(args)-1], defined)
		io.WriteString(w, "</otherwise></piecewise>")
	// Level 3 Version 1 has none of these three.
	case "min", "max":
		best := args[0]
		compare := map[string]string{"min": "leq", "max": "geq"}[op]
		for _, a := range args[1:] {
			best = expr.Call("piecewise", best, expr.Call(compare, best, a), a)
		}
		writeMathML(w, best, defined)
	case "sign":
		zero := expr.Num(0)
		writeMathML(w, expr.Call("piecewise", expr.Num(-1), expr.Call("lt", args[0], zero),
			expr.Num(1), expr.Call("gt", args[0], zero), zero), defined)
	default:
		if name := mathMLNames[op]; name != "" {
			op = name
		}
		apply("<"+op+"/>", args...)
	}
}

func writeNumber(w io.Writer, v float64) {
	switch {
	case math.IsNaN(v):
		io.WriteString(w, "<notanumber/>")
	case math.IsInf(v, 1):
		io.WriteString(w, "<infinity/>")
	case math.IsInf(v, -1):
		io.WriteString(w, "<apply><minus/><infinity/></apply>")
	default:
		s := number(v)
		if m, e, ok := strings.Cut(s, "e"); ok {
			fmt.Fprintf(w, `<cn type="e-notation">%s<sep/>%s</cn>`, m, strings.TrimPrefix(e, "+"))
			return
		}
		fmt.Fprintf(w, "<cn>%s</cn>", s)
	}
}

// number writes a number with as many digits as it takes to read it back.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a strings.Builder has no errors
	return b.String()
}
