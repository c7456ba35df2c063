package expr

import (
	"math"
	"math/big"
)

// A calc evaluates expressions with prec bits. The results are the reference for
// derivatives and simplified forms. A value that is not a finite number, or would take
// too long, is nil. So is everything computed from nil, except a piecewise that does not
// choose it.
type calc struct {
	prec    uint
	pi, ln2 *big.Float
	trace   []int8 // which way every comparison, abs, sign, floor went
}

func newCalc(prec uint) *calc {
	c := &calc{prec: prec}
	c.ln2 = c.add(c.num(0), c.mul(c.num(2), c.atanhSeries(c.div(c.num(1), c.num(3)))))
	// Machin: π = 16 atan(1/5) − 4 atan(1/239)
	c.pi = c.sub(c.mul(c.num(16), c.atanSeries(c.div(c.num(1), c.num(5)))), c.mul(c.num(4), c.atanSeries(c.div(c.num(1), c.num(239)))))
	return c
}

func (c *calc) new() *big.Float                { return new(big.Float).SetPrec(c.prec) }
func (c *calc) num(v float64) *big.Float       { return c.new().SetFloat64(v) }
func (c *calc) add(a, b *big.Float) *big.Float { return c.new().Add(a, b) }
func (c *calc) sub(a, b *big.Float) *big.Float { return c.new().Sub(a, b) }
func (c *calc) mul(a, b *big.Float) *big.Float { return c.new().Mul(a, b) }
func (c *calc) div(a, b *big.Float) *big.Float {
	if b.Sign() == 0 {
		return nil
	}
	return c.new().Quo(a, b)
}

// small reports whether a term is negligible in a sum.
func (c *calc) small(term, sum *big.Float) bool {
	return term.Sign() == 0 || sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-int(c.prec)-2
}

func (c *calc) oddSeries(x, x2 *big.Float) *big.Float {
	sum, power := c.new().Set(x), c.new().Set(x)
	for k := 3.0; ; k += 2 {
		power = c.mul(power, x2)
		t := c.div(power, c.num(k))
		if c.small(t, sum) {
			return sum
		}
		sum = c.add(sum, t)
	}
}

func (c *calc) atanhSeries(x *big.Float) *big.Float { return c.oddSeries(x, c.mul(x, x)) }
func (c *calc) atanSeries(x *big.Float) *big.Float {
	return c.oddSeries(x, c.new().Neg(c.mul(x, x)))
}

func (c *calc) exp(x *big.Float) *big.Float {
	f, _ := x.Float64()
	if math.Abs(f) > 2000 {
		return nil
	}
	k := math.Round(f / math.Ln2)
	r := c.sub(x, c.mul(c.num(k), c.ln2))
	const halvings = 8
	r.SetMantExp(r, -halvings)
	sum, term := c.num(1), c.num(1)
	for i := 1.0; ; i++ {
		term = c.div(c.mul(term, r), c.num(i))
		if c.small(term, sum) {
			break
		}
		sum = c.add(sum, term)
	}
	for range halvings {
		sum = c.mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(k))
}

func (c *calc) ln(x *big.Float) *big.Float {
	if x.Sign() <= 0 {
		return nil
	}
	m := c.new()
	e := x.MantExp(m)
	if f, _ := m.Float64(); f < math.Sqrt2/2 { // near 1 nothing may cancel
		m.SetMantExp(m, 1)
		e--
	}
	// two roots bring m so close to 1 that the series is short
	for range 2 {
		m.Sqrt(m)
	}
	s := c.atanhSeries(c.div(c.sub(m, c.num(1)), c.add(m, c.num(1))))
	return c.add(c.mul(c.num(8), s), c.mul(c.num(float64(e)), c.ln2))
}

