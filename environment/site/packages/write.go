package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/printer"
	"go/scanner"
	"go/token"
	"html"
	"path"
	"strings"
)

type writer struct {
	bytes.Buffer
	fset    *token.FileSet
	p       *doc.Package
	files   map[string]string // of the pages, by import path
	imports map[string]string // import paths, by the names in this package
	local   map[string]bool   // what this package exports
	symbols []symbol
	parser  *comment.Parser
	printer *comment.Printer
}

func newWriter(fset *token.FileSet, p *doc.Package, files map[string]string) *writer {
	w := &writer{fset: fset, p: p, files: files, imports: map[string]string{}, local: map[string]bool{}}
	for _, imported := range p.Imports {
		w.imports[path.Base(imported)] = imported
	}
	w.parser, w.printer = p.Parser(), p.Printer()
	w.printer.HeadingLevel = 3
	w.printer.DocLinkURL = func(l *comment.DocLink) string {
		anchor := l.Name
		if l.Recv != "" {
			anchor = l.Recv + "." + l.Name
		}
		return w.url(l.ImportPath, anchor)
	}
	return w
}

// url returns the address at which a name is documented, on this site or on the public
// site of Go packages.
func (w *writer) url(importPath, anchor string) string {
	to, ours := w.files[importPath]
	switch {
	case importPath == "":
		to = ""
	case !ours:
		to = "https://pkg.go.dev/" + importPath
	}
	if anchor != "" {
		to += "#" + anchor
	}
	return to
}

func (w *writer) page() string {
	for _, v := range append(append([]*doc.Value{}, w.p.Consts...), w.p.Vars...) {
		w.export(v.Names)
	}
	for _, f := range w.p.Funcs {
		w.export([]string{f.Name})
	}
	for _, t := range w.p.Types {
		w.export([]string{t.Name})
		for _, v := range append(append([]*doc.Value{}, t.Consts...), t.Vars...) {
			w.export(v.Names)
		}
		for _, f := range t.Funcs {
			w.export([]string{f.Name})
		}
	}
	w.prose(w.p.Doc)
	w.examples(w.p.Examples)
	w.contents()
	w.values("Constants", w.p.Consts)
	w.values("Variables", w.p.Vars)
	if len(w.p.Funcs) > 0 {
		w.WriteString("<h2>Functions</h2>\n")
	}
	for _, f := range w.p.Funcs {
		w.function(f, f.Name)
	}
	if len(w.p.Types) > 0 {
		w.WriteString("<h2>Types</h2>\n")
	}
	for _, t := range w.p.Types {
		w.heading("type "+t.Name, t.Name)
		w.symbol(t.Name, t.Name, t.Doc)
		w.declaration(t.Decl)
		w.prose(t.Doc)
		w.examples(t.Examples)
		w.values("", t.Consts)
		w.values("", t.Vars)
		for _, f := range t.Funcs {
			w.function(f, f.Name)
		}
		for _, f := range t.Methods {
			w.function(f, t.Name+"."+f.Name)
		}
	}
	return w.String()
}

func (w *writer) export(names []string) {
	for _, n := range names {
		w.local[n] = true
	}
}

func (w *writer) contents() {
	if len(w.local) == 0 {
		return
	}
	w.WriteString("<ul class=\"contents\">\n")
	item := func(level, text, anchor string) {
		fmt.Fprintf(w, "<li%s><a href=\"#%s\">%s</a></li>\n", level, anchor, html.EscapeString(text))
	}
	for _, f := range w.p.Funcs {
		item("", "func "+f.Name, f.Name)
	}
	for _, t := range w.p.Types {
		item("", "type "+t.Name, t.Name)
		for _, f := range t.Funcs {
			item(` class="member"`, "func "+f.Name, f.Name)
		}
		for _, f := range t.Methods {
			item(` class="member"`, t.Name+"."+f.Name, t.Name+"."+f.Name)
		}
	}
	w.WriteString("</ul>\n")
}

func (w *writer) values(title string, values []*doc.Value) {
	if title != "" && len(values) > 0 {
		fmt.Fprintf(w, "<h2>%s</h2>\n", title)
	}
	for _, v := range values {
		for i, n := range v.Names {
			if !token.IsExported(n) {
				continue
			}
			fmt.Fprintf(w, "<a id=\"%s\"></a>", n)
			text := ""
			if i == 0 {
				text = v.Doc
			}
			w.symbol(n, n, text)
		}
		w.declaration(v.Decl)
		w.prose(v.Doc)
	}
}

