package model

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Load reads a YAML file, and all files that this file names. The YAML file is a model
// file or a PEtab problem; Load determines the kind of the file from its contents. Load
// fails if the files use a feature that is not supported, so [File.Instances] cannot fail
// for a File that Load returns.
//
// All files must be in the folder of the YAML file or in folders inside it. The error is
// a [*source.Error], which contains the name of the file and the line number.
func Load(name string) (*File, error) { return fromDisk(name, false) }

// LoadOutside is like Load, but the YAML file may name files outside its folder. Error
// messages about files outside the folder contain no text from these files.
func LoadOutside(name string) (*File, error) { return fromDisk(name, true) }

func fromDisk(name string, outside bool) (*File, error) {
	dir, base := filepath.Split(name)
	return (&files{source.Dir(dir, outside)}).load(filepath.ToSlash(base))
}

// LoadFS is like Load, but reads from a file system, such as one that is embedded in the
// program.
func LoadFS(fsys fs.FS, name string) (*File, error) {
	return (&files{source.FS(fsys, path.Dir(name))}).load(path.Base(name))
}

// Parse reads a model file whose data, if it has any, are a table in the file itself. The
// argument name is used in error messages.
func Parse(name string, text []byte) (p *File, err error) {
	defer source.Catch(&err)
	f := &files{source.FS(nothing{}, "")}
	s := &source.File{Files: f.Files, Name: name, Text: text}
	y := s.YAML()
	return f.finish(f.modelFile(s, y))
}

// The type nothing is a file system without files.
type nothing struct{}

func (nothing) Open(name string) (fs.File, error) {
	return nil, errors.New("a model given as text cannot read other files: write the table itself below “data: |”")
}

// The type files reads a problem from files.
type files struct{ *source.Files }

func (f *files) load(name string) (p *File, err error) {
	defer source.Catch(&err)
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

// The method finish() checks a problem that has been read.
func (f *files) finish(p *File) (*File, error) {
	p.check()
	list, err := p.Instances()
	if err != nil {
		return nil, err
	}
	p.Warnings, p.Files = append(f.Warnings, late(list)...), f.Opened
	return p, nil
}

// The function late() returns warnings about events that have no effect because in every
// experiment they happen after the last measurement. There is no warning about an event
// whose time is not known. For an event that repeats, only the first occurrence counts.
func late(list []*Instance) (warnings []string) {
	type last struct {
		id      string
		at, end float64
	}
	var order []source.Where
	found := map[source.Where]*last{} // nil for an event that may have an effect
	for _, e := range list {
		end := math.Inf(-1)
		for _, r := range e.rows {
			end = max(end, r.time)
		}
		for _, ev := range e.events {
			if ev.Trigger != nil || len(e.rows) == 0 {
				continue
			}
			at, known := ev.Time.Const()
			was, seen := found[ev.Where]
			switch {
			case !known || at <= end:
				found[ev.Where] = nil
			case !seen:
				order = append(order, ev.Where)
				found[ev.Where] = &last{ev.ID, at, end}
			case was != nil:
				was.at, was.end = min(was.at, at), max(was.end, end)
			}
		}
	}
	for _, where := range order {
		if l := found[where]; l != nil {
			warnings = append(warnings, fmt.Sprintf("%s:%d: event %s happens at %v, after the last measurement at %v, so it has no effect on the likelihood", where.File, where.Line, l.id, l.at, l.end))
		}
	}
	return warnings
}
