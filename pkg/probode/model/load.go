package model

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Load reads a problem from a YAML file, ours or PEtab's, told apart by what is
// in it, with all files that it names. Whatever it asks for and cannot be had
// is refused here: a problem that loads has everything written out by
// [File.Instances] without an error.
//
// All files are in the folder of the first or below it. The error is an [*source.Error] with
// file and line.
func Load(name string) (*File, error) { return fromDisk(name, false) }

// LoadOutside is Load of a file that may name files outside of its folder. Errors about such
// files quote nothing that is in them.
func LoadOutside(name string) (*File, error) { return fromDisk(name, true) }

func fromDisk(name string, outside bool) (*File, error) {
	dir, base := filepath.Split(name)
	return (&files{source.Dir(dir, outside)}).load(filepath.ToSlash(base))
}

// LoadFS reads a problem from a file system, such as one that is embedded.
func LoadFS(fsys fs.FS, name string) (*File, error) {
	return (&files{source.FS(fsys, path.Dir(name))}).load(path.Base(name))
}

// files reads a problem from files.
type files struct{ *source.Files }

func (f *files) load(name string) (p *File, err error) {
	defer source.Catch(&err)
	s := f.Read(name, source.MaxYAML)
	y := s.YAML()
	if y.Kind != yaml.MappingNode {
		s.Failf(y.Line, "not a mapping: want a model file or a PEtab problem")
	}
	switch {
	case y.ByKey["problems"] != nil || y.ByKey["parameter_file"] != nil:
		p = f.petab(s, y)
	case y.ByKey["odes"] != nil:
		p = f.modelFile(s, y)
	default:
		s.Failf(y.Line, "neither odes (a model file) nor problems (PEtab) in it: it has %s", strings.Join(y.Keys, ", "))
	}
	p.check()
	if _, err := p.Instances(); err != nil {
		return nil, err
	}
	p.Warnings, p.Files = f.Warnings, f.Opened
	return p, nil
}
