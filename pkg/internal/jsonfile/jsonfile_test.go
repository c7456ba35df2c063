package jsonfile_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/internal/jsonfile"
)

// Names keep their order, numbers read back exactly, what is not finite is null, and
// names need no care.
func TestWrite(t *testing.T) {
	o := jsonfile.Object{"z", 0.1, "a", math.NaN(), "inf", math.Inf(-1), "none", nil, "text", "<ξ>",
		"x\"y", jsonfile.Named([]string{"p", "q"}, []float64{1.0 / 3}),
		"list", jsonfile.List(2, func(i int) jsonfile.Object { return jsonfile.Object{"i", i} }), "empty", jsonfile.List(0, nil)}
	var b bytes.Buffer
	if err := o.Write(&b); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(strings.Fields(b.String()), ""), `{"z":0.1,"a":null,"inf":null,"none":null,"text":"<ξ>","x\"y":{"p":0.3333333333333333,"q":null},"list":[{"i":0},{"i":1}],"empty":[]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var back struct{ Z float64 }
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Z != 0.1 {
		t.Errorf("%v, %v", back, err)
	}
	if err := (jsonfile.Object{"f", func() {}}).Write(&b); err == nil {
		t.Error("a function was written")
	}
}
