/* What a compiled program needs for the same work, written out for one problem
   and method each, as somebody would who had only that to do. The library is
   measured beside it. Usage: limit NAME REPEATS prints ns a unit (a step, a
   normal), the fastest of a few rounds. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double sink;

/* FitzHugh-Nagumo, h = 1/128, Adams-Moulton with s = 0 or 2 linearised at the
   current state, noise stored. w is the right-hand side over gamma. */
enum { STEPS = 1024 };
static double noise[200 * 64], path[2 * (STEPS + 1)];

static void adams(int s, const double *theta) {
	const double a = theta[0], b = theta[1], c = theta[2], over = 1 / c;
	const double h = 1. / 128, gamma = h * (s ? 5. / 12 : 1), scale = 1e-4;
	double v = -1, r = 1, pv = 0, pr = 0;
	for (int i = 0; i < STEPS; i++) {
		const double *e = noise + 2 * i;
		double fv = c * (v - v * v * v / 3 + r), fr = -(v - a + b * r) * over;
		double jvv = c * (1 - v * v), jvr = c, jrv = -over, jrr = -b * over;
		double wv = gamma * fv, wr = gamma * fr;
		if (s) {
			wv += h * (8. / 12 * fv - 1. / 12 * pv);
			wr += h * (8. / 12 * fr - 1. / 12 * pr);
			pv = fv;
			pr = fr;
		}
		wv += gamma * scale * (jvv * e[0] + jvr * e[1]);
		wr += gamma * scale * (jrv * e[0] + jrr * e[1]);
		double mvv = 1 - gamma * jvv, mvr = -gamma * jvr, mrv = -gamma * jrv, mrr = 1 - gamma * jrr;
		double d = 1 / (mvv * mrr - mvr * mrv);
		v += (mrr * wv - mvr * wr) * d;
		r += (mvv * wr - mrv * wv) * d;
		path[2 * i + 2] = v;
		path[2 * i + 3] = r;
	}
	sink += v;
}

/* The explicit methods on the same problem. */
static void explicit_step(int rk, const double *theta) {
	const double a = theta[0], b = theta[1], c = theta[2], over = 1 / c, h = 1. / 128;
	double v = -1, r = 1, pv = 0, pr = 0;
#define F(dv, dr, x, y) do { dv = c * ((x) - (x) * (x) * (x) / 3 + (y)); dr = -((x) - a + b * (y)) * over; } while (0)
	for (int i = 0; i < STEPS; i++) {
		const double *e = noise + 2 * i;
		double kv, kr;
		F(kv, kr, v, r);
		if (rk) {
			double k2v, k2r, k3v, k3r, k4v, k4r;
			F(k2v, k2r, v + h / 2 * kv, r + h / 2 * kr);
			F(k3v, k3r, v + h / 2 * k2v, r + h / 2 * k2r);
			F(k4v, k4r, v + h * k3v, r + h * k3r);
			v += h / 6 * (kv + 2 * k2v + 2 * k3v + k4v) + 1e-4 * e[0];
			r += h / 6 * (kr + 2 * k2r + 2 * k3r + k4r) + 1e-4 * e[1];
		} else {
			v += h * (1.5 * kv - .5 * pv) + 1e-4 * e[0];
			r += h * (1.5 * kr - .5 * pr) + 1e-4 * e[1];
			pv = kv;
			pr = kr;
		}
		path[2 * i + 2] = v;
		path[2 * i + 3] = r;
	}
	sink += v;
}

/* Backward Euler for a dense Jacobian: Lorenz 96 with 40 components. */
enum { DENSE = 40, DENSESTEPS = 64 };

static int eliminate(double *m, double *b, int d) {
	for (int k = 0; k < d; k++) {
		int p = k;
		for (int i = k + 1; i < d; i++)
			if (fabs(m[i * d + k]) > fabs(m[p * d + k]))
				p = i;
		if (m[p * d + k] == 0)
			return 0;
		if (p != k) {
			for (int j = k; j < d; j++) {
				double t = m[k * d + j];
				m[k * d + j] = m[p * d + j];
				m[p * d + j] = t;
			}
			double t = b[k];
			b[k] = b[p];
			b[p] = t;
		}
		const double *top = m + k * d;
		double inv = 1 / top[k];
		for (int i = k + 1; i < d; i++) {
			double l = m[i * d + k] * inv;
			if (l == 0)
				continue;
			double *row = m + i * d;
			for (int j = k + 1; j < d; j++)
				row[j] -= l * top[j];
			b[i] -= l * b[k];
		}
	}
	for (int i = d - 1; i >= 0; i--) {
		double s = b[i];
		for (int j = i + 1; j < d; j++)
			s -= m[i * d + j] * b[j];
		b[i] = s / m[i * d + i];
	}
	return 1;
}

