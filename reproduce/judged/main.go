// Command judged examines how the error of the ODE solver affects the results of the
// problems in a PEtab collection. For each problem the command determines how each method
// changes the log-likelihood at each tolerance, and which tolerance is sufficient for all
// parameters.
//
//	go run ./reproduce/judged -petab DIR [-out DIR] [-limit 5m] [-only NAME,NAME] [-page]
//
// The command writes the results for each problem to OUT/NAME.json. For all problems
// together it writes two tables, OUT/judged.csv and OUT/losses.csv, and OUT/judged.html, a
// page that needs no other files. A problem is skipped if its JSON
// file says that the result was computed from the same files and with the same limit, so
// that an interrupted run can be continued. The command does not notice changes of its own
// source code.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/internal/shell"
)

func main() { shell.Main("judged", run) }

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("judged", flag.ContinueOnError)
	petab := fs.String("petab", "", "`folder` that contains a subfolder for each PEtab problem")
	out := fs.String("out", filepath.Join("reproduce", "out", "judged"), "`folder` for the results")
	limit := fs.Duration("limit", 5*time.Minute, "longest processor `time` for one problem")
	only := fs.String("only", "", "problems to compute, as `NAME,NAME`; default: all")
	pageOnly := fs.Bool("page", false, "write the table and the page from existing results")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	if *limit < time.Second {
		return fmt.Errorf("-limit is %v: want 1s or more", *limit)
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	if !*pageOnly {
		if err := judgeAll(ctx, *petab, *out, *only, *limit); err != nil {
			return err
		}
	}
	list, err := results(*out)
	if err != nil {
		return err
	}
	if err := writeTables(*out, list); err != nil {
		return err
	}
	name := filepath.Join(*out, "judged.html")
	if err := writePage(name, list); err != nil {
		return err
	}
	fmt.Printf("%s: %d problems\n", name, len(list))
	return nil
}

// inputs are the time limit and all files in the folder.
func inputs(file string, limit time.Duration) (string, error) {
	h := sha256.New()
	root := os.DirFS(filepath.Dir(file))
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		fmt.Fprintf(h, "%q %d\n%s", name, len(text), text)
		return err
	})
	return fmt.Sprintf("limit %v, files %x", limit, h.Sum(nil)[:8]), err
}

func known(file, inputs string) bool {
	r, err := read(file)
	return err == nil && r.Inputs == inputs
}

func judgeAll(ctx context.Context, petab, out, only string, limit time.Duration) error {
	if petab == "" {
		return errors.New("the folder of problems is not given: use the flag -petab DIR, or run `make judged PETAB=DIR`")
	}
	files, err := filepath.Glob(filepath.Join(petab, "*", "*.yaml"))
	if err != nil {
		return err
	}
	var wanted []string
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	files = slices.DeleteFunc(files, func(file string) bool {
		name := nameOf(file)
		main := filepath.Base(file) == name+".yaml" || filepath.Base(file) == "problem.yaml"
		return !main || wanted != nil && !slices.Contains(wanted, name)
	})
	if len(files) == 0 {
		return fmt.Errorf("%s contains no problems: want files such as NAME/NAME.yaml", petab)
	}
	for i, file := range files {
		to := filepath.Join(out, nameOf(file)+".json")
		from, err := inputs(file, limit)
		if err != nil {
			return err
		}
		if known(to, from) {
			continue
		}
		fmt.Fprintf(os.Stderr, "[%d/%d] %s\n", i+1, len(files), nameOf(file))
		r := judge(ctx, file, limit)
		r.Inputs = from
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted; %s has the results so far", out)
		}
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		if err := shell.WriteFile(to, append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func results(out string) (list []*result, err error) {
	files, err := filepath.Glob(filepath.Join(out, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		r, err := read(file)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no results", out)
	}
	return list, nil
}

func read(file string) (*result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if slices.Contains(r.Methods, nil) {
		return nil, fmt.Errorf("%s: a method is null: remove the file to begin again", file)
	}
	return r, nil
}
