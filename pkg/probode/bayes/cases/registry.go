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

// A Case is a complete model together with its data.
type Case struct {
	Name string // such as "lynx-hare"

	// Time is the name of the column of times, and Columns are the names of the columns
	// of observations.
	Time    string
	Columns []string

	// Model returns the posterior of the model for the given data.
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

var all = []Case{
	{"lynx-hare", "year", []string{"hare", "lynx"}, lynxHare, "lynx_hare.csv"},
	{"influenza", "day", []string{"in_bed"}, influenza, "influenza.csv"},
	{"fitzhugh-nagumo", "t", []string{"V_obs", "R_obs"}, fitzHughNagumo, "fitzhugh_nagumo.csv"},
	{"dragons", "t", []string{"y"}, dragonsLogNormal, "dragons.csv"},
	{"dragons-uniform", "t", []string{"y"}, dragonsUniform, "dragons.csv"},
	{"alias", "t", []string{"y"}, alias, "alias.csv"},
	{"pk-mm", "t", []string{"concentration"}, pkMichaelisMenten, "pk_mm.csv"},
	{"boluses", "t", []string{"y"}, boluses, "boluses.csv"},
}

// Names returns the names of all cases.
func Names() []string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// Named returns the case with the given name.
func Named(name string) (Case, error) {
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
	}
	return Case{}, fmt.Errorf("no case %q: want %s", name, strings.Join(Names(), ", "))
}
