// Package petab reads the files of PEtab 1 problems, and writes their tables. Package
// model interprets these files.
package petab

import (
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// A Problem holds the tables of a PEtab problem.
type Problem struct {
	Parameters []*source.Table
	Models     []Model
}

// A Model holds the tables that belong to one SBML file.
type Model struct {
	SBML                                  string // name of the file
	Observables, Conditions, Measurements []*source.Table
}

// Read reads the tables of a problem. The YAML file s, whose contents are in y, lists the
// names of these tables.
func Read(s *source.File, y *source.Node) *Problem {
	y.Mapping("the file")
	if v := y.Must("the file", "format_version"); v != "1" && v != "1.0" && v != "1.0.0" {
		s.Refuse(y.LineOf("format_version"), "PEtab "+v, "want format_version 1")
	}
	y.Mapping("the file", "format_version", "parameter_file", "problems", "extensions") // other versions have other keys
	if e := y.Get("extensions"); e != nil && len(e.Keys)+len(e.Items) > 0 {
		s.Refuse(e.Line, "PEtab extension", "want none")
	}
	tables := func(names []string) (list []*source.Table) {
		for _, name := range names {
			list = append(list, s.ReadTable(name))
		}
		return list
	}
	p := &Problem{Parameters: tables(y.FileNames("parameter_file"))}
	if len(p.Parameters) == 0 {
		s.Failf(y.Line, "the problem has no parameter_file")
	}
	problems := y.List("problems")
	if len(problems) == 0 {
		s.Failf(y.Line, "the list of problems is empty")
	}
	for _, q := range problems {
		q.Mapping("a problem", "sbml_files", "measurement_files", "condition_files", "observable_files", "visualization_files", "mapping_files", "model_files")
		for _, k := range []string{"mapping_files", "model_files"} {
			if len(q.List(k)) > 0 {
				s.Refuse(q.LineOf(k), "PEtab "+k, "want PEtab 1 with SBML")
			}
		}
		sbmls := q.List("sbml_files")
		if len(sbmls) != 1 {
			s.Failf(q.Line, "%d sbml_files: want one", len(sbmls))
		}
		p.Models = append(p.Models, Model{sbmls[0].FileName(), tables(q.FileNames("observable_files")),
			tables(q.FileNames("condition_files")), tables(q.FileNames("measurement_files"))})
	}
	return p
}
