// Package release says which version of this module a program contains.
package release

import (
	"runtime/debug"
	"sync"
)

// release is the version of a program that was built for a release archive. The linker
// sets the variable `release`: see environment/release. If `release` is empty, the
// version comes from the build information.
var release string

// Version returns the version of this module in the running program, such as v1.4.0. In a
// program built from a checkout, the version consists of v0.0.0, the time and the hash of
// the commit, and +dirty if there were uncommitted changes. If the build information
// contains no version, the result is (devel).
var Version = sync.OnceValue(func() string {
	const module = "github.com/probode/probode"
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Replace == nil && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	version := "(devel)"
	if info.Main.Path != module {
		return version // the commit belongs to another module
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version += "-" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			version += "+dirty"
		}
	}
	return version
})
