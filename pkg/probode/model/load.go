package model

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Load reads a problem from a YAML file, ours or PEtab's, told apart by what is
// in it, with all files that it names. Whatever it asks for and cannot be had
// is refused here: a problem that loads has everything written out by
// [Problem.Experiments] without an error.
//
// The error is an [*Error] with file and line.
func Load(name string) (*Problem, error) {
	dir, base := filepath.Split(name)
	return dirFiles(dir).load(filepath.ToSlash(base))
}

// LoadFS reads a problem from a file system, such as one that is embedded.
func LoadFS(fsys fs.FS, name string) (*Problem, error) {
	return fsFiles(fsys, path.Dir(name)).load(path.Base(name))
}

func (f *files) load(name string) (p *Problem, err error) {
	defer catch(&err)
	s := f.read(name, maxYAML)
	y := s.readYAML()
	if y.kind != yaml.MappingNode {
		s.failf(y.line, "not a mapping: want a model file or a PEtab problem")
	}
	switch {
	case y.byKey["problems"] != nil || y.byKey["parameter_file"] != nil:
		p = f.petab(s, y)
	case y.byKey["odes"] != nil:
		p = f.modelFile(s, y)
	default:
		s.failf(y.line, "neither odes (a model file) nor problems (PEtab) in it: it has %s", strings.Join(y.keys, ", "))
	}
	p.check()
	if _, err := p.Experiments(); err != nil {
		return nil, err
	}
	p.Warnings, p.Files = f.warnings, f.opened
	return p, nil
}
