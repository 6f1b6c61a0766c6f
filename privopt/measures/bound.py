"""A leakage together with what is known about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """An upper bound on a Bayesian differential privacy leakage, and what it is worth.

    Attributes
    ----------
    value : float
        Upper bound in nats, >= 0; ``inf`` where the method gives none.
    exact : bool
        Whether some mechanism of the given privacy level reaches the value, or comes as near as one likes, under
        the stated model. Floating-point rounding is not counted.
    method : str
        What gave the value, such as ``"gaussian-column"`` or ``"markov-recursion"``.
    scope : str
        ``"targets_in_interval"``: the two values of a target that are compared lie inside the interval that records
        are clipped to; ``"all_reals"``: they are any real numbers. Records of finitely many values are always inside.

    Examples
    --------
    >>> Bound(1.5, True, "gaussian-column", "targets_in_interval").value
    1.5
    """

    value: float
    exact: bool
    method: str
    scope: str

    def __str__(self) -> str:
        relation = "=" if self.exact else "<="
        return f"leakage {relation} {self.value:.6g} nats ({self.method}, {self.scope})"