static void lorenz(void) {
	enum { n = DENSE };
	static double j[n * n], m[n * n];
	const double h = 1. / 128, scale = 1e-4;
	double x[n], w[n];
	for (int i = 0; i < n; i++)
		x[i] = 8 + .01 * (i == 0);
	for (int step = 0; step < DENSESTEPS; step++) {
		const double *e = noise + n * step;
		memset(j, 0, sizeof j);
		for (int i = 0; i < n; i++) {
			int next = (i + 1) % n, one = (i + n - 1) % n, two = (i + n - 2) % n;
			w[i] = h * ((x[next] - x[two]) * x[one] - x[i] + 8);
			j[i * n + i] = -1;
			j[i * n + next] = x[one];
			j[i * n + two] = -x[one];
			j[i * n + one] = x[next] - x[two];
		}
		for (int i = 0; i < n; i++) {
			double s = 0;
			for (int k = 0; k < n; k++)
				s += j[i * n + k] * e[k];
			w[i] += h * scale * s;
		}
		for (int i = 0; i < n * n; i++)
			m[i] = -h * j[i];
		for (int i = 0; i < n; i++)
			m[i * n + i] += 1;
		if (!eliminate(m, w, n))
			exit(1);
		for (int i = 0; i < n; i++)
			x[i] += w[i];
	}
	sink += x[0];
}

/* Backward Euler for a banded one: the Brusselator with 100 cells, two
   diagonals on either side. Row i holds the columns i-2 ... i+4. */
enum { CELLS = 100, BAND = 200, BANDSTEPS = 64 };

static int eliminate_band(double (*m)[7], double *b, int d) {
	for (int k = 0; k < d; k++) {
		int p = 0, last = d - 1 - k < 2 ? d - 1 - k : 2;
		for (int q = 1; q <= last; q++)
			if (fabs(m[k + q][2 - q]) > fabs(m[k + p][2 - p]))
				p = q;
		double *top = m[k] + 2;
		if (p) {
			double *row = m[k + p] + 2 - p;
			for (int j = 0; j < 5; j++) {
				double t = top[j];
				top[j] = row[j];
				row[j] = t;
			}
			double t = b[k];
			b[k] = b[k + p];
			b[k + p] = t;
		}
		if (top[0] == 0)
			return 0;
		top[0] = 1 / top[0];
		for (int q = 1; q <= last; q++) {
			double *row = m[k + q] + 2 - q, l = row[0] * top[0];
			for (int j = 1; j < 5; j++)
				row[j] -= l * top[j];
			b[k + q] -= l * b[k];
		}
	}
	for (int i = d - 1; i >= 0; i--) {
		double s = b[i];
		for (int j = 1; j < 5 && i + j < d; j++)
			s -= m[i][2 + j] * b[i + j];
		b[i] = s * m[i][2];
	}
	return 1;
}

static void brusselator(void) {
	static double x[BAND], w[BAND], j[BAND][5], m[BAND][7];
	const double k = .02 * (CELLS + 1) * (CELLS + 1), h = 1. / 1024, scale = 1e-6;
	for (int i = 0; i < CELLS; i++) {
		x[2 * i] = 1 + sin(2 * M_PI * (i + 1) / (CELLS + 1));
		x[2 * i + 1] = 3;
	}
	for (int step = 0; step < BANDSTEPS; step++) {
		const double *e = noise + BAND * step;
		for (int i = 0; i < CELLS; i++) {
			int first = i == 0, end = i == CELLS - 1;
			double u = x[2 * i], v = x[2 * i + 1], uuv = u * u * v;
			double ul = first ? 1 : x[2 * i - 2], vl = first ? 3 : x[2 * i - 1];
			double ur = end ? 1 : x[2 * i + 2], vr = end ? 3 : x[2 * i + 3];
			w[2 * i] = h * (1 + uuv - 4 * u + k * (ul - 2 * u + ur));
			w[2 * i + 1] = h * (3 * u - uuv + k * (vl - 2 * v + vr));
			double *a = j[2 * i], *b = j[2 * i + 1];
			a[0] = b[0] = first ? 0 : k;
			a[4] = b[4] = end ? 0 : k;
			a[1] = b[3] = 0;
			a[2] = 2 * u * v - 4 - 2 * k;
			a[3] = u * u;
			b[1] = 3 - 2 * u * v;
			b[2] = -u * u - 2 * k;
		}
		for (int i = 0; i < BAND; i++) {
			double s = 0;
			for (int q = 0; q < 5; q++) {
				int c = i + q - 2;
				if (c >= 0 && c < BAND)
					s += j[i][q] * e[c];
				m[i][q] = -h * j[i][q];
			}
			m[i][2] += 1;
			m[i][5] = m[i][6] = 0;
			w[i] += h * scale * s;
		}
		if (!eliminate_band(m, w, BAND))
			exit(1);
		for (int i = 0; i < BAND; i++)
			x[i] += w[i];
	}
	sink += x[0];
}

