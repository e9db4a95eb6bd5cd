"""Writes tables/*.txt: arguments and correctly rounded results of every vector function.

Run `python generate.py [name ...]` in this folder (needs mpmath, takes some minutes). A line holds
the arguments and results as hexadecimal bits of f64; after each result stands what the rounding
lost, in 1/254 of a unit in the last place.
"""

import math
import os
import random
import struct
import sys
import zlib

from mpmath import besseli, cos, cosh, erf, erfc, exp, expm1, isinf, isnan, log, log1p
from mpmath import acos, asin, atan, loggamma, mp, mpf, pi, psi, sin, sinh, sqrt, tan, tanh

mp.dps = 50
INF, NAN = float("inf"), float("nan")
TINY, SMALL, BIG = 5e-324, 2.0**-1022, sys.float_info.max


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def step(x, n):
    """n numbers further from 0."""
    return struct.unpack("<d", struct.pack("<Q", bits(x) + n))[0]


def rounded(v):
    """(nearest f64, what was lost in its last places) of a float or mpf."""
    if isinstance(v, float):
        return v, 0
    if isnan(v):
        return NAN, 0
    if isinf(v):
        return float(v), 0
    sign, man, exponent, count = v._mpf_
    if man == 0:
        return 0.0, 0
    last = max(exponent + count - 53, -1074)
    shift = exponent - last
    if shift >= 0:
        n, lost = man << shift, mpf(0)
    elif -shift > count + 60:
        n, lost = 0, mpf(0)
    else:
        n, rest = man >> -shift, man & ((1 << -shift) - 1)
        half = 1 << (-shift - 1)
        up = rest > half or (rest == half and n & 1)
        lost = mpf(rest) / (1 << -shift) - (1 if up else 0)
        n += 1 if up else 0
    y = math.ldexp(n, last) if n.bit_length() + last <= 1024 else INF
    lost = 0 if y == INF else int(mp.nint(lost * 254))
    return (-y, -lost) if sign else (y, lost)


def scaled_erfc(x):
    """e^(x²) erfc(x)."""
    if x < 60:
        return exp(x * x) * erfc(x)
    total = term = mpf(1)
    for k in range(1, 60):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
        if abs(term) < mpf(10) ** -52:
            break
    return total / (x * sqrt(pi))


def log_ndtr(x):
    if x < 0:
        z = -x / sqrt(mpf(2))
        return log(scaled_erfc(z) / 2) - z * z
    return log1p(-erfc(x / sqrt(mpf(2))) / 2) if x < 1e4 else mpf(0)


def log_ndtr_slope(x):
    if x < 0:
        return sqrt(2 / pi) / scaled_erfc(-x / sqrt(mpf(2)))
    if x > 1e4:
        return mpf(0)
    return exp(-x * x / 2) / sqrt(2 * pi) / (1 - erfc(x / sqrt(mpf(2))) / 2)


def inv_logit(x):
    if abs(x) > 1e4:
        return mpf(1) if x > 0 else mpf(0)
    return 1 / (1 + exp(-x))


def softplus(x):
    if abs(x) > 1e4:
        return x if x > 0 else mpf(0)
    return log1p(exp(x))


def bessel_tail(x, order):
    """I(x) e⁻ˣ √(2πx), for large x."""
    total = term = mpf(1)
    for k in range(1, 300):
        term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
        if abs(term) < mpf(10) ** -52:
            break
    return total


def log_i0(x):
    x = abs(x)
    if x > 400:
        return x - log(2 * pi * x) / 2 + log(bessel_tail(x, 0))
    if x < 1e-20:
        return x * x / 4
    with mp.workdps(120):  # I₀(x) − 1 may be as small as 1e-40
        return log(besseli(0, x))


def i1_over_i0(x):
    if abs(x) > 400:
        return bessel_tail(abs(x), 1) / bessel_tail(abs(x), 0) * mp.sign(x)
    if abs(x) < 1e-20:
        return x / 2
    return besseli(1, x) / besseli(0, x)


def log_add_exp(a, b):
    return max(a, b) + softplus(-abs(a - b))


