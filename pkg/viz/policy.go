package viz

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// Guard adds a content security policy to an HTML page whose first element is
// <meta charset="utf-8">. With the policy, a browser runs only the scripts in the page,
// which are known by their hashes, those in files beside the page, and WebAssembly. The page
// loads nothing from elsewhere and sends nothing: in place of a script from elsewhere, a
// figure uses a copy of ECharts beside the page, or remains a picture.
func Guard(page string) string {
	var hashes []string
	for _, m := range regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1) {
		sum := sha256.Sum256([]byte(m[1]))
		hashes = append(hashes, " 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	slices.Sort(hashes)
	const first = `<meta charset="utf-8">`
	return strings.Replace(page, first, first+`
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'`+strings.Join(slices.Compact(hashes), "")+
		`; worker-src blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'">`, 1)
}
