// Command guard adds the content security policy of [viz.Guard] to all pages in a folder:
//
//	go run ./environment/site/guard FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/probode/probode/pkg/viz"
)

func main() {
	if err := guard(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
}

func guard(folder string) error {
	pages, err := filepath.Glob(filepath.Join(folder, "*.html"))
	for _, path := range pages {
		var page []byte
		if page, err = os.ReadFile(path); err == nil {
			err = os.WriteFile(path, []byte(viz.Guard(string(page))), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return err
}
