"""The H-matrix bound on the factor of Gaussian records, proved in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from privopt.arrays import Floats
from privopt.measures.bayesian._gaussian_floats import prove_h_matrix_in_floats

if TYPE_CHECKING:
    from flint import arb, arb_mat

MOST_IN_BALLS = 100
"""Records of the largest block whose precision matrix is enclosed in balls; larger ones are in floats."""

_PRECISIONS = (128, 256, 512)


def prove_h_matrix(covariance: Floats) -> Fraction | None:
    """A proved upper bound on the factor, from enclosures of the precision matrix.

    Balls enclose P = S^-1. Let V have the lower ends of P_ii on its diagonal and minus the upper ends of |P_ij|
    elsewhere, so V <= W, the comparison matrix of P. A vector v > 0 with V v > 0 (a rounded solution of V v = 1,
    multiplied out in balls) proves that V, and W >= V with W_ij <= 0 off the diagonal, are nonsingular M-matrices
    (Berman and Plemmons, "Nonnegative matrices in the mathematical sciences", Theorem 6.2.3). It also
    proves S positive definite: a symmetric P with positive diagonal and such a W has positive eigenvalues, by
    Gershgorin's discs of P scaled by v.

    For the target i take x = (V^-1)_{.i} / (V^-1)_ii, so x_i = 1, x >= 0 and (V x)_j = 0 for j != i. For U = all but
    i: W_UU x_U >= V_UU x_U = |V_Ui| >= |P_Ui|, and W_UU is an M-matrix, so x_U >= (W_UU)^-1 |P_Ui|, which bounds the
    coefficients of every adversary (see :func:`~privopt.measures.bayesian.gaussian_h_matrix.h_matrix_factor`).
    Hence h <= the sum of x, whose upper end is returned.

    Returns
    -------
    Fraction or None
        None where W is not shown to be an M-matrix. Above 100 records the enclosure is that of
        :func:`~privopt.measures.bayesian._gaussian_floats.prove_h_matrix_in_floats`.

    Examples
    --------
    >>> import numpy as np
    >>> proved = prove_h_matrix(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> float(proved).__round__(5)
    1.70755
    """
    from flint import ctx

    if len(covariance) > MOST_IN_BALLS:
        return prove_h_matrix_in_floats(covariance)
    saved = ctx.prec
    try:
        for precision in _PRECISIONS:
            ctx.prec = precision
            found = _h_matrix_in_balls(covariance)
            if found is not None:
                return found
        return None
    finally:
        ctx.prec = saved


def _h_matrix_in_balls(covariance: Floats) -> Fraction | None:
    """The bound at the current precision."""
    from flint import arb, arb_mat

    m = len(covariance)
    try:
        inverse = arb_mat([[arb(entry) for entry in row] for row in covariance.tolist()]).inv()
        below = arb_mat(
            [
                [inverse[i, j].lower() if i == j else -inverse[i, j].abs_upper() for j in range(m)]
                for i in range(m)
            ]
        )
        dual = below.inv()
    except ZeroDivisionError:  # not shown to be invertible at this precision
        return None
    sums = [sum((dual[i, j] for j in range(m)), arb(0)) for i in range(m)]
    if not _is_m_matrix(below, [entry.mid() for entry in sums]):
        return None
    totals = [sum((dual[j, i] for j in range(m)), arb(0)) / dual[i, i] for i in range(m)]
    return max(upper_end(total) for total in totals)


def _is_m_matrix(matrix: arb_mat, v: list[arb]) -> bool:
    """Whether v > 0 and matrix v > 0, for certain; entries off the diagonal are <= 0 by construction."""
    from flint import arb

    m = len(v)
    products = [sum((matrix[i, j] * v[j] for j in range(m)), arb(0)) for i in range(m)]
    return all(bool(entry > 0) for entry in [*v, *products])


def upper_end(ball: arb) -> Fraction:
    """The upper end of a ball, exactly."""
    mantissa, exponent = ball.upper().mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
