package linalg

import "math"

// For matrices of dimension up to four, divisions take most of the time of an
// elimination. Each division must wait for the previous one. A formula for the inverse
// needs only one or two divisions. The formula is as accurate as elimination unless the
// terms of a determinant nearly cancel. In three and four dimensions, elimination with
// pivoting replaces the formula if the terms nearly cancel.

// cancels is the least ratio of a determinant to the sum of the magnitudes of its terms.
// It loses at most seven of 53 bits.
const cancels = 1. / 128

// inverse2 reports whether the inverse exists. It never eliminates.
func inverse2(inv *[4]float64, c float64, j *[4]float64) bool {
	a, b := c-j[0], -j[1]
	p, q := -j[2], c-j[3]
	det := a*q - b*p
	r := 1 / det
	inv[0], inv[1], inv[2], inv[3] = q*r, -b*r, -p*r, a*r
	return det != 0 && det-det == 0
}

// Inverse3 computes (cI − J)⁻¹ by cofactors. Both J and the result are stored row by row.
// The result `ok` is false if the terms of the determinant nearly cancel or if the
// determinant is NaN.
//
// Let A = cI − J, with the singular values σ₁ ≥ σ₂ ≥ σ₃. The error of a cofactor is about
// ε‖A‖², so the error of the inverse is about ε‖A‖²/|det A| = εσ₁/(σ₂σ₃) if the
// determinant is accurate. The error of a stable elimination is ε‖A‖‖A⁻¹‖² = εσ₁/σ₃²,
// which is at least as large as εσ₁/(σ₂σ₃). If `ok` is true, the determinant is accurate,
// and a stable elimination would not be much more accurate than Inverse3.
func Inverse3(c, j00, j01, j02, j10, j11, j12, j20, j21, j22 float64) (b00, b01, b02, b10, b11, b12, b20, b21, b22 float64, ok bool) {
	a00, a11, a22 := c-j00, c-j11, c-j22
	// The off-diagonal elements of cI − J have minus signs, which cancel in a product of
	// two elements.
	p0, q0 := a11*a22, j12*j21
	p1, q1 := j12*j20, -j10*a22
	p2, q2 := j10*j21, -a11*j20
	c0, c1, c2 := p0-q0, p1-q1, p2-q2
	det := a00*c0 - j01*c1 - j02*c2
	size := math.Abs(a00)*(math.Abs(p0)+math.Abs(q0)) +
		math.Abs(j01)*(math.Abs(p1)+math.Abs(q1)) +
		math.Abs(j02)*(math.Abs(p2)+math.Abs(q2))
	r := 1 / det
	ok = math.Abs(det) > cancels*size && det-det == 0 && r-r == 0
	return c0 * r, (j02*j21 + j01*a22) * r, (j01*j12 + j02*a11) * r,
		c1 * r, (a00*a22 - j02*j20) * r, (j02*j10 + a00*j12) * r,
		c2 * r, (j01*j20 + a00*j21) * r, (a00*a11 - j01*j10) * r, ok
}

// blocks4 performs one step of block elimination with blocks of size two:
//
//	cI − J = (P Q; R S),   W = RP⁻¹,   T = S − WQ
//
// blocks4 sets f to P⁻¹, Q, W and T⁻¹. If the result might be inaccurate, blocks4 returns
// false. The result might be inaccurate if an element of W exceeds 4 in absolute value,
// or if the terms of det P or det T nearly cancel. In det T, each element of T = S − WQ
// counts as three terms.
func blocks4(f *[16]float64, c float64, j *[16]float64) bool {
	p0, p1, p2, p3 := c-j[0], -j[1], -j[4], c-j[5]
	q0, q1, q2, q3 := -j[2], -j[3], -j[6], -j[7]
	r0, r1, r2, r3 := -j[8], -j[9], -j[12], -j[13]
	u, v := p0*p3, p1*p2
	det := u - v
	if !(math.Abs(det) > cancels*(math.Abs(u)+math.Abs(v))) || det-det != 0 {
		return false
	}
	inv := 1 / det
	p0, p1, p2, p3 = p3*inv, -p1*inv, -p2*inv, p0*inv
	w0, w1 := r0*p0+r1*p2, r0*p1+r1*p3
	w2, w3 := r2*p0+r3*p2, r2*p1+r3*p3
	if !(max(math.Abs(w0), math.Abs(w1), math.Abs(w2), math.Abs(w3)) <= 4) {
		return false
	}
	x0, x1, x2, x3 := w0*q0, w0*q1, w2*q0, w2*q1
	y0, y1, y2, y3 := w1*q2, w1*q3, w3*q2, w3*q3
	s0, s1, s2, s3 := c-j[10], -j[11], -j[14], c-j[15]
	t0, t1, t2, t3 := s0-(x0+y0), s1-(x1+y1), s2-(x2+y2), s3-(x3+y3)
	det = t0*t3 - t1*t2
	size := (math.Abs(s0)+math.Abs(x0)+math.Abs(y0))*(math.Abs(s3)+math.Abs(x3)+math.Abs(y3)) +
		(math.Abs(s1)+math.Abs(x1)+math.Abs(y1))*(math.Abs(s2)+math.Abs(x2)+math.Abs(y2))
	if !(math.Abs(det) > cancels*size) || det-det != 0 {
		return false
	}
	inv = 1 / det
	if inv-inv != 0 {
		return false
	}
	f[0], f[1], f[2], f[3] = p0, p1, p2, p3
	f[4], f[5], f[6], f[7] = q0, q1, q2, q3
	f[8], f[9], f[10], f[11] = w0, w1, w2, w3
	f[12], f[13], f[14], f[15] = t3*inv, -t1*inv, -t2*inv, t0*inv
	return true
}

func solveBlocks4(f *[16]float64, b *[4]float64) {
	b0, b1 := b[0], b[1]
	e0, e1 := b[2]-(f[8]*b0+f[9]*b1), b[3]-(f[10]*b0+f[11]*b1)
	y0, y1 := f[12]*e0+f[13]*e1, f[14]*e0+f[15]*e1
	b0 -= f[4]*y0 + f[5]*y1
	b1 -= f[6]*y0 + f[7]*y1
	b[0], b[1], b[2], b[3] = f[0]*b0+f[1]*b1, f[2]*b0+f[3]*b1, y0, y1
}
