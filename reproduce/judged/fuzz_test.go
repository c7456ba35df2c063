package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file of results holds, it is refused, or the tables are written.
func FuzzResults(f *testing.F) {
	whole, err := json.Marshal(result{Name: "a", Methods: []*byMethod{{Method: "bdf", Losses: []loss{{1e-2, 1, 2, ""}}, Enough: 1e-3}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(whole), "{}", "null", `{"Methods": [null]}`, `{"Methods": [{"Losses": null, "Enough": 5}]}`, `{"Name": "\u001b|<a>"}`, "[]", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := results(dir)
		if err != nil {
			return
		}
		if err := writeTables(dir, list); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	})
}
