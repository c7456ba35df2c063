package main

import (
	"fmt"
	"html"
	"strings"

	"github.com/probode/probode/reproduce/internal/page"
)

type section struct {
	page.Page
	claims [][3]string // the statement of the paper, the result, the verdict
}

func (s *section) folded(title string, header []string, rows [][]string) {
	fmt.Fprintf(s, "<details><summary>%s</summary>\n", html.EscapeString(title))
	s.Table("class=scroll", header, rows)
	s.WriteString("</details>\n")
}

func (s *section) missing(t *table, column, why string) {
	var cells []string
	c := t.column(column)
	for _, row := range t.rows {
		if row[c] == "NaN" {
			cells = append(cells, strings.Replace(row[0]+" "+row[1], " none", "", 1)+" at h = "+row[2])
		}
	}
	if cells != nil {
		s.Text("NaN marks the cells in which %s: %s.", why, strings.Join(cells, ", "))
	}
}

func (s *section) claim(paper, here string, holds bool) {
	verdict := "bad"
	if holds {
		verdict = "good"
	}
	s.claims = append(s.claims, [3]string{paper, here, verdict})
}
