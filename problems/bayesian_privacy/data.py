"""The declaration of a problem of Bayesian privacy: its fields, validated, and what follows from them alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from privopt.files.labels import Labels
from privopt.mechanisms import Query
from privopt.mechanisms.noise import validation as noisy
from privopt.mechanisms.noise.statistics import AnyQuery, Clip, sensitivity
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy import validation as checks


@dataclass(frozen=True, init=False)
class BayesianPrivacyData:
    """Records that depend on each other, a query on them, a budget and the noise that is allowed.

    The parameters are those of :class:`privopt.BayesianPrivacy`, which judges mechanisms by them.
    """

    model: checks.Records
    query: AnyQuery
    epsilon: float
    length: int | None
    clip: Clip | None
    scope: str
    mechanism: str
    ambiguity: checks.Sets | None

    def __init__(
        self,
        model: checks.Records | checks.Sets,
        query: object,
        epsilon: float,
        *,
        length: int | None = None,
        clip: object = None,
        scope: str = "targets_in_interval",
        mechanism: str = "laplace",
        ambiguity: checks.Sets | None = None,
    ) -> None:
        records, over = checks.model(model, ambiguity)
        with checks.as_problem():
            statistic = checks.query(query, records)
            noise = noisy.noise(mechanism, statistic)
            values: dict[str, object] = {
                "model": records,
                "query": statistic,
                "epsilon": checks.epsilon(epsilon),
                "length": checks.length(length, statistic, records, noise),
                "clip": checks.clip(clip, statistic, records),
                "scope": noisy.scope(scope),
                "mechanism": noise,
                "ambiguity": over,
            }
            for name, value in values.items():
                object.__setattr__(self, name, value)
            sensitivity(self.query, self.clip, self.length)  # refuses what is beyond the floats
            if isinstance(records, MarkovChain):
                object.__setattr__(self, "query", checks.possible(statistic, records, self._impossible))

    @property
    def robust(self) -> bool:
        """Whether the budget must hold for every distribution of a set."""
        return self.ambiguity is not None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Records of a group; of a chain, states and, where it ends, records."""
        if isinstance(self.model, MarkovChain):
            return (self.model.k,) if self.length is None else (self.model.k, self.length)
        return (self.model.size if isinstance(self.model, GroupModel) else len(self.model.names),)

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns that the model was fitted to, where it remembers them."""
        if not isinstance(self.model, MarkovChain):
            return self.model.columns
        stream = self.model.columns
        return () if stream is None or not stream.record.name else (stream.record.name,)

    @property
    def states(self) -> Labels | None:
        """The states that records can have, where the query counts them or others are to be refused."""
        if isinstance(self.model, GaussianModel) or isinstance(self.query, Query):
            return None
        if isinstance(self.model, GroupModel):
            declared = self.model.states
            return None if declared is None or self.query in ("sum", "mean") else tuple(declared)
        counts = self.query in ("count", "histogram") or isinstance(self.query, tuple)
        states = tuple(state for state in self.model.states if state not in self._impossible)
        return states if counts or self._impossible else None

    @cached_property
    def _impossible(self) -> Labels:
        """The states of a chain that no record can have; of a set of chains none is known to be."""
        if self.ambiguity is not None:
            return ()
        return checks.impossible(self.model, self.length) if isinstance(self.model, MarkovChain) else ()

    @property
    def sensitivity(self) -> float:
        """The most by which one record changes the answer (histogram: in L1)."""
        return sensitivity(self.query, self.clip, self.length)
