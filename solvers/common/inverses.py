"""Inverses of the blocks of an interior-point method, by what the rows look like.

A block is diag(d) + G' diag(w) G with the rows G of a release (Woodbury, "Inverting modified matrices"):

- rows of few secrets: a diagonal less a product of thin factors, O(n_w n_s (n_w + n_s)) operations with all sums;
- one observation for each secret: a diagonal and two vectors, O(n_w^2);
- otherwise the whole matrix, O(n_w^3), in single or in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats

REGULAR = (1e-14, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11)
"""Added to a unit diagonal until Cholesky's factors exist: steps are then a little shorter, and no less feasible."""

THIN = 0.5
"""Factors of at most this many rows, relative to the observations, are thin."""

MOST_NUMBERS = 7e7
"""Numbers in all inverses: half a gigabyte."""

OFTEN = 16
"""Blocks between two looks at the clock."""

Reals: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The rows that each release keeps.

    Parameters
    ----------
    conditional : array (n_s, n_w)
        A, so that A K(., y) is what the rows bound.
    output : array (n_w,), optional
        The distribution of the observations, where the level of a release is its probability; None where it is a variable.
    upper, lower : float, optional
        The factors of the level; None where that side is free.
    """

    conditional: Floats
    output: Floats | None
    upper: float | None
    lower: float | None

    @property
    def own(self) -> int:
        """How many variables a release has besides its column."""
        return int(self.output is None)

    @cached_property
    def sides(self) -> tuple[tuple[float, float], ...]:
        """(sign, factor) of each bounded side: sign (A K - factor level) >= 0."""
        above = () if self.upper is None else ((-1.0, self.upper),)
        return above if self.lower is None else (*above, (1.0, self.lower))

    @cached_property
    def factors(self) -> Floats:
        """The factor of each side."""
        return np.array([factor for _, factor in self.sides])

    def level(self, x: Floats) -> Floats:
        """The level of each release, shape (n_y,)."""
        return np.asarray(x[:, -1] if self.output is None else x @ self.output)

    def slack(self, x: Floats) -> Floats:
        """By how much the rows are kept, shape (n_y, sides, n_s)."""
        kept, level = self._seen(x[:, : self.conditional.shape[1]]), self.level(x)[:, None]
        out = np.empty((len(x), len(self.sides), len(self.conditional)))
        for k, (sign, factor) in enumerate(self.sides):
            np.subtract(sign * kept, sign * factor * level, out=out[:, k])
        return out

    def prices(self, u: Floats) -> Floats:
        """What multipliers of the rows, shape (n_y, sides, n_s), pay each variable, shape of x."""
        shares = self._shared(sum((sign * u[:, k] for k, (sign, _) in enumerate(self.sides)), np.zeros(1)))
        of_level = -(u.sum(axis=2) @ np.array([sign * factor for sign, factor in self.sides]))
        if self.output is None:
            return np.column_stack([shares, of_level])
        return np.asarray(shares + of_level[:, None] * self.output)

    @cached_property
    def _owned(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats] | None:
        """Where each secret has one observation: which, whose each is, and its probability under its secret."""
        seen = owners(self.conditional)
        if seen is None:
            return None
        return seen, np.argsort(seen), self.conditional[np.arange(len(seen)), seen]

    def _seen(self, x: Floats) -> Floats:
        """A x of each release."""
        if self._owned is None:
            return np.asarray(x @ self.conditional.T)
        seen, _, a = self._owned
        return np.asarray(x[:, seen] * a)

    def _shared(self, values: Floats) -> Floats:
        """A' values of each release."""
        if self._owned is None:
            return np.asarray(values @ self.conditional)
        _, whose, a = self._owned
        return np.asarray((values * a)[:, whose])

    @cached_property
    def singly(self) -> NDArray[np.float32]:
        """A in single precision."""
        return self.conditional.astype(np.float32)

    def hessian(self, weights: Floats, *, single: bool) -> Reals:
        """G' diag(weights) G of one release, weights of shape (sides, n_s), in single or in double precision."""
        a: Reals = self.singly if single else self.conditional
        scaled = a * np.sqrt(weights.sum(axis=0)).astype(a.dtype)[:, None]
        square = np.asarray(scaled.T @ scaled)
        cross = -((self.factors @ weights) @ self.conditional)
        both = float(self.factors**2 @ weights.sum(axis=1))
        if self.output is None:
            whole = np.empty((len(square) + 1, len(square) + 1), dtype=a.dtype)
            whole[:-1, :-1] = square
            whole[-1, :-1] = whole[:-1, -1] = cross
            whole[-1, -1] = both
            return whole
        p = self.output
        mixed = np.outer((cross + 0.5 * both * p).astype(a.dtype), p.astype(a.dtype))
        square += mixed
        square += mixed.T
        return np.asarray(square)


