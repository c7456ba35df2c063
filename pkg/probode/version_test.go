package probode

import (
	"regexp"
	"testing"
)

// The version tells a build of a checkout apart from that of other source.
func TestVersion(t *testing.T) {
	if v := Version(); !regexp.MustCompile(`^(v\d+\.\S+[^y]|(v\S+\+dirty|\(devel\))-[0-9a-f]{16})$`).MatchString(v) {
		t.Errorf("version %q", v)
	}
	if data, err := source.ReadFile("mcmc/run.go"); err != nil || len(data) == 0 {
		t.Errorf("the source holds %d bytes of mcmc/run.go, %v", len(data), err)
	}
}