func (w *writer) function(f *doc.Func, name string) {
	title := "func " + f.Name
	if f.Recv != "" {
		title = fmt.Sprintf("func (%s) %s", f.Recv, f.Name)
	}
	w.heading(title, name)
	w.symbol(name, name, f.Doc)
	w.declaration(f.Decl)
	w.prose(f.Doc)
	w.examples(f.Examples)
}

func (w *writer) heading(title, anchor string) {
	fmt.Fprintf(w, "<h3 id=\"%s\">%s</h3>\n", anchor, html.EscapeString(title))
}

func (w *writer) symbol(name, anchor, text string) {
	w.symbols = append(w.symbols, symbol{name, anchor, text})
}

func (w *writer) prose(text string) {
	if text != "" {
		w.Write(w.printer.HTML(w.parser.Parse(text)))
	}
}

func (w *writer) examples(all []*doc.Example) {
	for _, e := range all {
		title := "Example"
		if e.Suffix != "" {
			title += " (" + strings.ReplaceAll(e.Suffix, "_", " ") + ")"
		}
		fmt.Fprintf(w, "<details class=\"example\"><summary>%s</summary>\n", html.EscapeString(title))
		w.prose(e.Doc)
		w.code(w.exampleSource(e))
		if e.Output != "" {
			fmt.Fprintf(w, "<p>Output:</p>\n<pre class=\"output\">%s</pre>\n", html.EscapeString(e.Output))
		}
		w.WriteString("</details>\n")
	}
}

func (w *writer) exampleSource(e *doc.Example) string {
	var node any = &printer.CommentedNode{Node: e.Code, Comments: e.Comments}
	body := true
	if e.Play != nil {
		// Besides main, e.Play declares what the example needs from the test file.
		for _, d := range e.Play.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name != "main" {
				node, body = e.Play, false
			} else if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.IMPORT {
				node, body = e.Play, false
			}
		}
	}
	var b bytes.Buffer
	if err := format.Node(&b, w.fset, node); err != nil {
		return err.Error()
	}
	s := b.String()
	if body {
		s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
		s = strings.TrimSpace(strings.ReplaceAll(s, "\n\t", "\n"))
		if i := strings.LastIndex(s, "// Output:"); i >= 0 {
			s = strings.TrimSpace(s[:i])
		}
	}
	return s
}

func (w *writer) declaration(d ast.Decl) {
	var b bytes.Buffer
	if err := format.Node(&b, w.fset, d); err != nil {
		b.Reset()
		b.WriteString(err.Error())
	}
	w.code(b.String())
}

func (w *writer) code(source string) {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), func(token.Position, string) {}, scanner.ScanComments)
	w.WriteString("<pre class=\"go\">")
	written := 0
	var before [2]string // the tokens before this one, the last one last
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		text := lit
		if text == "" {
			text = tok.String()
		}
		at := file.Offset(pos)
		w.WriteString(html.EscapeString(source[written:at]))
		written = at + len(text)
		escaped := html.EscapeString(text)
		switch {
		case tok.IsKeyword():
			fmt.Fprintf(w, `<span class="k">%s</span>`, escaped)
		case tok == token.COMMENT:
			fmt.Fprintf(w, `<span class="c1">%s</span>`, escaped)
		case tok == token.STRING, tok == token.CHAR:
			fmt.Fprintf(w, `<span class="s">%s</span>`, escaped)
		case tok == token.IDENT && before[1] == "." && w.files[w.imports[before[0]]] != "" && token.IsExported(text):
			fmt.Fprintf(w, `<a href="%s">%s</a>`, w.url(w.imports[before[0]], text), escaped)
		case tok == token.IDENT && before[1] != "." && w.local[text]:
			fmt.Fprintf(w, `<a href="#%s">%s</a>`, text, escaped)
		default:
			w.WriteString(escaped)
		}
		before[0], before[1] = before[1], text
	}
	w.WriteString(html.EscapeString(source[written:]))
	w.WriteString("</pre>\n")
}

type symbol struct {
	Name, Anchor, Text string
}
