package playground

import (
	"encoding/json"
	"strings"
	"testing"
)

// The values in the link of a figure are taken, or refused in one line; the knobs have
// values that they may have.
func FuzzLink(f *testing.F) {
	for _, name := range Names() {
		figure, err := Open(name)
		if err != nil {
			f.Fatal(err)
		}
		values := map[string]any{}
		for _, c := range figure.knobs {
			values[c.Name] = c.Value
		}
		text, err := json.Marshal(values)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, string(text))
		f.Add(name, strings.NewReplacer(":1", ":-1e308", "true", "7", `:"`, `:"x`).Replace(string(text)))
	}
	f.Add("model", `{"text": "\u001b", "h": null, "parameter k": [1]}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		figure, err := Open(name)
		var values map[string]any
		if err != nil || json.Unmarshal([]byte(text), &values) != nil {
			return
		}
		defer figure.Close()
		if err := figure.Set(values); err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q", err)
		}
		for _, c := range figure.knobs {
			if x, is := c.Value.(float64); is && !(c.Min <= x && x <= c.Max) {
				t.Errorf("%s: %s is %g: want a number from %g to %g", name, c.Name, x, c.Min, c.Max)
			}
		}
	})
}
