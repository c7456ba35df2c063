package probode

import (
	"embed"
	"fmt"
	"hash/crc64"
	"io/fs"
	"path"
	"runtime/debug"
	"strings"
	"sync"
)

// What numbers come out of, as it was when the program was built: the source on
// the disk may have changed since.
//
//go:embed *.go bayes/*.go mcmc/*.go problems/*.go
var source embed.FS

// Version returns the version of this module. Where the program does not know it,
// or was built from a checkout with changes, a hash of the source that it was built
// from is added: (devel)-6f2c8a914be03d57.
var Version = sync.OnceValue(func() string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/probode/probode" && m.Replace == nil && m.Version != "" {
				v = m.Version
			}
		}
	}
	if v != "(devel)" && !strings.HasSuffix(v, "+dirty") {
		return v
	}
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	fs.WalkDir(source, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path.Base(file), "_test.go") {
			return err
		}
		data, err := source.ReadFile(file)
		fmt.Fprintf(h, "%s %d\n", file, len(data))
		h.Write(data)
		return err
	})
	return fmt.Sprintf("%s-%016x", v, h.Sum64())
})