@dataclass(frozen=True)
class Size:
    """What the inverses of a step take: releases, secrets, observations, sides of the rows, and whether each secret has one observation."""

    outputs: int
    secrets: int
    observations: int
    sides: int
    single: bool

    @classmethod
    def of(cls, table: Floats, sides: int, outputs: int) -> Size:
        """Of a joint or conditional distribution, shape (n_s, n_w).

        Examples
        --------
        >>> Size.of(np.eye(4), 2, 4).single, Size.of(np.ones((2, 9)), 2, 9).thin
        (True, True)
        """
        secrets, observations = table.shape
        return cls(outputs, secrets, observations, sides, owners(table) is not None)

    @property
    def rows(self) -> int:
        """Rows of a release."""
        return self.sides * self.secrets

    @property
    def thin(self) -> bool:
        """Whether there are few rows beside the observations."""
        return self.rows <= THIN * self.observations

    @property
    def numbers(self) -> float:
        """Numbers in all inverses."""
        n = self.observations
        each = 3 * n if self.single else 2 * (n + self.rows) * self.rows if self.thin else n * n
        return float(self.outputs * each)

    @property
    def seconds(self) -> float:
        """Of a step, on the machine that the library's timings name."""
        n, rows = self.observations, self.rows
        if self.single:
            each = 3e-5 + 3e-7 * n + 1.5e-10 * n * n
        elif self.thin:
            each = 4e-5 + 6e-11 * n * n * rows + 8e-10 * (n + rows) * rows * rows
        else:
            each = 1.3e-4 + 1.5e-10 * n * n * (n + self.secrets)
        return self.outputs * each


def owners(table: Floats) -> NDArray[np.intp] | None:
    """The observation of each secret where each has one, and none is shared; None otherwise.

    Examples
    --------
    >>> owners(np.array([[0.0, 0.5], [0.5, 0.0]]))
    array([1, 0])
    """
    full = table > 0
    if full.shape[0] != full.shape[1] or not (full.sum(axis=0) == 1).all():
        return None
    return np.asarray(full.argmax(axis=1)) if (full.sum(axis=1) == 1).all() else None


class Inverse(Protocol):
    """Solves the equations of every block."""

    def solve(self, first: Floats, rows: Floats) -> tuple[Floats, Floats]:
        """The x, shape (n_y, n), and u, shape (n_y, sides, n_s), with d x - G' u = first and G x + u / w = rows."""
        ...

    @property
    def sums(self) -> Floats:
        """What x becomes of a right side that is one observation's, summed over releases, shape (n_w, n_w)."""
        ...


Late: TypeAlias = Callable[[], bool]
"""Whether the time is up."""


@dataclass(frozen=True, eq=False)
class Whole:
    """Matrices of all numbers."""

    blocks: Blocks
    weights: Floats
    matrices: Reals
    sums: Floats

    @classmethod
    def of(
        cls, blocks: Blocks, weights: Floats, diagonal: Floats, late: Late, *, single: bool
    ) -> Whole | None:
        """Invert diag(diagonal) + G' diag(weights) G of each release; None where that fails, or the time is up."""
        count, size = diagonal.shape
        n = blocks.conditional.shape[1]
        matrices: Reals = np.empty((count, size, size), dtype=np.float32 if single else np.float64)
        sums = np.zeros((n, n))
        for y in range(count):
            if y % OFTEN == 0 and late():
                return None
            if not _invert(blocks.hessian(weights[y], single=single), diagonal[y], matrices[y]):
                return None
            sums += matrices[y, :n, :n]
        return cls(blocks, weights, matrices, sums)

    def solve(self, first: Floats, rows: Floats) -> tuple[Floats, Floats]:
        """In the precision of the matrices."""
        return _by_rows(self.blocks, self.weights, self._times, first, rows)

    def _times(self, right: Floats) -> Floats:
        scale = float(np.abs(right).max()) or 1.0  # what is tiny must not vanish in single precision
        product = np.matmul(self.matrices, (right / scale).astype(self.matrices.dtype)[:, :, None])[:, :, 0]
        return np.asarray(scale * product.astype(np.float64))


