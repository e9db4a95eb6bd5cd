"""The text of a model while it is made: names, declared data, statements."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _fitzroy
from .axes import ATOM, Axis, Expr, Unconvertible, counted

__all__ = ["Writer", "bare"]

#: Names that mean something else in the language or in a trace.
RESERVED = frozenset(
    "data dim let predict target and or not in pi e inf chain draw sample ordered truncated "
    "bounded centred noncentred auto from int".split()
)
Array = np.ndarray[Any, Any]


class _Declared:
    def __init__(self, name: str, axes: list[Axis], of: Axis | None) -> None:
        self.name, self.axes, self.of = name, axes, of


class Column(NamedTuple):
    """Positions by their name, and the axes of what they give."""

    name: str
    rows: Sequence[Axis]


class Writer:
    """Statements are functions, called when every axis has found its name."""

    def __init__(self) -> None:
        self.statements: list[Callable[[], str]] = []
        self.data: dict[str, Array] = {}
        #: Names in the text, and what they are called outside.
        self.names: dict[str, str] = {}
        self._declared: list[_Declared] = []
        self._by_content: dict[tuple[str, tuple[int, ...]], list[_Declared]] = {}
        self._axes: list[Axis] = []

    # Names

    def fresh(self, want: str) -> str:
        """A name of the language that nothing else has."""
        name = re.sub(r"\W", "_", want).lstrip("_") or "x"
        if name[0].isdigit() or name in RESERVED:
            name = f"v_{name}"
        base, k = name, 2
        while name in self.names:
            name, k = f"{base}_{k}", k + 1
        self.names[name] = want
        return name

    def variable(self, name: str) -> str:
        """A variable of the model as the text calls it: between backquotes if that is no plain name."""
        is_plain = name.isidentifier() and name not in RESERVED
        if is_plain or name in self.names or not _can_be_quoted(name):
            return self.fresh(name)
        self.names[name] = name
        return f"`{name}`"

    def dim(self, axis: Axis) -> str:
        """The name of the dim that an axis is."""
        root = axis.root
        if root.shown is None:
            root.shown = self.fresh(root.name or f"d{root.size}")
            self._axes.append(root)
        return root.shown

    def label(self, axis: tuple[Axis, int]) -> str:
        """What an axis of `counted` is called in an index."""
        if axis[1] > 1:
            raise Unconvertible("axes", "one dim three times in an array")
        return self.dim(axis[0]) + "'" * axis[1]

    def placed(self, e: Expr, axes: Sequence[Axis | None]) -> Expr:
        """`e`, whose axes stand at the same positions as those of an array over `axes`, and are
        called as they are there: the second of a square matrix has a prime."""

        def text() -> str:
            own, there = counted(e.axes), iter(counted(axes))
            want = [next(there) if a is not None else None for a in axes]
            want = [w for w, a in zip(want, e.axes) if a is not None]
            if own == want:
                return e.text()
            if not e.named and len(own) > 1:
                raise Unconvertible("axes", "an expression along the second axis of a matrix")
            return f"{e.text(ATOM)}[{', '.join(self.label(w) for w in want if w is not None)}]"

        return Expr(e.axes, text, e.binds, e.number)

    def dims(self, axes: Sequence[Axis | None], twice: bool = False) -> str:
        """`[a, b]`, or nothing for a number."""
        real = [a.root for a in axes if a is not None]
        if len(set(map(id, real))) < len(real) and not twice:
            raise Unconvertible("axes", "one dim twice in an array")
        return f"[{', '.join(self.dim(a) for a in real)}]" if real else ""

    # Data

    def datum(self, values: Array, axes: Sequence[Axis], name: str) -> str:
        """The name of an array over these axes; the same one again where it is there already."""
        values = np.ascontiguousarray(values, dtype=float)
        same = self._same(values)
        for known in same:
            if known.of is None and _equal(known.axes, axes):
                return known.name
        made = _Declared(self.fresh(name), list(axes), None)
        return self._declare(made, values, same)

    def index(self, positions: Array, rows: Sequence[Axis], of: Axis, name: str) -> Column:
        """Positions in `of` for each row. The same ones again are the same rows."""
        positions = np.ascontiguousarray(positions, dtype=float)
        same = self._same(positions)
        for known in same:
            if known.of is not None and known.of.root is of.root:
                for a, b in zip(known.axes, rows):
                    if a.root is not b.root:
                        a.root.join(b) if a.root.name or not b.root.name else b.root.join(a)
                return Column(known.name, rows)
        made = _Declared(self.fresh(name), list(rows), of)
        return Column(self._declare(made, positions, same), rows)

    def picked(
        self, e: Expr, shown: Sequence[str | Column], axes: Sequence[Axis | None]
    ) -> str:
        """Elements of a named array as an array over `axes`, by what stands between the brackets for
        each of its own axes.

        Columns of positions are declared to point into the first of two equal axes, and to lie over
        the first of two equal axes; along a second one they are numbers, with its name.
        """
        there = {id(a): one for a, one in zip([a for a in axes if a is not None], counted(axes))}
        parts = []
        for part, (_, twin) in zip(shown, counted(e.axes)):
            if isinstance(part, Column):
                own = counted(part.rows)
                want = [there.get(id(a), one) for a, one in zip(part.rows, own)]
                named = f"[{', '.join(self.label(one) for one in want)}]" if own != want else ""
                part = f"{part.name}{named}{' + 0' if twin or named else ''}"
            parts.append(part)
        return f"{e.text()}[{', '.join(parts)}]"

    def observed(self, name: str, values: Array, axes: Sequence[Axis]) -> None:
        """Declares what is observed."""
        self._declared.append(_Declared(name, list(axes), None))
        self.data[bare(name)] = np.asarray(values, dtype=float)

    def _same(self, values: Array) -> list[_Declared]:
        digest = hashlib.sha1(values.tobytes()).hexdigest()
        return self._by_content.setdefault((digest, values.shape), [])

    def _declare(self, made: _Declared, values: Array, same: list[_Declared]) -> str:
        same.append(made)
        self._declared.append(made)
        self.data[made.name] = values
        return made.name

    # Statements

    def say(self, statement: Callable[[], str]) -> None:
        self.statements.append(statement)

    def let(self, e: Expr, name: str = "t", axes: Sequence[Axis | None] | None = None) -> Expr:
        """Names an expression, whose dims then stand in the order of its axes; repeats it along
        `axes` where that has more."""
        shown = self.fresh(name)
        axes = list(e.axes if axes is None else axes)

        def text() -> str:
            # Along which of two equal axes something is repeated, a dim does not say.
            same = len(counted(axes)) == len(e.real)
            return f"let {shown}{self.dims(axes, twice=same)} = {e.text()}"

        self.say(text)
        return Expr(axes, shown, named=True, number=e.number)

    def named(self, e: Expr) -> Expr:
        """A name for the expression, for positions between brackets."""
        return e if e.named else self.let(e)

    def mark(self) -> Any:
        """Where the text is now, to come back to."""
        contents = {k: list(v) for k, v in self._by_content.items()}
        return (
            len(self.statements),
            dict(self.names),
            list(self._declared),
            dict(self.data),
            contents,
        )

    def back(self, mark: Any) -> None:
        """Takes back what was said since `mark`."""
        del self.statements[mark[0] :]
        _, self.names, self._declared, self.data, self._by_content = mark

    def text(self) -> str:
        """The model."""
        body = [statement() for statement in self.statements]
        head, given = [], set()
        for one in self._declared:
            line = f"data {one.name}{self.dims(one.axes, twice=True)}"
            given |= {a.root for a in one.axes}
            if one.of is not None:
                line += f" in {self.dim(one.of)}"
            head.append(line)
        for axis in self._axes:
            if axis not in given and axis.root is axis:
                head.append(f"dim {axis.shown} = {axis.size}")
        return "\n".join([*head, *body]) + "\n"

    def shown_dims(self) -> dict[str, Axis]:
        """Dims of the text by name."""
        return {a.shown: a for a in self._axes if a.shown is not None and a.root is a}


def bare(shown: str) -> str:
    """The name of a variable without the backquotes that it may have in the text."""
    return shown.strip("`")


def _can_be_quoted(name: str) -> bool:
    """Whether the language takes the name between backquotes."""
    try:
        _fitzroy.canonical(f"`{name}` ~ Normal(0, 1)")
    except ValueError:
        return False
    return True


def _equal(a: Sequence[Axis], b: Sequence[Axis]) -> bool:
    return len(a) == len(b) and all(x.root is y.root for x, y in zip(a, b))
