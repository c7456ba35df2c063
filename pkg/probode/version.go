package probode

import (
	"runtime/debug"
	"sync"
)

// Version returns the version of this module in the running program, such as
// v1.4.0; for a build of a checkout (devel), with the commit where the build knows
// it: (devel)-6f2c8a914be0, and +dirty behind it if there were changes.
var Version = sync.OnceValue(func() string {
	const module = "github.com/probode/probode"
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