// sincos reduces to [−π/4, π/4] by quarter turns.
func (c *calc) sincos(x *big.Float) (sin, cos *big.Float) {
	f, _ := x.Float64()
	if math.Abs(f) > 1e6 {
		return nil, nil
	}
	k := math.Round(f / (math.Pi / 2))
	r := c.sub(x, c.mul(c.num(k), c.mul(c.num(0.5), c.pi)))
	r2 := c.new().Neg(c.mul(r, r))
	series := func(term *big.Float, i float64) *big.Float {
		sum := c.new().Set(term)
		for ; ; i += 2 {
			term = c.div(c.mul(term, r2), c.num(i*(i+1)))
			if c.small(term, sum) {
				return sum
			}
			sum = c.add(sum, term)
		}
	}
	s, co := series(r, 2), series(c.num(1), 1)
	switch int(math.Mod(math.Mod(k, 4)+4, 4)) {
	case 1:
		return co, c.new().Neg(s)
	case 2:
		return c.new().Neg(s), c.new().Neg(co)
	case 3:
		return c.new().Neg(co), s
	}
	return s, co
}

func (c *calc) sqrt(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return nil
	}
	return c.new().Sqrt(x)
}

// atan halves the angle until the series is short.
func (c *calc) atan(x *big.Float) *big.Float {
	r := c.new().Set(x)
	one := c.num(1)
	const halvings = 5
	for range halvings {
		r = c.div(r, c.add(one, c.sqrt(c.add(one, c.mul(r, r)))))
	}
	r = c.atanSeries(r)
	return r.SetMantExp(r, halvings)
}

func (c *calc) function(o op, x *big.Float) *big.Float {
	one, half := c.num(1), c.num(0.5)
	square := c.mul(x, x)
	log := func(y *big.Float) *big.Float {
		if y == nil {
			return nil
		}
		return c.ln(y)
	}
	switch o {
	case opExp:
		return c.exp(x)
	case opLn:
		return c.ln(x)
	case opLog10, opLog2:
		y := c.ln(x)
		if y == nil {
			return nil
		}
		return c.div(y, c.ln(c.num(map[op]float64{opLog10: 10, opLog2: 2}[o])))
	case opSqrt:
		return c.sqrt(x)
	case opSin, opCos, opTan:
		s, co := c.sincos(x)
		switch {
		case s == nil:
			return nil
		case o == opSin:
			return s
		case o == opCos:
			return co
		}
		return c.div(s, co)
	case opAsin, opAcos:
		r := c.sqrt(c.sub(one, square))
		if r == nil || r.Sign() == 0 {
			return nil
		}
		a := c.atan(c.div(x, r))
		if o == opAsin {
			return a
		}
		return c.sub(c.mul(half, c.pi), a)
	case opAtan:
		return c.atan(x)
	case opSinh, opCosh, opTanh:
		e := c.exp(x)
		if e == nil {
			return nil
		}
		i := c.div(one, e)
		s, co := c.mul(half, c.sub(e, i)), c.mul(half, c.add(e, i))
		switch o {
		case opSinh:
			return s
		case opCosh:
			return co
		}
		return c.div(s, co)
	case opAsinh:
		a := c.new().Abs(x)
		y := log(c.add(a, c.sqrt(c.add(square, one))))
		if x.Sign() < 0 {
			y.Neg(y)
		}
		return y
	case opAcosh:
		if x.Cmp(one) < 0 {
			return nil
		}
		return log(c.add(x, c.sqrt(c.sub(square, one))))
	case opAtanh:
		q := c.div(c.add(one, x), c.sub(one, x))
		if q == nil {
			return nil
		}
		y := log(q)
		if y == nil {
			return nil
		}
		return c.mul(half, y)
	case opAbs:
		c.trace = append(c.trace, int8(x.Sign()))
		return c.new().Abs(x)
	case opSign:
		c.trace = append(c.trace, int8(x.Sign()))
		return c.num(float64(x.Sign()))
	case opFloor, opCeil:
		i, _ := x.Int(nil)
		f := c.new().SetInt(i)
		switch d := f.Cmp(x); {
		case o == opFloor && d > 0:
			f = c.sub(f, one)
		case o == opCeil && d < 0:
			f = c.add(f, one)
		}
		v, _ := f.Float64()
		c.trace = append(c.trace, int8(math.Mod(v, 100)))
		return f
	}
	panic("no such function")
}

