package release

import (
	"regexp"
	"testing"
)

// The version is that of a release, of a commit, or none.
func TestVersion(t *testing.T) {
	if v := Version(); !regexp.MustCompile(`^(v\d+\.\d+\.\d+\S*|\(devel\)(-[0-9a-f]{12})?(\+dirty)?)$`).MatchString(v) {
		t.Errorf("version %q", v)
	}
}
