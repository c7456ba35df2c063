package store

import (
	"fmt"
	"hash/crc64"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The draws of a chain are kept in a CSV file in the format of CmdStan. ArviZ, pandas
// and R can read CSV files in this format without conversion:
//
//	# format = probode-draws-1
//	# model = FitzHugh–Nagumo        from the caller: Options.Meta
//	# seed = 1
//	# start = 6f2c8a914be03d57       a hash of the first starting point of chain 1
//	# chain = 1                      counted from 1 in files
//	# num_chains = 4
//	# num_samples = 5000             iterations after burn-in
//	# num_warmup = 1000              iterations of burn-in
//	# thin = 5                       so that there are 5000/5 draws
//	# probode = v1.4.0               what the file was begun with: versions,
//	# go = go1.26.0                  and the processor's kind
//	# arch = amd64
//	# num_stats = 1                  the columns come in this order:
//	# num_params = 2                 quantities named …__, parameters, other quantities
//	# name.3 = "log σ, β"            the original name of a renamed column
//	lp__,theta,log_σ__β,y_hat.1,y_hat.2
//	-3.25,0.5,1e-07,2,NaN            a draw, numbers in their shortest exact form
//	…
//	# warmup_proposed = 1000         counts of moves during burn-in
//	# …
//	# proposed = 5000                and after it
//	# …
//	# checksum = 9f0c8a7d6e5b4c3d    CRC-64/ECMA of all bytes before this line
//
// Nothing in the file depends on the time, on the folder or on the other chains.

const (
	formatPrefix  = "probode-draws-"
	formatVersion = 1
)

var crcTable = crc64.MakeTable(crc64.ECMA)

func appendFields(buf []byte, fields []mcmc.Field) []byte {
	for _, f := range fields {
		buf = fmt.Appendf(buf, "# %s = %s\n", f.Key, f.Value)
	}
	return buf
}

func (l *layout) appendHeader(buf []byte, fields []mcmc.Field) []byte {
	buf = appendFields(appendFields(buf, fields), l.fields)
	buf = append(buf, strings.Join(l.columns, ",")...)
	return append(buf, '\n')
}

func (l *layout) appendRow(buf []byte, x, generated []float64) []byte {
	number := func(v float64) {
		buf = strconv.AppendFloat(buf, v, 'g', -1, 64)
		buf = append(buf, ',')
	}
	for _, i := range l.front {
		number(generated[i])
	}
	for _, v := range x {
		number(v)
	}
	for _, i := range l.back {
		number(generated[i])
	}
	buf[len(buf)-1] = '\n'
	return buf
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !text.IsPrintable(r) }) < 0
}

// counts are in the order of a file.
func counts(burnIn, stats *mcmc.Stats) (keys []string, values []*int) {
	for i, s := range []*mcmc.Stats{burnIn, stats} {
		for j, m := range []*mcmc.Moves{&s.Moves, &s.Latent} {
			prefix := []string{"warmup_", ""}[i] + []string{"", "latent_"}[j]
			keys = append(keys, prefix+"proposed", prefix+"accepted", prefix+"failed")
			values = append(values, &m.Proposed, &m.Accepted, &m.Failed)
		}
	}
	return keys, values
}
