"""Makes coastline.bin of the land of Natural Earth.

    npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
    python coastline.py package/land-50m.json coastline.bin

The land is cut into lines, without the edges that close it at the date line and the pole, thinned so that no
point is further than 0.04 degrees from the line, and rounded to 0.01 degrees. The file is one line after the
other: the number of its points, then longitude and latitude of the first in hundredths of a degree, then the
steps to the next, all as LEB128 numbers, signed ones by zigzag.
"""

import json
import sys

EVERY, FAR = 0.01, 0.04


def lines(topology):
    """Points of each arc, in degrees."""
    (kx, ky), (x0, y0) = topology["transform"]["scale"], topology["transform"]["translate"]
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            points.append((x0 + kx * x, y0 + ky * y))
        yield from broken(points)


def broken(points):
    """Without edges along the date line or the pole, which are no coast."""
    line = [points[0]]
    for a, b in zip(points, points[1:]):
        edge = abs(a[0]) > 179.98 and abs(b[0]) > 179.98 or a[1] < -89.9 or b[1] < -89.9
        if edge:
            yield line
            line = [b]
        else:
            line.append(b)
    yield line


def thinned(points):
    """Douglas and Peucker: the ends, and what is too far from the straight line between them."""
    if len(points) < 3:
        return points
    (ax, ay), (bx, by) = points[0], points[-1]
    length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5

    def off(p):
        if length == 0:
            return ((p[0] - ax) ** 2 + (p[1] - ay) ** 2) ** 0.5
        return abs((bx - ax) * (ay - p[1]) - (ax - p[0]) * (by - ay)) / length

    k = max(range(1, len(points) - 1), key=lambda k: off(points[k]))
    if off(points[k]) <= FAR:
        return [points[0], points[-1]]
    return thinned(points[: k + 1])[:-1] + thinned(points[k:])


def number(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def signed(n):
    return number(2 * n if n >= 0 else -2 * n - 1)


def main():
    sys.setrecursionlimit(100_000)
    out, n_lines, n_points = bytearray(), 0, 0
    for line in lines(json.load(open(sys.argv[1]))):
        rounded = [(round(x / EVERY), round(y / EVERY)) for x, y in thinned(line)]
        kept = [p for k, p in enumerate(rounded) if k == 0 or p != rounded[k - 1]]
        if len(kept) < 2:
            continue
        n_lines, n_points = n_lines + 1, n_points + len(kept)
        out += number(len(kept))
        x = y = 0
        for a, b in kept:
            out += signed(a - x) + signed(b - y)
            x, y = a, b
    open(sys.argv[2], "wb").write(out)
    print(n_lines, "lines,", n_points, "points,", len(out), "bytes")


main()