def away_from_poles(f, at_pole):
    def g(x):
        return at_pole if x <= 0 and x == mp.floor(x) else f(x)

    return g


def within(low, high, f):
    """NaN outside [low, high]."""
    return lambda x: f(x) if low <= x <= high else NAN


def overflowing(f, high):
    """∞ above `high`, so that mpmath need not form it; 0 below −800."""
    return lambda x: mpf(INF) if x > high else f(x)


def log_or_edge(f, zero):
    return lambda x: f(x) if x > zero else (-INF if x == zero else NAN)


# name: (functions, limits by special argument, ranges to fill, branch points, binades as exponents)
FUNCTIONS = {
    "exp": ([lambda x: mpf(0) if x < -800 else overflowing(exp, 800)(x)], {INF: [INF], -INF: [0.0]},
            [(-1, 1), (-40, 40), (-746, 710)],
            [math.log(2) / 2, 709.782712893384, -745.1332191019411, -708.3964185322641, -745.13]),
    "expm1": ([lambda x: overflowing(expm1, 800)(x)], {INF: [INF], -INF: [-1.0]},
              [(-1, 1), (-40, 40), (0, 710)], [math.log(2) / 2, 1e-17, -40.0, 709.782712893384]),
    "log": ([log_or_edge(log, 0)], {INF: [INF], -INF: [NAN]}, [(0.5, 2), (0, 10), (0.99, 1.01)],
            [0.75, 1.5, 1.0, 3.0, math.e]),
    "log1p": ([log_or_edge(log1p, -1)], {INF: [INF], -INF: [NAN]},
              [(-0.5, 1), (-1, 10), (-0.01, 0.01)], [-0.25, 0.5, 1e-17, -1.0, -0.625]),
    "sqrt": ([lambda x: sqrt(x) if x >= 0 else NAN], {INF: [INF], -INF: [NAN]}, [(0, 4)], []),
    "sin": ([sin], {INF: [NAN], -INF: [NAN]}, [(-1, 1), (-10, 10), (-(2.0**20), 2.0**20)], []),
    "cos": ([cos], {INF: [NAN], -INF: [NAN]}, [(-1, 1), (-10, 10), (-(2.0**20), 2.0**20)], []),
    "tan": ([tan], {INF: [NAN], -INF: [NAN]}, [(-1, 1), (-10, 10), (-(2.0**20), 2.0**20)], []),
    "asin": ([within(-1, 1, asin)], {INF: [NAN], -INF: [NAN]}, [(-1, 1), (0.9, 1)], [0.5, 1.0]),
    "acos": ([within(-1, 1, acos)], {INF: [NAN], -INF: [NAN]}, [(-1, 1), (0.9, 1)], [0.5, 1.0]),
    "atan": ([atan], {INF: [math.pi / 2], -INF: [-math.pi / 2]}, [(-1, 1), (-10, 10)],
             [math.sqrt(2) - 1, math.sqrt(2) + 1, 1.0]),
    "sinh": ([lambda x: overflowing(sinh, 800)(x) if x > -800 else -INF],
             {INF: [INF], -INF: [-INF]}, [(-1, 1), (-50, 50), (-711, 711)],
             [40.0, 710.4758600739439, 1e-17]),
    "cosh": ([lambda x: mpf(INF) if abs(x) > 800 else cosh(x)], {INF: [INF], -INF: [INF]},
             [(-1, 1), (-50, 50), (-711, 711)], [40.0, 710.4758600739439]),
    "tanh": ([tanh], {INF: [1.0], -INF: [-1.0]}, [(-1, 1), (-20, 20)], [1e-17, 0.17, 19.0]),
    "erf": ([lambda x: erf(x) if abs(x) < 1e3 else mp.sign(x)], {INF: [1.0], -INF: [-1.0]},
            [(-1, 1), (-6, 6)], [1.0, 6.0]),
    "erfc": ([lambda x: erfc(x) if abs(x) < 1e3 else 1 - mp.sign(x)], {INF: [0.0], -INF: [2.0]},
             [(-1, 1), (-6, 28), (24, 28)], [1.0, 26.5, 27.22, 28.0]),
    "erfcx": ([lambda x: mpf(INF) if x < -40 else scaled_erfc(x)], {INF: [0.0], -INF: [INF]},
              [(-1, 1), (-27, 10), (0, 100)], [2.0**40, 60.0, -26.6287, 28.0]),
    "log_ndtr": ([log_ndtr, log_ndtr_slope], {INF: [0.0, 0.0], -INF: [-INF, INF]},
                 [(-1, 1), (-40, 10), (-8, 8), (30, 39), (-1e3, -20)],
                 [1.0, 3.0, 7.0, 15.0, 37.5, 38.4, 40.0, -1.0, -3.0, -40.0, -(2.0**40)]),
    "inv_logit": ([inv_logit], {INF: [1.0], -INF: [0.0]}, [(-1, 1), (-40, 40), (-746, -700)],
                  [-745.13, -708.4, 37.0]),
    "softplus": ([softplus, inv_logit], {INF: [INF, 1.0], -INF: [0.0, 0.0]},
                 [(-1, 1), (-40, 40), (-746, -700)], [-745.13, -708.4, 37.0]),
    "lgamma": ([away_from_poles(lambda x: loggamma(x).real, INF)], {INF: [INF], -INF: [INF]},
               [(0, 3), (0.9, 1.1), (1.9, 2.1), (0, 12), (7, 200), (-12, 0)],
               [1.0, 2.0, 3.0, 4.0, 8.0, 1.4616321449683623, 2.5e305, -2.457024738220801]),
    "digamma": ([away_from_poles(lambda x: psi(0, x), NAN)], {INF: [INF], -INF: [NAN]},
                [(0, 3), (1.4, 1.5), (0, 12), (7, 200), (-12, 0)],
                [1.0, 2.0, 3.0, 8.0, 1.4616321449683623, -0.5040830082644554]),
    "trigamma": ([away_from_poles(lambda x: psi(1, x), NAN)], {INF: [0.0], -INF: [NAN]},
                 [(0, 3), (0, 12), (7, 200), (-12, 0)], [1.0, 8.0]),
    "log_i0": ([log_i0], {INF: [INF], -INF: [INF]}, [(-1, 1), (-10, 10), (7, 200)],
               [8.0, 2.0**60]),
    "i1_over_i0": ([i1_over_i0], {INF: [1.0], -INF: [-1.0]}, [(-1, 1), (-10, 10), (7, 200)],
                   [8.0, 2.0**60]),
}
RANDOM_POINTS = {"log_ndtr": 900, "exp": 700, "log": 700, "lgamma": 900, "digamma": 900}


