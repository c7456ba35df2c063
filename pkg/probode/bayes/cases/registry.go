package cases

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes"
)

//go:embed data
var files embed.FS

// A Case is a complete model with its data.
type Case struct {
	Name  string // such as "lynx-hare"
	About string // a short description

	// Time and Columns are the columns of the data.
	Time    string
	Columns []string

	// Model returns the model for the given data.
	Model func(*bayes.Data) *bayes.Posterior

	file string
}

// Data returns the data of the case.
func (c Case) Data() *bayes.Data {
	text, err := files.ReadFile("data/" + c.file)
	if err == nil {
		var d *bayes.Data
		if d, err = bayes.ReadCSV(bytes.NewReader(text), c.Time, c.Columns...); err == nil {
			return d
		}
	}
	panic("cases: " + c.Name + ": " + err.Error()) // a test reads all embedded data
}

// Posterior returns the model with the data of the case.
func (c Case) Posterior() *bayes.Posterior { return c.Model(c.Data()) }

// All returns the cases.
func All() []Case {
	return []Case{
		{"lynx-hare", "hares and lynxes, 1900 to 1920", "year", []string{"hare", "lynx"}, LynxHare, "lynx_hare.csv"},
		{"influenza", "boys in bed in a boarding school", "day", []string{"in_bed"}, Influenza, "influenza.csv"},
		{"fitzhugh-nagumo", "the problem of the paper", "t", []string{"V_obs", "R_obs"}, FitzHughNagumo, "fitzhugh_nagumo.csv"},
		{"dragons", "a mode that only the solver makes", "t", []string{"y"}, Dragons, "dragons.csv"},
		{"dragons-uniform", "the same with uniform priors: that mode is the larger one", "t", []string{"y"}, DragonsUniform, "dragons.csv"},
		{"alias", "an oscillator observed too seldom: two true modes", "t", []string{"y"}, Alias, "alias.csv"},
		{"pk-mm", "a drug with Michaelis–Menten elimination", "t", []string{"concentration"}, PKMichaelisMenten, "pk_mm.csv"},
		{"boluses", "two short infusions, declared as events", "t", []string{"y"}, func(d *bayes.Data) *bayes.Posterior { return Boluses(d, 0.002, true) }, "boluses.csv"},
	}
}

// Names returns the names of all cases.
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return names
}

// Named returns the case with the given name.
func Named(name string) (Case, error) {
	for _, c := range All() {
		if c.Name == name {
			return c, nil
		}
	}
	return Case{}, fmt.Errorf("no case %q: want %s", name, strings.Join(Names(), ", "))
}
