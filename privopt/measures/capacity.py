"""Shannon's capacity of a channel."""

from __future__ import annotations

from privopt.measures.inputs import ChannelInput, supported
from privopt.measures.radius import radius
from privopt.measures.values import Unit, in_unit


def capacity(
    channel: ChannelInput,
    *,
    unit: Unit = "nats",
    normalise: bool = False,
    tol: float = 1e-9,
    max_steps: int = 20_000,
) -> tuple[float, float]:
    """Shannon's capacity max over priors of I(X;Y), as an interval that contains it.

    The limit of maximal alpha-leakage as alpha falls to 1; Blahut's and Arimoto's iteration, with the certificate
    of :func:`maximal_alpha_leakage`.

    Parameters
    ----------
    channel : Channel, JointDistribution or array-like, shape (n_x, n_y)
        Rows Pr(y|x), each summing to 1 within 1e-9.
    unit : {"nats", "bits"}
    normalise : bool
        Divide rows of counts by their sums.
    tol : float
        Width in nats at which to stop.
    max_steps : int
        Steps after which the interval is returned as it is.

    Returns
    -------
    (float, float)
        Lower and upper end, never below 0.

    Raises
    ------
    InvalidMechanism
        If the table is no channel.

    Examples
    --------
    >>> low, high = capacity([[1, 0], [0.5, 0.5]], unit="bits")  # the Z-channel: log2(5/4)
    >>> bool(low <= 0.3219280948873623 <= high), high - low < 1e-8
    (True, True)
    """
    rows, _ = supported(channel, None, normalise)
    low, high = radius(rows, 1.0, tol, max_steps)
    return in_unit(low, unit), in_unit(high, unit)
