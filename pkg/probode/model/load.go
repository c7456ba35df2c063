package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Load reads a YAML file, and all files that this file names. The YAML file is a model
// file or a PEtab problem; Load determines the kind of the file from its contents. The
// name may also be that of a folder that contains a single YAML file. A file whose name
// ends in .xml is a model in SBML, without data: its numbers, such as rate constants, are
// the parameters. Load fails if the files use a feature that is not supported. Load checks
// all features in advance, so [File.Instances] cannot fail for a File that Load has
// returned.
//
// All files must be in the folder of the YAML file or in folders inside it. The error is
// a [*source.Error], which contains the name of the file and the line number.
func Load(name string) (*File, error) { return fromDisk(name, false) }

// LoadOutside is like Load, but the YAML file may name files outside its folder. Error
// messages about files outside the folder contain no text from these files.
func LoadOutside(name string) (*File, error) { return fromDisk(name, true) }

func fromDisk(name string, outside bool) (*File, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		in, err := Problems(name)
		if err == nil && len(in) != 1 {
			err = &source.Error{File: filepath.Base(name), Msg: fmt.Sprintf("the folder has %d YAML files: want one, or the name of one of them", len(in))}
		}
		if err != nil {
			return nil, err
		}
		name = in[0]
	}
	dir, base := filepath.Split(name)
	return (&files{source.Dir(dir, outside)}).load(filepath.ToSlash(base))
}

// Problems returns the names of the YAML files in a folder, in alphabetical order.
func Problems(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		full := filepath.Join(dir, e.Name())
		info, err := os.Stat(full) // a link counts as its target
		if err == nil && !info.IsDir() && (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, full)
		}
	}
	return names, err
}

// LoadFS is like Load, but reads from a file system, such as one that is embedded in the
// program.
func LoadFS(fsys fs.FS, name string) (*File, error) {
	return (&files{source.FS(fsys, path.Dir(name))}).load(path.Base(name))
}

// Parse reads a model file. If the model has data, the file itself must contain them as a
// table. The argument `name` is used in error messages.
func Parse(name string, text []byte) (p *File, err error) {
	defer source.Catch(&err)
	f := &files{source.FS(nothing{}, "")}
	s := &source.File{Files: f.Files, Name: name, Text: text}
	y := s.YAML()
	return f.finish(f.modelFile(s, y))
}

type nothing struct{}

func (nothing) Open(name string) (fs.File, error) {
	return nil, errors.New("a model given as text cannot read other files: write the table itself below “data: |”")
}

func (f *files) load(name string) (p *File, err error) {
	defer source.Catch(&err)
	if path.Ext(name) == ".xml" {
		return f.finish(f.sbml(name))
	}
	s := f.Read(name, source.MaxYAML)
	y := s.YAML()
	if y.Kind != yaml.MappingNode {
		s.Failf(y.Line, "the file is not a mapping: want a model file or a PEtab problem")
	}
	switch {
	case y.ByKey["problems"] != nil || y.ByKey["parameter_file"] != nil || y.ByKey["format_version"] != nil:
		p = f.petab(s, y)
	case y.ByKey["odes"] != nil:
		p = f.modelFile(s, y)
	default:
		s.Failf(y.Line, "found neither the key “odes” of a model file nor the key “problems” of a PEtab problem: the keys are %s", strings.Join(y.Keys, ", "))
	}
	return f.finish(p)
}
