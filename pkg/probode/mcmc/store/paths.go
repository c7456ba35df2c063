package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
)

const (
	partSuffix  = ".part"  // of the draws of a chain that is not finished
	stateSuffix = ".state" // in place of .csv
	tmpSuffix   = ".tmp"   // of a file that is to be renamed
)

func statePath(path string) string { return strings.TrimSuffix(path, ".csv") + stateSuffix }

func chainPath(dir string, chain int) string {
	return filepath.Join(dir, fmt.Sprintf("chain-%d.csv", chain+1))
}

func chainFiles(dir, suffix string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store: directory %s: %w", text.Clip(dir), fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var chains []int
	for _, e := range entries {
		n, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), suffix), "chain-")
		if k, err := strconv.Atoi(n); ok && err == nil && k > 0 && chainPath("", k-1)+strings.TrimPrefix(suffix, ".csv") == e.Name() {
			chains = append(chains, k-1)
		}
	}
	slices.Sort(chains)
	for _, k := range chains {
		paths = append(paths, chainPath(dir, k)+strings.TrimPrefix(suffix, ".csv"))
	}
	return paths, nil
}
