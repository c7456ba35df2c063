package viz

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"regexp"
	"strings"
)

//go:embed loader.js
var source string

// loader is the script in one line, to take less space in a notebook: every figure
// contains it. Its statements must end with semicolons.
var loader = strings.ReplaceAll(regexp.MustCompile(`(?m)^[ \t]*(//.*)?\n?`).ReplaceAllString(source, ""), "\n", " ")

// HTML returns an HTML fragment that shows the graphic on a page or in the output of a
// notebook cell. The fragment contains the static picture, and a script that replaces the
// picture with the interactive chart once ECharts 5 has been loaded. If scripts are
// disabled, or if ECharts fails or cannot be loaded, the page shows only the static
// picture.
//
// If the page has already loaded ECharts, the loaded copy is used. If the page has not
// loaded ECharts but has set the global JavaScript variable probodeECharts, ECharts is
// loaded from the address in this variable. If the address is a path such as
// lib/echarts.js, without a leading slash or dot, the path is relative to the root of the
// Jupyter server. If the page has not set probodeECharts, ECharts is loaded from a public
// CDN. If the page uses RequireJS, the copy at the address in probodeECharts is loaded
// with RequireJS. ECharts is loaded only once per page, however many fragments the page
// contains.
//
// The fragment contains only one copy of the picture and one copy of the data of the
// chart. The data are compressed; browsers released since 2023 can decompress them, and
// older browsers show only the picture.
//
// HTML always returns the same fragment for the same graphic. The id of the fragment is a
// hash of its content, so that different graphics on one page have different ids.
func HTML(g Graphic) (string, error) {
	ps, show, err := g.pages()
	if err != nil {
		return "", err
	}
	picture, err := ps[show].png()
	if err != nil {
		return "", err
	}
	opt, err := option(g, ps, show)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write(opt)
	sum.Write(picture)
	id := hex.EncodeToString(sum.Sum(nil)[:8])

	packed, err := pack(opt)
	if err != nil {
		return "", err
	}
	p := ps[show]
	var b strings.Builder
	fmt.Fprintf(&b, `<div data-probode="%s" data-width="%d" data-height="%d" style="max-width:%dpx;overflow-x:auto;background:#fff">`+
		`<img alt="%s" style="width:100%%;height:auto" src="data:image/png;base64,%s"></div>`+"\n",
		id, p.Width, p.Height, p.Width, html.EscapeString(p.alt()), base64.StdEncoding.EncodeToString(picture))
	fmt.Fprintf(&b, "<script>\n%sprobodeViz.show(%q, %q);\n</script>\n", loader, id, packed)
	return b.String(), nil
}

func (p *page) alt() string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, strings.ReplaceAll(s, "\n", " "))
		}
	}
	add(p.Title)
	for _, q := range p.Panels {
		if len(q.Layers) == 0 {
			continue
		}
		s := cmp.Or(q.Title, "panel")
		if q.X.Label != "" && q.Y.Label != "" {
			s += ": " + q.Y.Label + " against " + q.X.Label
		}
		add(s)
	}
	var names []string
	for _, k := range p.legend {
		names = append(names, k.name)
	}
	add(strings.Join(names, ", "))
	return strings.Join(parts, "; ")
}
