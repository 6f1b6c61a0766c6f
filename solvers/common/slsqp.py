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

    room = NonlinearConstraint(lambda x: slack(x)[0], 0.0, np.inf, jac=lambda x: slack(x)[1])
    result = scipy_minimize(
        cost,
        start,
        jac=True,
        method="SLSQP",
        bounds=Bounds(lower, upper),
        constraints=[room],
        options={"maxiter": 200, "ftol": 1e-14},
    )
    return np.clip(np.asarray(result.x, dtype=np.float64), lower, upper)
