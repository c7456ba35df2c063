package probode

import (
	"runtime/debug"
	"sync"
)

// release is the version of a release archive, which the linker puts here: see
// environment/release. What was built in another way knows its version by itself.
var release string

// Version returns the version of this module in the running program, such as
// v1.4.0; for a build of a checkout that of the commit, v0.0.0 with its time and
// hash, and +dirty behind it if there were changes; (devel) where the build does
// not know it.
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
		return version // the commit would be that of another module
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
