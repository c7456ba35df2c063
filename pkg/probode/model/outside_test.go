package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file outside the folder of the model is not read, whichever file names it and
// however. With LoadOutside it is read, and an error about it quotes none of its
// contents.
func TestFilesOutside(t *testing.T) {
	const secret = "topsecret"
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("secret.csv", secret+" one\n"+secret+" two\t"+secret+"\n")
	write("m/sub/data.csv", "time,y\n1,2\n")
	write("data.csv", "time,y\n1,2\n")
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	link(filepath.Join(dir, "secret.csv"), "m/link.csv")
	link("..", "m/up")
	link("sub", "m/down")
	const model = `odes: [{stateId: x, initialValue: 1, rightHandSide: -x}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
data: `
	const problem = "format_version: 1\nparameter_file: PARAMETERS\nproblems:\n- {sbml_files: [SBML], observable_files: [OBSERVABLES], condition_files: [CONDITIONS], measurement_files: [MEASUREMENTS]}\n"
	for name, text := range examples(t, "petab-lynx") {
		write("m/petab/"+name, text)
	}
	petab := func(key, to string) string {
		out := problem
		for k, file := range map[string]string{"PARAMETERS": "petab/parameters.tsv", "SBML": "petab/model.xml", "OBSERVABLES": "petab/observables.tsv",
			"CONDITIONS": "petab/conditions.tsv", "MEASUREMENTS": "petab/measurements.tsv"} {
			if k == key {
				file = to
			}
			out = strings.Replace(out, k, file, 1)
		}
		return out
	}
	for _, name := range []string{"../secret.csv", filepath.Join(dir, "secret.csv"), "sub/../../secret.csv", "link.csv", "up/secret.csv", "../m/../secret.csv"} {
		files := []string{model + name}
		for _, key := range []string{"PARAMETERS", "SBML", "OBSERVABLES", "CONDITIONS", "MEASUREMENTS"} {
			files = append(files, petab(key, name))
		}
		for _, text := range files {
			write("m/model.yaml", text)
			_, err := Load(filepath.Join(dir, "m/model.yaml"))
			if err == nil || !strings.Contains(err.Error(), "outside") || strings.Contains(err.Error(), secret+" ") {
				t.Errorf("%s: %v", name, err)
			}
			_, err = LoadOutside(filepath.Join(dir, "m/model.yaml"))
			if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, allowed: %v", name, err)
			}
		}
	}
	for name, ok := range map[string]bool{"sub/data.csv": true, "down/data.csv": true, "./sub/data.csv": true, "../data.csv": false, "up/m/sub/data.csv": true} {
		write("m/model.yaml", model+name)
		if _, err := Load(filepath.Join(dir, "m/model.yaml")); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := LoadOutside(filepath.Join(dir, "m/model.yaml")); err != nil {
			t.Errorf("%s, allowed: %v", name, err)
		}
	}
	// The model itself may be a link, in any folder.
	write("m/model.yaml", model+"sub/data.csv")
	link("m/model.yaml", "model.yaml")
	if _, err := Load(filepath.Join(dir, "m/up/m/model.yaml")); err != nil {
		t.Error(err)
	}
	t.Chdir(filepath.Join(dir, "m"))
	if _, err := Load("model.yaml"); err != nil {
		t.Error(err)
	}
}

// examples returns the files of a folder of testdata by name.
func examples(t *testing.T, folder string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(filepath.Join("testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join("testdata", folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}
