package model

import (
	"strings"
	"testing"
)

// The LaTeX of a model with equations of every kind is right, and the brackets match in
// the LaTeX of all test models.
func TestLaTeX(t *testing.T) {
	p, err := Load("testdata/pk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := p.Models[0].LaTeX()
	for _, want := range []string{
		`\frac{\mathrm{d}\,\mathrm{gut}}{\mathrm{d}t} &= -\mathrm{ka}\,\mathrm{gut}, & \mathrm{gut}(0) &= 0\\`,
		`\mathrm{conc} &= \frac{\mathrm{central}}{\mathrm{volume}}\\`,
		`t = 2\,\mathrm{interval}:\quad &\mathrm{gut} \leftarrow \mathrm{gut} + \mathrm{dose}\\`,
		`\ln \mathrm{blood} &\sim \mathrm{Laplace}\left(\ln\left(\mathrm{conc}\right),\; \mathrm{error}\right)\\`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	for _, name := range []string{"pk", "lynx", "influenza", "cascade", "petab-pk/problem", "petab-lynx/problem"} {
		p, err := Load("testdata/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s := p.Models[0].LaTeX()
		for _, pair := range [][2]string{{"{", "}"}, {`\left`, `\right`}, {`\begin{`, `\end{`}} {
			if a, b := strings.Count(s, pair[0]), strings.Count(s, pair[1]); pair[0] != `\left` && a != b {
				t.Errorf("%s: %d of %s and %d of %s in\n%s", name, a, pair[0], b, pair[1], s)
			}
		}
		if a, b := strings.Count(s, `\left(`)+strings.Count(s, `\left[`), strings.Count(s, `\right)`)+strings.Count(s, `\right]`); a != b {
			t.Errorf("%s: %d opening and %d closing brackets in\n%s", name, a, b, s)
		}
		for _, q := range p.Models[0].States {
			if !strings.Contains(s, `\mathrm{d}\,`+latexName(q.ID)) {
				t.Errorf("%s: no derivative of %s", name, q.ID)
			}
		}
	}
	for id, want := range map[string]string{"k": "k", "K_1": "K_{1}", "beta_in": `\beta_{\mathrm{in}}`, "v1_a_b": `\mathrm{v1}_{\mathrm{a\_b}}`, "_x": `\mathrm{\_x}`, "time": "t", "observableParameter1_y": `\mathrm{observableParameter1}`} {
		if got := latexName(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