def near_multiples_of_half_pi(rng):
    """Numbers next to kπ/2, where the result is near 0 or a pole: up to 2²⁰, and to 2⁵⁰."""
    points = []
    for top in (8, 1000, 2**19, 2**49):
        for _ in range(25):
            points.append(float(rng.randrange(1, top) * pi / 2) * rng.choice((-1, 1)))
    return points + [2.0**50, -(2.0**50), 2.0**50 * (1 - 2.0**-53)]


def arguments(name, ranges, branches):
    rng = random.Random(zlib.crc32(name.encode()))
    points = [0.0, 1.0, TINY, SMALL, step(SMALL, -1), BIG]
    points += [-x for x in points]
    for x in branches:
        points += [x, step(x, 1), step(x, -1), -x]
    trigonometric = name in ("sin", "cos", "tan")
    if trigonometric:
        points += near_multiples_of_half_pi(rng)
    for exponent in list(range(-1074, 1024, 24)) + list(range(-60, 40, 2)):
        x = math.ldexp(1 + rng.random(), exponent)
        points += [x, -x]
    n = RANDOM_POINTS.get(name, 450) // len(ranges)
    for low, high in ranges:
        points += [rng.uniform(low, high) for _ in range(n)]
    if trigonometric:
        points = [x for x in points if abs(x) <= 2.0**50]
    if name in ("lgamma", "digamma", "trigamma"):
        points = [x for x in points if x > -1e6]
    return points


def line(inputs, outputs):
    words = [f"{bits(x):x}" for x in inputs]
    for y in outputs:
        value, lost = rounded(y)
        words += [f"{bits(value):x}", str(lost)]
    return " ".join(words) + "\n"


