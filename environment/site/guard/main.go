// Command guard adds the content security policy of [viz.Guard] to all pages in a folder:
//
//	go run ./environment/site/guard FOLDER
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/viz"
)

func main() {
	shell.Main("guard", func(_ context.Context, args []string) error { return guard(args[0]) })
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
