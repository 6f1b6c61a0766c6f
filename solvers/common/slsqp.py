"""SLSQP with gradients on a box, under smooth constraints that must stay non-negative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privopt.arrays import Floats


def minimise(
    cost: Callable[[Floats], tuple[float, Floats]],
    slack: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    lower: float = 0.0,
    upper: float = 1.0,
) -> Floats:
    """A local minimum of a smooth function, as SciPy's SLSQP finds it; it may miss the constraints a little.

    Parameters
    ----------
    cost : function
        Value and gradient (n,).
    slack : function
        Values (m,), all to be >= 0, and Jacobian (m, n).
    start : array (n,)
    lower, upper : float
        The box.

    Returns
    -------
    array (n,)
        Inside the box.

    Examples
    --------
    >>> x = minimise(
    ...     lambda x: (float(x @ x), 2 * x), lambda x: (np.array([x.sum() - 1]), np.ones((1, 2))), np.zeros(2)
    ... )
    >>> np.round(x, 6).tolist()
    [0.5, 0.5]
    """
    from scipy.optimize import Bounds, NonlinearConstraint
    from scipy.optimize import minimize as scipy_minimize

    def value(x: Floats, /) -> float:
        return cost(x)[0]

    def gradient(x: Floats, /) -> Floats:
        return cost(x)[1]

    def room(x: Floats, /) -> Floats:
        return slack(x)[0]

    def slope(x: Floats, /) -> Floats:
        return slack(x)[1]

    result = scipy_minimize(
        value,
        start,
        jac=gradient,
        method="SLSQP",
        bounds=Bounds(lower, upper),
        constraints=[NonlinearConstraint(room, 0.0, np.inf, jac=slope)],
        options={"maxiter": 200, "ftol": 1e-14},
    )
    return np.clip(np.asarray(result.x, dtype=np.float64), lower, upper)
