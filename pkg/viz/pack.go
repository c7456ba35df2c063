package viz

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
)

// pack encodes the ECharts options of a chart for the script of [HTML]. Each list of
// points is replaced by columns of differences. The resulting text is compressed with
// deflate and written in base64.
//
// If each row of a list has m elements, and each element is a multiple of 10⁻ᵏ or null,
// the list is written in the following form:
//
//	{"$": [m, k, a, b, c, …]}
//
// The numbers m and k are followed by the columns of the list, one after another. The
// numbers in the columns are in units of 10⁻ᵏ. Each column begins with its first number,
// and continues with the differences between successive numbers. A null is written as 0.5,
// which cannot occur as a difference of integers.
func pack(option []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(option))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	var plain, packed bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(columns(v)); err != nil {
		return "", err
	}
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(bytes.TrimSpace(plain.Bytes())); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

func columns(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, w := range v {
			v[k] = columns(w)
		}
	case []any:
		if c := column10(v); c != nil {
			return map[string]any{"$": c}
		}
		for i, w := range v {
			v[i] = columns(w)
		}
	}
	return v
}

// column10 packs four or more points.
func column10(rows []any) []any {
	const most = 1 << 53 // beyond it integers are not exact
	if len(rows) < 4 {
		return nil
	}
	first, ok := rows[0].([]any)
	if !ok || len(first) == 0 {
		return nil
	}
	m, k := len(first), 0
	values := make([]float64, 0, m*len(rows)) // column by column
	for j := range m {
		for _, r := range rows {
			row, ok := r.([]any)
			if !ok || len(row) != m {
				return nil
			}
			switch n := row[j].(type) {
			case nil:
				values = append(values, math.NaN())
			case json.Number:
				x, err := n.Float64()
				if err != nil {
					return nil
				}
				values = append(values, x)
				for k <= 12 && math.Round(x*math.Pow10(k))/math.Pow10(k) != x {
					k++
				}
			default:
				return nil
			}
		}
	}
	if k > 12 {
		return nil
	}
	out := []any{m, k}
	var last int64
	for i, x := range values {
		if i%len(rows) == 0 {
			last = 0
		}
		if math.IsNaN(x) {
			out = append(out, json.Number("0.5"))
			continue
		}
		scaled := math.Round(x * math.Pow10(k))
		if math.Abs(scaled) > most {
			return nil
		}
		n := int64(scaled)
		out = append(out, json.Number(strconv.FormatInt(n-last, 10)))
		last = n
	}
	return out
}