func (c *calc) pow(x, y *big.Float) *big.Float {
	if y.IsInt() {
		n, _ := y.Int64()
		if n < -1000 || n > 1000 {
			return nil
		}
		v := c.num(1)
		for range max(n, -n) {
			v = c.mul(v, x)
		}
		if n < 0 {
			return c.div(c.num(1), v)
		}
		return v
	}
	switch x.Sign() {
	case -1:
		return nil
	case 0:
		if y.Sign() > 0 {
			return c.num(0)
		}
		return nil
	}
	return c.exp(c.mul(y, c.ln(x)))
}

// value returns the value of n at the given values, or nil as explained for calc.
func (c *calc) value(n *Node, at map[string]*big.Float) *big.Float {
	c.trace = c.trace[:0]
	done := map[*Node]*big.Float{}
	for _, m := range Parts(n) {
		done[m] = c.node(m, at, done)
	}
	v := done[n]
	if v != nil && v.IsInf() {
		return nil
	}
	return v
}

func (c *calc) node(m *Node, at map[string]*big.Float, done map[*Node]*big.Float) *big.Float {
	v := make([]*big.Float, len(m.args))
	for i, a := range m.args {
		v[i] = done[a]
		if v[i] == nil && m.op != opPiecewise && m.op != opAnd && m.op != opOr {
			return nil
		}
	}
	truth := func(t bool) *big.Float {
		c.trace = append(c.trace, int8(map[bool]int{true: 1, false: 0}[t]))
		return c.num(map[bool]float64{true: 1, false: 0}[t])
	}
	switch m.op {
	case opNum, opBool:
		if math.IsNaN(m.val) || math.IsInf(m.val, 0) {
			return nil
		}
		return c.num(m.val)
	case opSym:
		return at[m.name]
	case opNeg:
		return c.new().Neg(v[0])
	case opAdd, opMul, opMin, opMax:
		s := v[0]
		for _, x := range v[1:] {
			switch m.op {
			case opAdd:
				s = c.add(s, x)
			case opMul:
				s = c.mul(s, x)
			default:
				less := truth(s.Cmp(x) <= 0).Sign() > 0
				if less != (m.op == opMin) {
					s = x
				}
			}
		}
		return s
	case opDiv:
		return c.div(v[0], v[1])
	case opQuotient, opRem:
		q := c.div(v[0], v[1])
		if q == nil || q.MantExp(nil) > 20 { // it would jump within a difference
			return nil
		}
		i, _ := q.Int64()
		c.trace = append(c.trace, int8(i%100))
		q.SetInt64(i)
		if m.op == opRem {
			q = c.sub(v[0], c.mul(v[1], q))
		}
		return q
	case opPow:
		return c.pow(v[0], v[1])
	case opPiecewise:
		for i := 0; i+1 < len(v); i += 2 {
			if v[i+1] == nil {
				return nil
			}
			if v[i+1].Sign() != 0 {
				return v[i]
			}
		}
		return v[len(v)-1]
	case opLt:
		return truth(v[0].Cmp(v[1]) < 0)
	case opLe:
		return truth(v[0].Cmp(v[1]) <= 0)
	case opGt:
		return truth(v[0].Cmp(v[1]) > 0)
	case opGe:
		return truth(v[0].Cmp(v[1]) >= 0)
	case opEq:
		return truth(v[0].Cmp(v[1]) == 0)
	case opNe, opXor:
		return truth(v[0].Cmp(v[1]) != 0)
	case opNot:
		return c.sub(c.num(1), v[0])
	case opAnd, opOr:
		for _, x := range v {
			if x == nil {
				return nil
			}
			if (x.Sign() != 0) == (m.op == opOr) {
				return x
			}
		}
		return c.num(map[op]float64{opAnd: 1, opOr: 0}[m.op])
	}
	return c.function(m.op, v[0])
}
