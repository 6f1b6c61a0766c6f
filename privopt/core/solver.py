"""The contract of an algorithm: it proposes, and is never believed."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from importlib.util import find_spec
from typing import Any, ClassVar, Generic, TypeVar

from privopt.core.problem import Problem
from privopt.core.trace import Reached
from privopt.files.text import Named, fields_html, html_table, number
from privopt.mechanisms import Mechanism

P = TypeVar("P", bound=Problem[Any])

OUT_OF_TIME = "out of time"
"""What the "stop" in the statistics of a run begins with that more time would have made better."""


class Guarantee(Named, Enum):
    """The guarantee of an algorithm: what it proves; the value says it in words, the order is the order of preference."""

    OPTIMAL = "optimal: the checked bound equals the objective to tolerance"
    BOUNDED = "bounded: a checked bound says how far the optimum can be"
    FEASIBLE = "feasible: private, with no bound on what is lost"
    BASELINE = "baseline: published and kept for comparison; may break its own promise"
    ORACLE = "oracle: a reference implementation, for small instances and for tests"

    @property
    def rank(self) -> int:
        """Position in the order of preference, 0 first."""
        return list(Guarantee).index(self)

    def __str__(self) -> str:
        return self.name


def _silent(fraction: float, message: str) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class Budget:
    """What a run may use.

    Parameters
    ----------
    deadline : float
        On the clock of ``time.monotonic()``, in seconds; ``inf`` for none.
    seed : int
        For ``numpy.random.default_rng``; the same seed gives the same answer.
    progress : callable (fraction, message)
        To be told how far the run is; :meth:`report` says it in numbers.
    incumbent : Mechanism, optional
        The best answer so far, judged feasible by the problem: a search may start from it, a prover may prune by it.
        A solver in a process of its own gets a copy.
    """

    deadline: float = float("inf")
    seed: int = 0
    progress: Callable[[float, str], None] = _silent
    incumbent: Mechanism | None = None

    @property
    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def earlier(self, share: float) -> Budget:
        """The same with a deadline that comes sooner by a share of what is left, in [0, 1]; without a deadline, the same.

        Examples
        --------
        >>> Budget().earlier(0.5).remaining
        inf
        """
        if self.deadline == float("inf"):
            return self
        return replace(self, deadline=self.deadline - share * self.remaining)

    def report(
        self, objective: float | None = None, bound: float | None = None, *, fraction: float = 0.0
    ) -> None:
        """Tell the best objective and the best bound so far, which benchmarks draw over time.

        Parameters
        ----------
        objective, bound : float or None
            In the problem's own objective; None where there is none yet. Nothing of it is believed.
        fraction : float
            How far the run is, between 0 and 1.

        Examples
        --------
        >>> Budget(progress=lambda fraction, message: print(fraction, message)).report(0.25, 0.75, fraction=0.5)
        0.5 objective 0.25, bound 0.75
        """
        self.progress(fraction, Reached(objective, bound))

    def __str__(self) -> str:
        return f"{number(self.remaining, 3)} s left, seed {self.seed}"

    def _repr_html_(self) -> str:
        return html_table([("seconds left", number(self.remaining, 3)), ("seed", self.seed)], ("Budget", ""))


@dataclass(frozen=True)
class Proposal:
    """A proposal to a problem: a mechanism, perhaps a bound with the dual that proves it. Nothing is believed.

    Parameters
    ----------
    mechanism : Mechanism or None
    bound : float or None
        Claimed upper bound on the objective.
    dual : JSON-able
        What ``problem.check_bound`` needs to prove the bound.
    infeasible : JSON-able
        A witness that no mechanism exists, for ``problem.check_infeasible``.
    stats : mapping of names to numbers or strings
        Iterations and the like. A "stop" of "out of time" says that more time would do better: ``solve`` may run it again for longer.
    """

    mechanism: Mechanism | None = None
    bound: float | None = None
    dual: object = None
    infeasible: object = None
    stats: Mapping[str, float | int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        bound = "no bound" if self.bound is None else f"claims the bound {number(self.bound)}"
        return f"proposal, not judged: {self.mechanism!r}, {bound}"

    def _repr_html_(self) -> str:
        return fields_html(self, "Proposal (not judged)")


def ran_out(stats: Mapping[str, float | int | str]) -> bool:
    """Whether statistics of a run say that it stopped for want of time.

    Examples
    --------
    >>> ran_out({"stop": "out of time"}), ran_out({"stop": "all tried"}), ran_out({})
    (True, False, False)
    """
    return str(stats.get("stop", "")).startswith(OUT_OF_TIME)


class Solver(ABC, Generic[P]):
    """A solver: an algorithm for one kind of problem. Subclasses are frozen dataclasses whose fields are its options.

    ``guaranteed`` is what the algorithm proves for every instance; one that depends on the instance overrides
    :meth:`guarantee` instead. ``interruptible`` says that ``run`` polls the deadline (:meth:`polls`, where that depends on
    the instance). It is believed only of solvers
    inside the package; everything else runs in a child process that is ended at the deadline. ``contiguous`` says that it
    answers problems whose blocks must be intervals or nodes of a hierarchy, ``robust`` that it answers problems over sets of
    distributions; ``handles`` names what it takes of :attr:`Problem.beyond`. A solver that is not
    ``repairable`` proposes what somebody published: if it breaks its promise, that is shown instead of a repair. One that
    ``proves_only`` has no answer of its own to speak of: it bounds, and comes once another one did better than the anchor.
    """

    solves: ClassVar[type[Problem[Any]]]
    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]] = ()
    guaranteed: ClassVar[Guarantee | None] = None
    interruptible: ClassVar[bool] = True
    contiguous: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset()
    repairable: ClassVar[bool] = True
    proves_only: ClassVar[bool] = False

    def guarantee(self, problem: P) -> Guarantee:
        """What this algorithm can prove for this instance."""
        if self.guaranteed is None:
            raise TypeError(
                f"{type(self).__name__} declares no guarantee: set guaranteed, or override guarantee()"
            )
        return self.guaranteed

    @abstractmethod
    def cost(self, problem: P) -> float:
        """Predicted seconds for this instance."""

    def polls(self, problem: P) -> bool:
        """Whether ``run`` polls the deadline on this instance: ``interruptible``, unless the size decides.

        One that hands its work to a library which looks at the clock now and then overrides it, and agrees where the
        time between two looks does not matter: no process of its own is started then.
        """
        return self.interruptible

    @abstractmethod
    def run(self, problem: P, budget: Budget) -> Proposal:
        """Search, and propose."""

    def refuse(self, problem: P) -> str | None:
        """A sentence that says why this instance is not taken, or None. The default takes all."""
        return None

    def __str__(self) -> str:
        return f"{self.name} for {self.solves.__name__}"

    def _repr_html_(self) -> str:
        options: list[tuple[str, object]] = []
        if is_dataclass(self):
            options = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return html_table([("solves", self.solves.__name__), *options], (self.name, ""))


@dataclass(frozen=True)
class Candidate:
    """One solver's fitness for one problem.

    ``refusal`` is None, or the sentence why not; ``guarantee`` and ``seconds`` (predicted) are None then. ``polls`` says
    whether the solver looks at the deadline on this problem.
    """

    solver: Solver[Any]
    refusal: str | None
    guarantee: Guarantee | None = None
    seconds: float | None = None
    polls: bool = True

    @property
    def name(self) -> str:
        """The solver's name."""
        return self.solver.name

    def __str__(self) -> str:
        if self.refusal is not None:
            return f"{self.name}: no, {self.refusal}"
        return f"{self.name}: {self.guarantee}, about {self.seconds:.2g} s"

    def _repr_html_(self) -> str:
        return html_table([(str(self),)])


def fit(solver: Solver[Any], problem: Problem[Any]) -> Candidate:
    """A solver that takes a problem, with what it says of its run on it."""
    return Candidate(
        solver, None, solver.guarantee(problem), float(solver.cost(problem)), solver.polls(problem)
    )


_present: set[str] = set()
"""Packages that were seen installed: they need not be looked for at every solve."""


def _installed(name: str) -> bool:
    if find_spec(name) is None:
        return False
    _present.add(name)
    return True


def missing_requirement(solver: Solver[Any]) -> str | None:
    """The sentence that refuses a solver whose optional packages are absent, or None."""
    absent = [name for name in solver.requires if name not in _present and not _installed(name)]
    if not absent:
        return None
    return f"the optional package {', '.join(absent)} is not installed; pip install 'privopt[all]' brings it"
