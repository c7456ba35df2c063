package viz

import (
	"strings"
	"testing"
)

// The policy allows the inline scripts of the page, with the hashes that hashlib of Python
// computes, and no others.
func TestGuard(t *testing.T) {
	const scripts = `<script>alert(1)</script><script src="a.js"></script><p><script>
1;
</script><script>alert(1)</script>`
	got := Guard("<!DOCTYPE html>\n<html>\n<meta charset=\"utf-8\">\n" + scripts + `<meta charset="utf-8">`)
	const want = "<!DOCTYPE html>\n<html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'" +
		" 'sha256-ALERT' 'sha256-ONE'; worker-src blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'\">\n" + scripts + `<meta charset="utf-8">`
	if want := strings.NewReplacer("ALERT", "bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=", "ONE", "o/XC9OlEggfse39RlivbQFMYA0QAu6G2MgWEuPWdudM=").Replace(want); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