def _by_rows(
    blocks: Blocks, weights: Floats, times: Callable[[Floats], Floats], first: Floats, rows: Floats
) -> tuple[Floats, Floats]:
    """Both unknowns by an inverse of diag(d) + G' diag(w) G."""
    x = times(first + blocks.prices(weights * rows))
    return x, weights * (rows - blocks.slack(x))


@dataclass(frozen=True, eq=False)
class Thin:
    """Orthonormal columns (Q, P) of the rows in units of weights and variables, and of the unit matrix below them.

    With B = w^(1/2) G d^(-1/2) and (B', I) = (Q, P) R, the inverse of 1 + B'B is 1 - QQ': by orthogonal steps, not by the
    factors of 1 + BB', so that Q keeps its digits where weights are far apart.
    """

    roots: Floats
    """Of 1/d, shape (n_y, n)."""
    weights: Floats
    """Roots of those of the rows, shape (n_y, rows)."""
    upper: Floats
    """Q', shape (n_y, rows, n)."""
    lower: Floats
    """P, shape (n_y, rows, rows)."""
    observations: int

    @classmethod
    def of(cls, blocks: Blocks, weights: Floats, diagonal: Floats) -> Thin | None:
        """Factorise the rows; None where numbers are not finite."""
        count, size = diagonal.shape
        roots, by_row = np.sqrt(1.0 / diagonal), np.sqrt(weights.reshape(count, -1))
        rows = np.concatenate([_rows(blocks, side) for side in blocks.sides])
        tall = np.empty((count, size + len(rows), len(rows)))
        np.multiply(rows.T[None] * by_row[:, None, :], roots[:, :, None], out=tall[:, :size])
        tall[:, size:] = np.eye(len(rows))
        if not np.isfinite(tall).all():
            return None
        q = np.linalg.qr(tall).Q
        upper = np.ascontiguousarray(q[:, :size].transpose(0, 2, 1))
        return cls(roots, by_row, upper, q[:, size:], blocks.conditional.shape[1])

    def solve(self, first: Floats, rows: Floats) -> tuple[Floats, Floats]:
        """Through the rows: t = P' w^(1/2) rows - Q' d^(-1/2) first, then x and u by Q t and P t."""
        scaled, asked = self.roots * first, self.weights * rows.reshape(self.weights.shape)
        through = (
            np.matmul(asked[:, None], self.lower)[:, 0] - np.matmul(self.upper, scaled[:, :, None])[:, :, 0]
        )
        x = self.roots * (scaled + np.matmul(through[:, None], self.upper)[:, 0])
        u = self.weights * np.matmul(self.lower, through[:, :, None])[:, :, 0]
        return x, u.reshape(rows.shape)

    @property
    def sums(self) -> Floats:
        """One product of all factors with themselves."""
        n = self.observations
        flat = (self.upper[:, :, :n] * self.roots[:, None, :n]).reshape(-1, n)
        return np.asarray(np.diag((self.roots[:, :n] ** 2).sum(axis=0)) - flat.T @ flat)


def _rows(blocks: Blocks, side: tuple[float, float]) -> Floats:
    """The rows of one side, shape (n_s, n)."""
    sign, factor = side
    if blocks.output is None:
        return sign * np.column_stack([blocks.conditional, np.full(len(blocks.conditional), -factor)])
    return sign * (blocks.conditional - factor * blocks.output)


