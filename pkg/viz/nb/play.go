package nb

import (
	"encoding/json"
	"fmt"
	"html"

	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/playground"
)

// liveFigures is built by environment/lab; it is relative to the root of the Jupyter
// server.
const liveFigures = "environment/playground/built/playground.js"

// Play shows a live figure of package playground. The argument `values` contains the
// values of some controls of the figure; all other controls have their default values.
// The figure is computed in the browser, not in the kernel. If scripts are forbidden, as
// on GitHub, or if the compiled playground is missing, the page shows the graphic in the
// argument `recorded`.
func Play(name string, values map[string]any, recorded viz.Graphic) {
	figure, err := playground.Open(name)
	Check(err)
	defer figure.Close()
	state, err := json.Marshal(values)
	Check(err)
	var sent map[string]any // as the browser sends them
	Check(json.Unmarshal(state, &sent))
	Check(figure.Set(sent))
	fragment, err := viz.HTML(recorded)
	Check(err)
	shown(recorded, fmt.Sprintf("<div data-play=%q data-values=\"%s\">\n%s</div>\n<script>probodeViz.play(%q);</script>\n",
		name, html.EscapeString(string(state)), fragment, liveFigures))
}