def keep_sign_of_zero(name, x, y):
    """Odd functions, and those that end in x near 0, keep −0."""
    odd = ("expm1", "log1p", "sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "erf")
    if x == 0 and name in odd + ("i1_over_i0",):
        return x
    # What underflows to −0 elsewhere may as well be 0.
    return mpf(0) if name == "log_ndtr" and abs(y) < mpf(2) ** -1075 else y


def unary(name):
    functions, limits, ranges, branches = FUNCTIONS[name]
    lines = []
    for x, ys in {**limits, NAN: [NAN] * len(functions)}.items():
        lines.append(line([x], ys))
    for x in arguments(name, ranges, branches):
        ys = [keep_sign_of_zero(name, x, f(mpf(x))) for f in functions]
        lines.append(line([x], ys))
    return lines


def pow_points(rng):
    points = []
    for _ in range(500):
        x = math.ldexp(1 + rng.random(), rng.randrange(-30, 30))
        points.append((x, rng.uniform(-10, 10)))
    for _ in range(400):  # the result anywhere between under- and overflow
        x = math.ldexp(1 + rng.random(), rng.randrange(-1074, 1023))
        size = abs(math.log2(x)) + 1e-9
        points.append((x, rng.uniform(-1080, 1030) / size))
    for _ in range(200):
        points.append((1 + rng.uniform(-1e-6, 1e-6), rng.uniform(-1e9, 1e9)))
    for _ in range(100):
        points.append((rng.uniform(-20, 20), float(rng.randrange(-30, 30))))
    return points


def pow_exact(x, y):
    if math.isinf(x) or math.isinf(y) or math.isnan(x) or math.isnan(y) or x == 0 or y == 0:
        try:
            return math.pow(x, y)
        except ValueError:  # 0 to a negative power
            odd = y == math.floor(y) and math.fmod(y, 2) != 0
            return math.copysign(INF, x) if odd else INF
    if x < 0 and y != math.floor(y):
        return NAN
    sign = -1 if x < 0 and math.fmod(y, 2) != 0 else 1
    size = mpf(y) * log(abs(mpf(x)))
    if abs(size) > 800:
        return math.copysign(INF if size > 0 else 0.0, sign)
    return sign * exp(size)


def binary(name):
    rng = random.Random(zlib.crc32(name.encode()))
    specials = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, INF, -INF, NAN, TINY, BIG, -BIG]
    specials += [2.0**53 + 2, 2.0**53 - 1, -(2.0**53 - 1)]
    pairs = [(x, y) for x in specials for y in specials]
    lines = []
    if name == "pow":
        for x, y in pairs + pow_points(rng):
            lines.append(line([x, y], [pow_exact(x, y)]))
        return lines
    pairs += [(rng.uniform(-40, 40), rng.uniform(-40, 40)) for _ in range(300)]
    pairs += [(x, x + rng.uniform(-2, 2)) for x in [rng.uniform(-800, 800) for _ in range(300)]]
    pairs += [(x, x - rng.uniform(-750, 750)) for x in [rng.uniform(-1, 1) for _ in range(200)]]
    for a, b in pairs:
        if math.isnan(a) or math.isnan(b):
            ys = [NAN, NAN]
        elif a == b:
            ys = [a + log(mpf(2)) if math.isfinite(a) else a, 0.5]
        elif math.isinf(a) or math.isinf(b):
            ys = [max(a, b) + 0.0, 1.0 if a > b else 0.0]
        else:
            # The weight is that of the difference as f64 rounds it.
            ys = [log_add_exp(mpf(a), mpf(b)), inv_logit(mpf(a - b))]
        lines.append(line([a, b], ys))
    return lines


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(here, "tables")
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[1:] or [*FUNCTIONS, "pow", "log_add_exp"]:
        lines = binary(name) if name in ("pow", "log_add_exp") else unary(name)
        with open(os.path.join(folder, name + ".txt"), "w") as out:
            out.writelines(dict.fromkeys(lines))
        print(name, len(lines), file=sys.stderr)