/* Normals as the library draws them: PCG-DXSM [O'Neill 2014] and the ziggurat of
   128 strips [Marsaglia & Tsang 2000]. */
typedef unsigned __int128 pcg;
static inline uint64_t word(pcg *s) {
	const unsigned __int128 a = (unsigned __int128)2549297995355413924u << 64 | 4865540595714422341u;
	const unsigned __int128 c = (unsigned __int128)6364136223846793005u << 64 | 1442695040888963407u;
	*s = *s * a + c;
	uint64_t hi = *s >> 64, lo = *s;
	hi ^= hi >> 32;
	hi *= 0xda942042e4dd58b5u;
	hi ^= hi >> 48;
	return hi * (lo | 1);
}
static inline double uniform(pcg *s) { return (word(s) << 11 >> 11) * 0x1p-53; }

#define EDGE 3.442619855899
static struct { double width, height; uint32_t inside; } strip[128];

static void ziggurat_tables(void) {
	const double area = 9.91256303526217e-3, unit = 2147483648.;
	double x = EDGE, base = area / exp(-.5 * x * x);
	strip[0].width = base / unit;
	strip[0].height = 1;
	strip[0].inside = x / base * unit;
	for (int i = 127; i > 0; i--) {
		strip[i].width = x / unit;
		strip[i].height = exp(-.5 * x * x);
		if (i > 1) {
			double below = sqrt(-2 * log(area / x + strip[i].height));
			strip[i].inside = below / x * unit;
			x = below;
		}
	}
}

static double reject(pcg *s, uint64_t u) {
	for (;;) {
		int32_t j = u;
		int i = u >> 32 & 127;
		double x = j * strip[i].width;
		if ((uint32_t)(j < 0 ? -(int64_t)j : j) < strip[i].inside)
			return x;
		if (i == 0) {
			double y;
			do {
				x = -log(uniform(s)) / EDGE;
				y = -log(uniform(s));
			} while (y + y < x * x);
			return j > 0 ? EDGE + x : -EDGE - x;
		}
		if (strip[i].height + uniform(s) * (strip[i - 1].height - strip[i].height) < exp(-.5 * x * x))
			return x;
		u = word(s);
	}
}

#ifdef __GNUC__
__attribute__((optimize("no-tree-slp-vectorize"))) /* no detour of s through vectors */
#endif
static void normals(int n) {
	static pcg last = 1;
	pcg s = last;
	for (int k = 0; k < n; k++) {
		uint64_t u = word(&s);
		int32_t j = u;
		int i = u >> 32 & 127;
		if ((uint32_t)(j < 0 ? -(int64_t)j : j) < strip[i].inside) {
			noise[k] = j * strip[i].width;
			continue;
		}
		pcg t = s; /* whose address is taken, so that s stays in registers */
		noise[k] = reject(&t, u);
		s = t;
	}
	last = s;
	sink += noise[0];
}

int main(int argc, char **argv) {
	if (argc != 3) {
		fprintf(stderr, "usage: limit NAME REPEATS\n");
		return 2;
	}
	const char *name = argv[1];
	int repeats = atoi(argv[2]);
	volatile double given[3] = {.2, .2, 3};
	double theta[3] = {given[0], given[1], given[2]};
	ziggurat_tables();
	normals(sizeof noise / sizeof *noise);
	double best = 1e300;
	for (int round = 0; round < 3; round++) {
		double from = seconds(), units = 0;
		for (int k = 0; k < repeats; k++) {
			if (!strcmp(name, "am0"))
				adams(0, theta), units += STEPS;
			else if (!strcmp(name, "am2"))
				adams(2, theta), units += STEPS;
			else if (!strcmp(name, "ab2"))
				explicit_step(0, theta), units += STEPS;
			else if (!strcmp(name, "rk4"))
				explicit_step(1, theta), units += STEPS;
			else if (!strcmp(name, "dense"))
				lorenz(), units += DENSESTEPS;
			else if (!strcmp(name, "banded"))
				brusselator(), units += BANDSTEPS;
			else if (!strcmp(name, "normal"))
				normals(2 * STEPS), units += 2 * STEPS;
			else
				return 2;
		}
		double ns = 1e9 * (seconds() - from) / units;
		best = ns < best ? ns : best;
	}
	printf("%.6g\n", best);
	return sink == 12345; /* keeps what was computed */
}
