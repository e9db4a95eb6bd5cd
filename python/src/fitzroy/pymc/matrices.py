"""Factors of matrices, what is solved with them, and diagonals."""

from __future__ import annotations

from typing import Any

from .axes import MULTIPLY, Axis, Expr, Unconvertible, unite
from .walk import Walk, core_of, op

__all__ = ["log_determinant_of", "square"]

#: Rows up to which a determinant is written out.
WRITTEN_OUT = 4


def square(walk: Walk, v: Any, where: str) -> Expr:
    """A square matrix, whose two axes become one dim and its twin."""
    e = walk.expr(v)
    if any(a is not None for a in e.axes[:-2]):
        raise Unconvertible(where, "of a batch of matrices")
    e = e.moved(e.axes[-2:])
    rows, columns = e.axes
    if rows is None or columns is None:
        raise Unconvertible(where, "of one row, or of rows that are repeated")
    unite(rows, columns, where)
    return walk.writer.named(e)


@op("Cholesky")
def cholesky(walk: Walk, v: Any) -> Expr:
    e = square(walk, v.owner.inputs[0], "Cholesky")
    if getattr(core_of(v.owner.op), "lower", True):
        return Expr(e.axes, lambda: f"cholesky({e.text()})")
    return Expr(e.axes, lambda: f"transpose(cholesky({e.text()}))")


def _solved(walk: Walk, v: Any, call: str, factor: Any, right: Any) -> Expr:
    """A call with `{}` for a square matrix, and what it is solved for: the axis along which it is,
    with all others as columns."""
    where = type(core_of(v.owner.op)).__name__
    matrix = square(walk, factor, where)
    e = walk.expr(right)
    own = getattr(core_of(v.owner.op), "b_ndim", None) or len(e.axes)
    k = len(e.axes) - own
    along = e.axes[k]
    if along is None:
        raise Unconvertible(where, "for rows that are repeated")
    unite(matrix.real[0], along, where)
    others = [a for i, a in enumerate(e.axes) if i != k]
    if k and any(a is not None and a.root is along.root for a in others):
        raise Unconvertible(where, "for a batch along the dim of the matrix")
    b = walk.writer.named(e.moved([along, *others]))
    out = Expr(b.axes, lambda: f"{call.format(matrix.text())}, {b.text()})")
    return out.moved(e.axes)


@op("SolveTriangular")
def solve_triangular(walk: Walk, v: Any) -> Expr:
    given = core_of(v.owner.op)
    if getattr(given, "unit_diagonal", False):
        raise Unconvertible("SolveTriangular", "with a diagonal of ones that is not there")
    lower = bool(given.lower)
    turned = getattr(given, "trans", 0) not in (0, "N")
    matrix = "transpose({})" if turned else "{}"
    name = "solve_lower" if lower != turned else "solve_upper"
    return _solved(walk, v, f"{name}({matrix}", *v.owner.inputs[:2])


@op("CholeskySolve", "CholSolve")
def cholesky_solve(walk: Walk, v: Any) -> Expr:
    matrix = "{}" if getattr(core_of(v.owner.op), "lower", True) else "transpose({})"
    return _solved(walk, v, f"cho_solve({matrix}", *v.owner.inputs[:2])


@op("Solve")
def solve(walk: Walk, v: Any) -> Expr:
    is_definite = getattr(core_of(v.owner.op), "assume_a", "gen") in ("pos", "positive definite")
    call = "cho_solve(cholesky({})" if is_definite else "linear_solve({}"
    return _solved(walk, v, call, *v.owner.inputs[:2])


@op("MatrixInverse")
def inverse(walk: Walk, v: Any) -> Expr:
    e = square(walk, v.owner.inputs[0], "MatrixInverse")
    return Expr(e.axes, lambda: f"inverse({e.text()})")


@op("SLogDet")
def log_determinant(walk: Walk, v: Any) -> Expr:
    if v is not v.owner.outputs[1]:
        raise Unconvertible("SLogDet", "the sign of a determinant")
    return log_determinant_of(walk, v.owner.inputs[0])


def log_determinant_of(walk: Walk, matrix: Any) -> Expr:
    """ln |det| of a square matrix."""
    e = square(walk, matrix, "a determinant")
    return Expr([], lambda: f"log_abs_det({e.text()})")


@op("Det")
def determinant(walk: Walk, v: Any) -> Expr:
    """A determinant with its sign, by minors."""
    matrix = v.owner.inputs[0]
    n = walk.constants.whole(matrix.shape[-1])
    if matrix.type.ndim != 2 or n > WRITTEN_OUT:
        why = f"the sign of a determinant of more than {WRITTEN_OUT} rows"
        raise Unconvertible("Det", f"{why}; pt.linalg.slogdet(A)[1] has none")
    return walk.expr(_by_minors(matrix, list(range(n)), 0))


def _by_minors(matrix: Any, columns: list[int], row: int) -> Any:
    """The determinant of these columns and of the rows from `row` on."""
    if len(columns) == 1:
        return matrix[row, columns[0]]
    total: Any = 0.0
    for k, column in enumerate(columns):
        rest = columns[:k] + columns[k + 1 :]
        term = matrix[row, column] * _by_minors(matrix, rest, row + 1)
        total = total - term if k % 2 else total + term
    return total


def _plain_diagonal(v: Any, n: int = 2) -> bool:
    """Whether a diagonal is that of the last two of `n` axes."""
    given = v.owner.op
    axes = (getattr(given, "axis1", 0) % n, getattr(given, "axis2", 1) % n)
    return axes == (n - 2, n - 1) and getattr(given, "offset", 0) == 0


@op("ExtractDiag")
def diagonal(walk: Walk, v: Any) -> Expr:
    before = v.type.ndim - 1
    if not _plain_diagonal(v, before + 2):
        raise Unconvertible("ExtractDiag", "beside the diagonal")
    e = square(walk, v.owner.inputs[0], "ExtractDiag")
    return Expr([*[None] * before, *e.axes[:1]], lambda: f"diagonal({e.text()})")


@op("AllocDiag")
def diagonal_matrix(walk: Walk, v: Any) -> Expr:
    e = walk.expr(v.owner.inputs[0])
    if not _plain_diagonal(v) or len(e.axes) != 1:
        raise Unconvertible("AllocDiag", "of more than one diagonal, or beside it")
    own = e.axes[0]
    if own is not None:
        return Expr([own, own], lambda: f"diag({e.text()})")
    dim = Axis(walk.constants.whole(v.shape[0]))

    def text() -> str:
        return f"{e.text(MULTIPLY + 1)} * identity({walk.writer.dim(dim)})"

    return Expr([dim, dim], text, MULTIPLY)
