"""Minimax polynomials and rational functions in many digits."""

from mpmath import mp, mpf, matrix, lu_solve, cos, pi, fabs, sign

mp.dps = 50
GRID = 1200


def chebyshev_points(low, high, n):
    """n points of [low, high], denser at the ends, ends included."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * cos(pi * i / (n - 1)) for i in range(n)]


def horner(coefficients, x):
    """Polynomial with the constant term first."""
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def alternating_extremes(grid, errors, n):
    """Picks n points where the error alternates in sign and is large."""
    picks = []
    for i, e in enumerate(errors):
        if picks and sign(e) == sign(errors[picks[-1]]):
            if fabs(e) > fabs(errors[picks[-1]]):
                picks[-1] = i
        elif e != 0:
            picks.append(i)
    while len(picks) > n:
        if fabs(errors[picks[0]]) < fabs(errors[picks[-1]]):
            picks.pop(0)
        else:
            picks.pop()
    return [grid[i] for i in picks]


def polynomial(f, low, high, degree, weight=lambda x: mpf(1)):
    """Minimises max |weight (P - f)|; returns coefficients and that maximum."""
    low, high = mpf(low), mpf(high)
    grid = chebyshev_points(low, high, GRID)
    grid = [x for x in grid if weight(x) != 0]
    fs = [f(x) for x in grid]
    ws = [weight(x) for x in grid]
    table = {x: (y, w) for x, y, w in zip(grid, fs, ws)}
    n = degree + 2
    nodes = [grid[(len(grid) - 1) * i // (n - 1)] for i in range(n)]
    best = None
    for _ in range(12):
        a, b = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(nodes):
            y, w = table[x]
            for j in range(n - 1):
                a[i, j] = x**j
            a[i, n - 1] = (-1) ** i / w
            b[i] = y
        solution = lu_solve(a, b)
        p = [solution[j] for j in range(n - 1)]
        errors = [w * (horner(p, x) - y) for x, y, w in zip(grid, fs, ws)]
        worst = max(fabs(e) for e in errors)
        if best is None or worst < best[1]:
            best = (p, worst)
        if worst < fabs(solution[n - 1]) * mpf("1.02"):
            break
        picks = alternating_extremes(grid, errors, n)
        if len(picks) < n:
            break
        nodes = picks
    return best


def rational(f, low, high, n_degree, d_degree, weight, to_x):
    """Minimises max |weight (N/D - f)| with D's leading coefficient 1.

    The grid lies in t in [low, high]; x = to_x(t) is what N and D are polynomials in.
    """
    ts = chebyshev_points(mpf(low), mpf(high), GRID)
    grid = [to_x(t) for t in ts]
    fs = [f(x) for x in grid]
    ws = [weight(x) for x in grid]
    table = {x: (y, w) for x, y, w in zip(grid, fs, ws)}
    n = n_degree + d_degree + 2
    nodes = [grid[(len(grid) - 1) * i // (n - 1)] for i in range(n)]
    best, level = None, mpf(0)
    for _ in range(30):
        for _ in range(6):  # the levelled error is nonlinear: iterate
            a, b = matrix(n, n), matrix(n, 1)
            for i, x in enumerate(nodes):
                y, w = table[x]
                # N(x) - y D(x) - (-1)^i e D(x)/w = 0, linearised in e around `level`.
                scale = 1 / (1 + x) ** d_degree
                s = (-1) ** i / w
                for j in range(n_degree + 1):
                    a[i, j] = scale * x**j
                for j in range(d_degree):
                    a[i, n_degree + 1 + j] = -(y + s * level) * scale * x**j
                d_old = horner(best[1], x) if best else (1 + x) ** d_degree
                a[i, n - 1] = -s * d_old * scale
                b[i] = (y + s * level) * scale * x**d_degree - level * s * d_old * scale
            solution = lu_solve(a, b)
            num = [solution[j] for j in range(n_degree + 1)]
            den = [solution[n_degree + 1 + j] for j in range(d_degree)] + [mpf(1)]
            new_level = solution[n - 1]
            done = fabs(new_level - level) <= fabs(new_level) / 1000
            level = new_level
            best = (num, den)
            if done:
                break
        errors = [
            w * (horner(num, x) / horner(den, x) - y) for x, y, w in zip(grid, fs, ws)
        ]
        worst = max(fabs(e) for e in errors)
        if worst < fabs(level) * mpf("1.05"):
            return num, den, worst
        picks = alternating_extremes(grid, errors, n)
        if len(picks) < n:
            raise ValueError(f"lost alternation: {len(picks)} of {n}, worst {worst}")
        nodes = picks
    return num, den, worst
