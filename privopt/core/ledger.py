"""What several noisy releases of the same data leak together, and when to stop."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from privopt.core.contents import OTHER_DATA, Contents
from privopt.errors import FileRefused, InvalidMechanism, InvalidModel, InvalidProblem
from privopt.files.json import check_schema, read_json, write_json
from privopt.files.numbers import decode_float
from privopt.files.text import html_table, number
from privopt.measures.bayesian.leakage import bayesian_leakage, calibrate
from privopt.measures.bayesian.proof import Setting, prove_leakage
from privopt.mechanisms import NoisyQuery, Query
from privopt.mechanisms.noise import validation as noisy
from privopt.mechanisms.noise.statistics import Clip, read_clip, spacing, up
from privopt.mechanisms.policy.journal import alone
from privopt.models import GaussianModel, GroupModel, MarkovChain, model_from_dict

KIND = "budget_ledger"

ROOM = 2.0**-40
"""Share of the total that :attr:`BudgetLedger.remaining` leaves free for roundings."""

READ = 1e-9
"""A ledger of version 0.1.0 added float readings, and may exceed its total by this, relatively; nothing more can be charged."""

NOTHING = 1e-6
"""Share of the total that is not worth a query."""


@dataclass(frozen=True)
class Spent:
    """One release: its level, its query in words, and whether only the sensitivity of that is known."""

    tau: float
    query: str
    function: bool = False


@dataclass(frozen=True)
class BudgetLedger:
    """An account of noisy releases of the same data, which refuses what would exceed its budget.

    For dependent records Bayesian levels need not add up, but levels of differential privacy do: releases of levels tau_1, tau_2, ...
    are together one release of level tau_1 + tau_2 + ..., and the bound for the model is taken at that sum. It is the one
    that is proved, rounded up. For a chain it is that of any queries: a count that is solved to leak epsilon by itself may
    have a level that costs more here, and one that is solved by ``markov-recursion`` has not. Gaussian bounds need the same clipping interval in all releases, and for means the length.

    Parameters
    ----------
    model : GaussianModel, GroupModel or MarkovChain
    epsilon : float
        The most that all releases together may leak, in nats, finite and > 0.
    data : str
        A label of the data. Only its SHA-256 is stored; releases must name the same label, or read columns that are known.
    length : int, optional
    clip : (lower, upper), optional
        The interval that every sum and mean clips to; left out, that of the first of them.
    scope : {"targets_in_interval", "all_reals"}
    entries : tuple of Spent
    contents : Contents
        Keyed hashes of the columns that were read, where releases give them: a copy under another label is then the same
        data, and a changed column under the same label is refused.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range.

    Examples
    --------
    >>> from privopt.models import GroupModel
    >>> ledger = BudgetLedger(GroupModel(2), 1.0, "survey")
    >>> ledger = ledger.charge(NoisyQuery("count", "discrete_laplace", 5.0, 0.2, 0.4), "survey")
    >>> round(ledger.leakage, 9), round(ledger.remaining, 9)
    (0.4, 0.3)
    """

    model: GaussianModel | GroupModel | MarkovChain
    epsilon: float
    data: str
    length: int | None = None
    clip: Clip | None = None
    scope: str = "targets_in_interval"
    entries: tuple[Spent, ...] = ()
    contents: Contents = field(default_factory=Contents, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, (GaussianModel, GroupModel, MarkovChain)):
            raise InvalidProblem(f"model must describe dependent records, got {type(self.model).__name__}")
        if not isinstance(self.data, str) or not self.data:
            raise InvalidProblem("data must be a label of the data, a text that is not empty")
        try:
            epsilon = noisy.nats(self.epsilon, "epsilon")
            length, clip, scope = noisy.length(self.length), read_clip(self.clip), noisy.scope(self.scope)
        except InvalidMechanism as cause:
            raise InvalidProblem(str(cause)) from cause
        if not 0 < epsilon < float("inf"):
            raise InvalidProblem(f"epsilon must be finite and > 0 nats, got {epsilon}")
        if not self.data.startswith("sha256:"):
            object.__setattr__(self, "data", fingerprint(self.data))
        for name, value in (("epsilon", epsilon), ("length", length), ("clip", clip), ("scope", scope)):
            object.__setattr__(self, name, value)

    @property
    def tau(self) -> float:
        """The level of all releases together: the sum of their levels, rounded up."""
        return up(sum((Fraction(entry.tau) for entry in self.entries), Fraction(0)))

    @property
    def leakage(self) -> float:
        """The proved bound on what all releases together leak, in nats, rounded up."""
        return self._bound(self.tau)

    @property
    def remaining(self) -> float:
        """The level of differential privacy that can still be spent on queries other than functions, rounded down."""
        model, limit = self._model, self.epsilon * (1 - ROOM)
        if isinstance(model, MarkovChain):
            most = calibrate(lambda tau: bayesian_leakage(model, tau, length=self.length).value, limit)
        else:
            most = calibrate(self._bound, limit)
        while (excess := self._bound(most) / limit - 1) > 0:
            most *= 1 - 2 * max(excess, ROOM)
        spent = sum((Fraction(entry.tau) for entry in self.entries), Fraction(0))
        return max(0.0, -up(spent - Fraction(most)))

    @property
    def _model(self) -> GaussianModel | GroupModel | MarkovChain:
        """The model whose bound holds for all queries: of functions, and means of any length, only the level is known."""
        unknown = any(e.function or (e.query == "mean" and self.length is None) for e in self.entries)
        return (
            GroupModel(self.model.size) if unknown and isinstance(self.model, GaussianModel) else self.model
        )

    @property
    def _records(self) -> int | None:
        """The number of records for which the bound is read, where it depends on one."""
        return (
            self.model.max_length
            if self.length is None and isinstance(self.model, MarkovChain)
            else self.length
        )

    def _bound(self, tau: float) -> float:
        """What all releases of a level together leak at most, proved: the worst of the queries that it may be spent on."""
        model = self._model
        if not isinstance(model, GaussianModel) or self.clip is None:
            return prove_leakage(Setting(model, self.length, self.scope), tau)[0]
        if self.length is None:
            # sums of fewer records have a finer grid: at most the share grid / apart of a level, and 1, is rounding
            apart, grid = spacing("sum", self.clip, None)
            smooth = Fraction(prove_leakage(Setting(model, None, self.scope, apart), tau)[0])
            general = Fraction(prove_leakage(Setting(GroupModel(model.size), None, self.scope), tau)[0])
            return up(min(general, smooth + (min(Fraction(1), grid / apart) * Fraction(tau)) ** 2 / 8))
        settings = [
            Setting(model, self.length, self.scope, *spacing(query, self.clip, self.length))
            for query in ("sum", "mean")
        ]
        return max(prove_leakage(setting, tau)[0] for setting in settings)

    def charge(
        self, mechanism: NoisyQuery, data: str, columns: Mapping[str, Sequence[str]] | None = None
    ) -> Self:
        """The ledger after a release.

        Parameters
        ----------
        mechanism : NoisyQuery
        data : str
            The label of the data.
        columns : mapping of names to cells, optional
            The columns that are read, as text; the ledger then knows its data by them too.

        Raises
        ------
        InvalidMechanism
            If it would exceed the total, clips elsewhere, or is for other data or another number of records.
        """
        if not isinstance(mechanism, NoisyQuery):
            raise InvalidMechanism(f"a ledger charges a NoisyQuery, got {type(mechanism).__name__}")
        contents = self.contents.read(columns or {}, data, not columns or fingerprint(data) == self.data)
        if not columns and fingerprint(data) != self.data:
            raise InvalidMechanism(OTHER_DATA.format(data))
        held = self._clipped_as(mechanism)
        if mechanism.query in ("sum", "mean") and mechanism.clip != held.clip:
            raise InvalidMechanism(
                f"the mechanism clips to {mechanism.clip}, the ledger is for {self.clip}: make them equal"
            )
        if (
            self._records is not None
            and mechanism.length != self._records
            and not self._of_any_length(mechanism)
        ):
            raise InvalidMechanism(
                f"the mechanism is for length={mechanism.length}, the ledger for {self._records} records: make them equal, "
                f"solve it with length={self._records}"
            )
        # Gaussian bounds are for sums and means of clipped records; of anything else only the level is known
        function = isinstance(mechanism.query, Query) or (
            isinstance(self.model, GaussianModel) and mechanism.query not in ("sum", "mean")
        )
        after = held._with(mechanism, mechanism.tau, function)
        if not after.leakage <= self.epsilon:
            raise InvalidMechanism(
                f"refused: all releases together would leak {after.leakage:.6g} nats, the total is {self.epsilon:.6g}; "
                f"{held._with(mechanism, 0.0, function)._left()}"
            )
        return replace(after, contents=contents)

    def _clipped_as(self, mechanism: NoisyQuery) -> Self:
        """The ledger with the interval of its first sum or mean, where none clipped before: the bound of counts hangs on no interval."""
        clips = mechanism.query in ("sum", "mean")
        if (
            not clips
            or self.clip is not None
            or any(entry.query in ("sum", "mean") for entry in self.entries)
        ):
            return self
        return replace(self, clip=mechanism.clip)

    def _of_any_length(self, mechanism: NoisyQuery) -> bool:
        """Whether the bound of a query without a length is that of the ledger: groups of independent people, each with all its members."""
        group = (
            isinstance(self.model, GroupModel) and self.length is not None and self.length >= self.model.size
        )
        return group and mechanism.length is None and mechanism.query not in ("sum", "mean")

    def _with(self, mechanism: NoisyQuery, tau: float, function: bool) -> Self:
        return replace(self, entries=(*self.entries, Spent(tau, mechanism.name, function)))

    def _left(self) -> str:
        """What is left, as the level of a query and as the epsilon that it is solved for."""
        level = self.remaining
        epsilon = _down(self._bound(level))
        if not epsilon > NOTHING * self.epsilon:
            return "nothing is left"
        way = (
            " by markov-recursion, whose levels are for any query"
            if isinstance(self.model, MarkovChain)
            else ""
        )
        return f"a level of {level:.6g} is left: such a query fits if it is solved for epsilon = {epsilon:g} at most{way}"

    def release(
        self,
        mechanism: NoisyQuery,
        records: Any,
        data: str,
        path: str | os.PathLike[str],
        rng: np.random.Generator | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[Any, Self]:
        """Charge, save the ledger to a file, and only then release; a crash in between spends and shows nothing.

        A file that is already there must be an earlier state of this ledger: of two that were loaded at once and are used by two
        processes or threads, the second is refused. Who wishes to wait for the other instead holds
        :func:`privopt.mechanisms.policy.journal.alone` from loading the ledger until here, as ``privopt release --ledger`` does.

        Returns
        -------
        (answer, ledger)

        Raises
        ------
        InvalidMechanism
            If the charge is refused, or the file holds releases that this ledger does not know.
        """
        after = self.charge(mechanism, data, columns)
        with alone(path):
            if os.path.lexists(path):
                before = type(self).load(path)
                clip = (
                    self.clip if before.clip is not None else None
                )  # a ledger takes that of its first sum or mean
                if replace(self, entries=self.entries[: len(before.entries)], clip=clip) != before:
                    raise InvalidMechanism(
                        f"{os.fspath(path)} is not an earlier state of this ledger: load it, or it would lose releases"
                    )
            after.save(path)
        return mechanism.release(records, rng), after

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger, whole or not at all; a new file is for its owner alone to read."""
        write_json(path, self.to_dict(), private=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote.

        Raises
        ------
        FileRefused
            If it cannot be read or does not fit the published schema.
        """
        return cls.from_dict(read_json(path))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        known = {"contents": self.contents.to_dict()} if self.contents.digests else {}
        return {
            "type": KIND,
            "version": 2 if known else 1,
            "model": self.model.to_dict(),
            "epsilon": self.epsilon,
            "data": self.data,
            "length": self.length,
            "clip": None if self.clip is None else list(self.clip),
            "scope": self.scope,
            "entries": [{"tau": e.tau, "query": e.query, "function": e.function} for e in self.entries],
            **known,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The ledger that :meth:`to_dict` wrote.

        Raises
        ------
        FileRefused
            If it does not fit the published schema.
        """
        check_schema(fields, "budget-ledger")
        model = model_from_dict(fields["model"])
        if not isinstance(model, (GaussianModel, GroupModel, MarkovChain)):
            raise InvalidModel(f"a ledger is about dependent records, not a {type(model).__name__}")
        entries = tuple(Spent(decode_float(e["tau"]), e["query"], e["function"]) for e in fields["entries"])
        ledger = cls(
            model,
            fields["epsilon"],
            fields["data"],
            fields["length"],
            fields["clip"],
            fields["scope"],
            entries,
            Contents.from_dict(fields.get("contents")),
        )
        if not ledger.leakage <= ledger.epsilon * (1 + READ):
            raise FileRefused(
                f"the ledger has spent {ledger.leakage:.6g} nats, more than {ledger.epsilon:.6g}"
            )
        return ledger

    @property
    def _compared(self) -> str:
        """Which values of a record the bound compares; only that of Gaussian records depends on the scope."""
        if isinstance(self.model, GaussianModel):
            return self.scope
        return "all possible values" if isinstance(self.model, MarkovChain) else "all_reals"

    def __str__(self) -> str:
        return (
            f"{len(self.entries)} releases of level {number(self.tau)} together: at most {number(self.leakage)} of "
            f"{number(self.epsilon)} nats ({self._compared})"
        )

    def _repr_html_(self) -> str:
        rows = [(i, e.query, number(e.tau)) for i, e in enumerate(self.entries)]
        return html_table([*rows, ("together", str(self), number(self.tau))], ("release", "query", "tau"))


def _down(value: float) -> float:
    """A positive number rounded down to three digits."""
    if not 0 < value < math.inf:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / unit) * unit


def fingerprint(label: str) -> str:
    """The SHA-256 of a label of data, marked as such."""
    return "sha256:" + hashlib.sha256(label.encode()).hexdigest()