@dataclass(frozen=True, eq=False)
class Single:
    """One observation a secret: diag(free) + g g' / rest, with the level as one more variable or, given it, less h h' / room.

    With weights w of the sides, factors f, and a the probability of the observation under its secret, the level's own pivot is
    level + sum over secrets of (sum_k f_k^2 w_k d + a^2 w_1 w_2 (f_1 - f_2)^2) / (d + a^2 sum_k w_k), positive term by term.
    """

    blocks: Blocks
    weights: Floats
    free: Floats
    lean: Floats
    rest: Floats
    given: Floats | None
    room: Floats

    @classmethod
    def of(cls, blocks: Blocks, weights: Floats, diagonal: Floats) -> Single:
        """Eliminate the observations, then the level."""
        secrets = np.argsort(blocks.conditional.argmax(axis=1))
        n = len(secrets)
        a, w = blocks.conditional[secrets, np.arange(n)], weights[:, :, secrets]
        d = diagonal[:, :n]
        pivots = d + a**2 * w.sum(axis=1)
        cross = -a * np.einsum("k,ykw->yw", blocks.factors, w)
        own = np.einsum("k,ykw->yw", blocks.factors**2, w) * d
        if len(blocks.sides) > 1:
            own = own + a**2 * w[:, 0] * w[:, 1] * (blocks.factors[0] - blocks.factors[1]) ** 2
        rest = (own / pivots).sum(axis=1)
        lean = cross / pivots
        if blocks.output is None:
            return cls(blocks, weights, 1.0 / pivots, lean, rest + diagonal[:, -1], None, rest)
        # the level is p . x: (p, -1) times the inverse with the level free
        slope = (lean @ blocks.output + 1.0) / rest
        given = blocks.output / pivots + lean * slope[:, None]
        room = (blocks.output**2 / pivots).sum(axis=1) + (lean @ blocks.output + 1.0) * slope
        return cls(blocks, weights, 1.0 / pivots, lean, rest, given, room)

    def solve(self, first: Floats, rows: Floats) -> tuple[Floats, Floats]:
        """Two vectors a block."""
        return _by_rows(self.blocks, self.weights, self._times, first, rows)

    def _times(self, right: Floats) -> Floats:
        n = self.free.shape[1]
        first = right[:, :n]
        along = (self.lean * first).sum(axis=1)
        if self.given is None:
            level = (right[:, -1] - along) / self.rest
            return np.column_stack([self.free * first - self.lean * level[:, None], level])
        share = (self.given * first).sum(axis=1) / self.room
        return np.asarray(
            self.free * first + self.lean * (along / self.rest)[:, None] - self.given * share[:, None]
        )

    @property
    def sums(self) -> Floats:
        """Products of the vectors."""
        lean = self.lean / np.sqrt(self.rest)[:, None]
        whole = np.diag(self.free.sum(axis=0)) + lean.T @ lean
        if self.given is None:
            return np.asarray(whole)
        given = self.given / np.sqrt(self.room)[:, None]
        return np.asarray(whole - given.T @ given)


def _invert(square: Reals, diagonal: Floats, out: Reals) -> bool:
    """The inverse of square + diag(diagonal), by Cholesky's factors of the matrix scaled to a unit diagonal, in the precision of ``out``."""
    from scipy.linalg.lapack import dpotrf, dpotri, spotrf, spotri

    single = square.dtype == np.float32
    factorised, inverted = (spotrf, spotri) if single else (dpotrf, dpotri)
    on_diagonal = square.reshape(-1)[:: len(square) + 1]
    with np.errstate(over="ignore"):
        on_diagonal += diagonal.astype(square.dtype)
    scale = 1.0 / np.sqrt(on_diagonal)
    if not (np.isfinite(scale).all() and scale.all()):
        return False
    square *= scale
    square *= scale[:, None]
    for more in REGULAR[:1] if single else REGULAR:
        on_diagonal += more
        factor, info = factorised(square, lower=1, clean=1)
        if info == 0:
            break
    else:
        return False
    lower, info = inverted(factor, lower=1, overwrite_c=1)
    if info != 0:
        return False
    lower *= scale
    lower *= scale[:, None]
    np.add(lower, lower.T, out=out)
    out.reshape(-1)[:: len(out) + 1] *= 0.5
    return True
