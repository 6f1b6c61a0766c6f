"""Which properties each leakage measure has, so that nobody reasons with one that it lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privopt.errors import InvalidProblem
from privopt.measures.inputs import read_order


@dataclass(frozen=True)
class Axioms:
    """What can be relied on for a measure J(S -> Y), and why not where it cannot.

    Attributes
    ----------
    measure : str
        Its name.
    symmetric : bool
        J(S -> Y) = J(Y -> S).
    zero_only_if_independent : bool
        J = 0 implies that S and Y are independent.
    post_processing : bool
        S - Y1 - Y2 implies J(S -> Y2) <= J(S -> Y1): no later computation leaks more.
    linkage : bool
        S2 - S1 - Y implies J(S2 -> Y) <= J(S1 -> Y): what protects S1 protects everything behind it.
    why : str
        A sentence on each property that fails, or holds for some orders only.
    """

    measure: str
    symmetric: bool
    zero_only_if_independent: bool
    post_processing: bool
    linkage: bool
    why: str


_ALL = (True, True, True, True)
_GUESS = (
    "It is 0 when the best guess of S never changes, as for counts [[1, 0], [1, 2]]; a secret behind that S, with "
    "Pr(S2|S1) = [[0, 1], [2/3, 1/3]], leaks ln(4/3)."
)
_AXIOMS: dict[str, tuple[tuple[bool, bool, bool, bool], str]] = {
    "mutual_information": (_ALL, ""),
    "local_information_privacy": (_ALL, "Each of upper, lower and symmetric has all four."),
    "local_differential_privacy": ((False, True, True, True), "It compares distributions of Y, not of S."),
    "capacity": ((False, True, True, True), "It is a property of the channel from S to Y."),
    "maximal_leakage": ((False, True, True, True), "It is a property of the channel from S to Y."),
    "min_entropy_leakage": (
        (False, False, True, False),
        _GUESS,
    ),
}
_NEIGHBOURS = (
    "It is 0 for dependent S and Y when the neighbour graph is not connected; linkage fails because a secret behind "
    "S may mix inputs that are no neighbours."
)
_DELTA = "It is 0 for dependent S and Y whenever the channel is epsilon-private, so unless epsilon is 0."


def axioms(
    measure: str | Callable[..., Any], *, alpha: float | None = None, connected: bool | None = None
) -> Axioms:
    """The axioms that a leakage measure satisfies.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), relations and
    properties of privacy measures; "0 only if independent", an axiom there, fails for alpha-leakage at inf and for
    differential privacy on a disconnected neighbour graph.

    Parameters
    ----------
    measure : str or function
        A leakage measure of :mod:`privopt.measures`, or its name.
    alpha : float, optional
        Order, for measures that have one; without it a property counts only if every order > 1 has it, inf included.
    connected : bool, optional
        For ``differential_privacy``: whether the neighbour graph is connected; not assumed by default.

    Returns
    -------
    Axioms
        Four flags and a sentence.

    Raises
    ------
    InvalidProblem
        If it is not a leakage measure, or alpha is outside its orders.

    Examples
    --------
    >>> axioms(maximal := "maximal_leakage").linkage, axioms("alpha_leakage", alpha=2).linkage
    (True, False)
    """
    name = measure if isinstance(measure, str) else getattr(measure, "__name__", repr(measure))
    if name in _AXIOMS:
        flags, why = _AXIOMS[name]
    elif name == "differential_privacy":
        flags, why = (False, connected is True, True, False), _NEIGHBOURS
    elif name == "delta_at":
        flags, why = (False, False, True, True), _DELTA + " With neighbours linkage fails as well."
    elif name in _ORDERED:
        flags, why = _ORDERED[name](None if alpha is None else read_order(alpha, _LEAST.get(name, 1.0)))
    else:
        known = ", ".join(sorted([*_AXIOMS, *_ORDERED, "differential_privacy", "delta_at"]))
        raise InvalidProblem(f"{name!r} is not a leakage measure with known axioms: use one of {known}")
    return Axioms(name, *flags, why)


_Verdict = tuple[tuple[bool, bool, bool, bool], str]


def _alpha_leakage(alpha: float | None) -> _Verdict:
    if alpha == 1:
        return _ALL, "At order 1 it is the mutual information."
    finite = alpha is not None and not math.isinf(alpha)
    rest = (
        "" if finite else " At inf it is min-entropy leakage, which is 0 when the best guess never changes."
    )
    return (
        False,
        finite,
        True,
        False,
    ), "A secret behind S can leak more than S does, at every order > 1." + rest


def _sibson(alpha: float | None) -> _Verdict:
    if alpha == 1:
        return _ALL, "At order 1 it is the mutual information."
    if alpha == 0:
        return (False, False, True, True), "At order 0 it sees only which pairs are possible."
    return (False, True, True, True), "It weighs S and Y differently, except at order 1."


def _maximal(alpha: float | None) -> _Verdict:
    if alpha == 1:
        return _ALL, "At order 1 it is the mutual information at the given prior."
    return (False, True, True, True), "It is a property of the channel from S to Y."


def _alpha_lift(alpha: float | None) -> _Verdict:
    if alpha == 1:
        return (True, False, True, True), "At order 1 it is 0 for every joint distribution."
    if alpha is not None and math.isinf(alpha):
        return _ALL, "At inf it is the largest log-lift."
    return (False, True, True, True), "It is a maximum over Y of a mean over S."


_LEAST = {"sibson_mutual_information": 0.0}
_ORDERED: dict[str, Callable[[float | None], _Verdict]] = {
    "alpha_leakage": _alpha_leakage,
    "sibson_mutual_information": _sibson,
    "maximal_alpha_leakage": _maximal,
    "alpha_lift": _alpha_lift,
}
