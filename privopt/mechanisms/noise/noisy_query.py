"""A query on the records, answered with noise."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from privopt.core.exact import IntegerRow
from privopt.errors import InvalidMechanism
from privopt.files.labels import Labels, decode_label, decode_labels, encode_label, encode_labels
from privopt.files.numbers import decode_float, decode_table, encode_float
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.columns import ReleasedArray
from privopt.mechanisms.noise import statistics
from privopt.mechanisms.noise import validation as checks
from privopt.mechanisms.noise.shapes import SHAPES, Shape, keep
from privopt.mechanisms.noise.statistics import AnyQuery, Query


class ReleasedFloat(float):
    """A released number; ``simulated`` says whether it was drawn with a simulation generator."""

    simulated: bool = False


class ReleasedInt(int):
    """A released count; ``simulated`` says whether it was drawn with a simulation generator."""

    simulated: bool = False


def query_text(query: AnyQuery) -> str:
    """A query as it is shown."""
    if not isinstance(query, Query):
        return repr(query)
    function: Any = query.function
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"Query({function.__module__}.{name}, sensitivity={query.sensitivity!r})"


def encode_query(query: AnyQuery) -> object:
    """A query as JSON holds it."""
    if isinstance(query, Query):
        raise InvalidMechanism(
            "a query that is a Python function cannot be written to a file; use sum, mean, count or histogram"
        )
    return query if isinstance(query, str) else {"count": encode_label(query[1])}


def decode_query(value: object) -> object:
    """The query that :func:`encode_query` wrote."""
    if isinstance(value, dict) and set(value) == {"count"}:
        return ("count", decode_label(value["count"], "query"))
    return value


@dataclass(frozen=True, init=False)
class NoisyQuery(Mechanism):
    """The value of a query plus noise whose distribution does not depend on the data.

    Data are released with OpenDP's noise, which is safe against attacks on the digits of floats; its own privacy map
    is read at every release and must not exceed ``tau``. Sums and means are first rounded at random to a grid of
    floats. With ``rng`` the noise is NumPy's: a simulation, which rounds to the nearest.

    Source: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy".

    Parameters
    ----------
    query : {"sum", "mean", "count", "histogram"}, ("count", state) or Query
        Sum and mean of records clipped to ``clip``; the number of records in a state (position 1 if none is
        named); the number in each state; or a function of the caller.
    noise : {"laplace", "discrete_laplace", "randomised_response"}
        Integers only for "discrete_laplace" (counts and histograms). "randomised_response" lies about each record by
        itself and gives the unbiased estimate of a count.
    scale : float
        > 0: the scale of the noise; for randomised response the probability of a lie, below 1/2. ``inf`` is an
        answer that does not read the data.
    tau : float
        Level of differential privacy that is stated, in nats, at least that of the noise.
    leakage : float
        Bayesian differential privacy level that was proved for a model of the records, in nats.
    scope : {"targets_in_interval", "all_reals"}
        Which values of a target that level compares.
    clip : (lower, upper), optional
    length : int, optional
        Number of records; needed by the mean, and by randomised response.
    states : sequence of labels, optional
        The states that a record can have, others are refused; needed by the histogram.
    simulation_only : bool
        Set by ``solve(..., certify=False)``: such a mechanism releases only with a simulation generator.
    read_columns : iterable of str
        The columns of a table whose records the model describes, where it remembers them. No part of the
        fingerprint.

    Raises
    ------
    InvalidMechanism
        If an argument is out of its range, or the noise is not enough for the stated tau.

    Examples
    --------
    >>> mechanism = NoisyQuery("sum", "laplace", 240.0, 0.5, 1.0, "targets_in_interval", clip=(40, 160), length=3)
    >>> mechanism.accuracy_statement(0.95)
    'with 95 % probability the sum is within +-718.976 (noise only, clipping to 40 to 160 not counted)'
    >>> mechanism.release([90, 110, 400], np.random.default_rng(0)).simulated
    True
    """

    kind: ClassVar[str] = "noisy_query"

    query: AnyQuery
    noise: str
    scale: float
    tau: float
    leakage: float
    scope: str
    clip: statistics.Clip | None
    length: int | None
    states: Labels | None
    simulation_only: bool
    read_columns: tuple[str, ...] = field(compare=False)

    def __init__(
        self,
        query: object,
        noise: str,
        scale: float,
        tau: float,
        leakage: float,
        scope: str = "targets_in_interval",
        *,
        clip: object = None,
        length: int | None = None,
        states: object = None,
        simulation_only: bool = False,
        read_columns: Iterable[str] = (),
    ) -> None:
        statistic = statistics.read_query(query)
        values: dict[str, object] = {
            "query": statistic,
            "noise": checks.noise(noise, statistic),
            "scale": checks.scale(scale, noise),
            "tau": checks.nats(tau, "tau"),
            "leakage": checks.nats(leakage, "leakage"),
            "scope": checks.scope(scope),
            "clip": statistics.read_clip(clip),
            "length": checks.length(length),
            "states": checks.states(states),
            "simulation_only": bool(simulation_only),
            "read_columns": checks.columns(read_columns),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        spent = self._shape.level(self.scale, self.sensitivity)
        if spent > self.tau:
            raise InvalidMechanism(
                f"noise of scale {self.scale} has level {spent}, above the stated tau {self.tau}: raise the scale"
            )

    @property
    def _shape(self) -> Shape:
        return SHAPES[self.noise]

    @property
    def sensitivity(self) -> float:
        """The most by which one record changes the value (histogram: in L1)."""
        return statistics.sensitivity(self.query, self.clip, self.length)

    @property
    def constant(self) -> bool:
        """Whether the answer does not read the data."""
        return self.scale == math.inf

    @property
    def expected_error(self) -> float:
        """E|error|, of one cell for a histogram; ``inf`` where the data are not read."""
        return self._shape.expected_error(self.scale, self.length)

    def accuracy(self, beta: float = 0.05) -> float:
        """The alpha with Pr(|error| > alpha) <= beta, 0 < beta < 1, of one cell for a histogram.

        Examples
        --------
        >>> round(NoisyQuery("count", "laplace", 1 / 0.6813, 0.6814, 1.0).accuracy(0.05), 2)
        4.4
        """
        if not 0 < beta < 1:
            raise InvalidMechanism(f"beta must be a probability in (0, 1), got {beta}")
        return self._shape.quantile(self.scale, self.length, beta)

    def accuracy_statement(self, confidence: float = 0.95, records: Sequence[float] | None = None) -> str:
        """The accuracy in plain words: of the noise only, and what share of the records is clipped besides.

        Parameters
        ----------
        confidence : float
        records : sequence of float, optional
            The records, to count those that are clipped. That count is of the data, and not for publication.

        Examples
        --------
        >>> NoisyQuery("count", "discrete_laplace", 5.0, 0.2, 1.0).accuracy_statement()
        'with 95 % probability the count is within +-15 (noise only)'
        >>> mechanism = NoisyQuery("sum", "laplace", 240.0, 0.5, 1.0, "targets_in_interval", clip=(40, 160), length=4)
        >>> mechanism.accuracy_statement(0.95, [90, 110, 400, 80])
        'with 95 % probability the sum is within +-718.976 (noise only; 1 of 4 records, 25 %, is outside 40 to 160 and clipped)'
        """
        if self.constant:
            return f"the {self.name} is not read: the answer is a constant"
        alpha = self.accuracy(1.0 - confidence)
        what = "each cell of the histogram" if self.query == "histogram" else f"the {self.name}"
        return f"with {100 * confidence:g} % probability {what} is within +-{alpha:.6g} (noise only{self._clipped(records)})"

    def _clipped(self, records: Sequence[float] | None) -> str:
        """What clipping adds to the noise, in words."""
        if self.query not in ("sum", "mean") or self.clip is None:
            return ""
        low, high = self.clip
        if records is None:
            return f", clipping to {low:g} to {high:g} not counted"
        count = sum(not low <= record <= high for record in records)
        share = 100 * count / max(1, len(records))
        return f"; {count} of {len(records)} records, {share:.3g} %, {'is' if count == 1 else 'are'} outside {low:g} to {high:g} and clipped"

    @property
    def name(self) -> str:
        """The query in a word or two."""
        if isinstance(self.query, Query):
            return "value of the query"
        return self.query if isinstance(self.query, str) else f"count of {self.query[1]}"

    def exact(self) -> Fraction | IntegerRow:
        """The exact parameter of discrete noise: the rational scale, or the weights of truth and lie.

        Raises
        ------
        InvalidMechanism
            For continuous noise, which has no integer form.
        """
        if self.noise == "laplace" or self.constant:
            raise InvalidMechanism(
                "continuous noise has no integer form: OpenDP draws it; its scale is exact"
            )
        if self.noise == "discrete_laplace":
            return Fraction(self.scale)
        truth = Fraction(keep(self.scale))
        return IntegerRow((truth.numerator, truth.denominator - truth.numerator), truth.denominator)

    def quantised(self) -> NoisyQuery:
        """The mechanism itself: its scale is the float that is sampled."""
        return self

    def validated(self, simulation_only: bool = False) -> NoisyQuery:
        """A fresh copy that went through the constructor's checks again."""
        return replace(self, simulation_only=simulation_only)

    def reads(self, columns: Iterable[str] = ()) -> tuple[str, ...]:
        """The columns to read: those that are remembered, which the ones that are named must be.

        Raises
        ------
        InvalidMechanism
            If other columns are named, or none where none are remembered.

        Examples
        --------
        >>> NoisyQuery("count", "discrete_laplace", 5.0, 0.2, 1.0, read_columns=["ill"]).reads()
        ('ill',)
        """
        chosen = tuple(dict.fromkeys(columns)) or self.read_columns
        if not chosen:
            raise InvalidMechanism("the mechanism does not say which columns it reads: give --column NAME")
        own = " and ".join(map(repr, self.read_columns))
        for name in chosen if self.read_columns else ():
            if name not in self.read_columns:
                raise InvalidMechanism(
                    f"the model was fitted to {own}, not {name!r}: what is proved is about that column. Fit a model to {name!r}; only "
                    "if it is the same quantity under another name, rename it"
                )
        for name in self.read_columns:
            if name not in chosen:
                raise InvalidMechanism(f"the model was fitted to {own}; {name!r} is missing")
        return chosen

    def release(self, data: Any, rng: np.random.Generator | None = None) -> Any:
        """Answer the query on the records with noise.

        Parameters
        ----------
        data : sequence, NumPy array, pandas or Polars column
            The records: numbers for sums and means, states for counts and histograms.
        rng : numpy.random.Generator, optional
            Simulate with this generator. The result is then marked as simulated and protects nobody.

        Returns
        -------
        number, or for a histogram an array in the order of the states
            With the attribute ``simulated``.

        Raises
        ------
        InvalidMechanism
            If the data do not fit, or the mechanism was not certified and no ``rng`` is given.
        MissingExtra
            If OpenDP is needed and not installed.
        """
        if self.simulation_only and rng is None:
            raise InvalidMechanism(
                "this mechanism was not certified (certify=False): it releases only with rng=, as a simulation"
            )
        if self.noise == "randomised_response" and not self.constant:
            return _marked(self._reported(data, rng), rng is not None)
        chance = secrets.randbelow if rng is None else None
        value = statistics.value(self.query, data, self.clip, self.length, self.states, chance)
        value = value.tolist() if isinstance(value, np.ndarray) else value
        if self.constant:
            value = [0] * len(value) if isinstance(value, list) else 0.0
        elif rng is None:
            value = self._shape.release(value, self.scale, self.sensitivity, self.tau)
        else:
            value = self._shape.simulate(value, self.scale, rng)
        return _marked(value, rng is not None)

    def _reported(self, data: Any, rng: np.random.Generator | None) -> float:
        """The unbiased estimate of a count from reports that lie."""
        bits = statistics.members(self.query, data, self.states).tolist()
        statistics.check_length(len(bits), self.length)
        truth = keep(self.scale)
        reports: int
        if rng is None:
            reports = sum(self._shape.release(bits, self.scale, self.sensitivity, self.tau))
        else:
            reports = sum(self._shape.simulate(bits, self.scale, rng))
        return (reports - len(bits) * (1.0 - truth)) / (2.0 * truth - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary.

        Raises
        ------
        InvalidMechanism
            If the query is a function, which cannot be written.
        """
        written = {
            "type": self.kind,
            "version": 1,
            "query": encode_query(self.query),
            "noise": self.noise,
            "scale": encode_float(self.scale),
            "tau": encode_float(self.tau),
            "leakage": encode_float(self.leakage),
            "scope": self.scope,
            "clip": None if self.clip is None else list(self.clip),
            "length": self.length,
            "states": None if self.states is None else encode_labels(self.states),
            "simulation_only": self.simulation_only,
        }
        return {**written, "columns": list(self.read_columns)} if self.read_columns else written

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> NoisyQuery:
        """The mechanism that :meth:`to_dict` wrote.

        Raises
        ------
        InvalidMechanism
            If a field is missing or not of its kind.
        """
        for name in ("query", "noise", "scale", "tau", "leakage", "scope"):
            if name not in fields:
                raise InvalidMechanism(f'a noisy query needs "{name}"')
        labels, clip = fields.get("states"), fields.get("clip")
        try:
            query = decode_query(fields["query"])
            scale, tau, leakage = (decode_float(fields[name]) for name in ("scale", "tau", "leakage"))
            interval = None if clip is None else decode_table(clip, "clip")
            states = None if labels is None else decode_labels(labels)
        except ValueError as cause:
            raise InvalidMechanism(str(cause)) from cause
        return cls(
            query, fields["noise"], scale, tau, leakage, fields["scope"],
            clip=interval, length=fields.get("length"), states=states,
            simulation_only=fields.get("simulation_only") is True,
            read_columns=fields.get("columns", ()),
        )  # fmt: skip

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form; of the text of its fields where the query is a function."""
        if not isinstance(self.query, Query):
            return super().fingerprint
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def __repr__(self) -> str:
        note = "" if self.clip is None else f", clip={self.clip}"
        note += "" if self.length is None else f", length={self.length}"
        note += ", simulation only" if self.simulation_only else ""
        return (
            f"NoisyQuery({query_text(self.query)}, {self.noise!r}, scale={self.scale!r}, tau={self.tau!r}, "
            f"leakage={self.leakage!r}, scope={self.scope!r}{note})"
        )

    def _repr_html_(self) -> str:
        from privopt.files.text import html_table, number

        numbers = [(name, number(value)) for name, value in (("scale", self.scale), ("tau", self.tau))]
        words = [("leakage (nats)", number(self.leakage)), ("scope", self.scope)]
        return html_table([("query", self.name), ("noise", self.noise), *numbers, *words])


def _marked(value: Any, simulated: bool) -> Any:
    """A number or an array that says whether it is a simulation."""
    marked: Any
    if isinstance(value, list):
        marked = np.array(value).view(ReleasedArray)
    else:
        marked = ReleasedInt(value) if isinstance(value, int) else ReleasedFloat(value)
    marked.simulated = simulated
    return marked
