"""One step of sequence information privacy: what to release of a letter whose belief everybody knows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from privopt.core.certificate import Certificate, Terms, over_set
from privopt.core.problem import Enclosure, Evaluation, Example, Numbers, Problem
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.json import check_schema
from privopt.files.labels import decode_labels, encode_labels
from privopt.files.numbers import decode_float, encode_float
from privopt.files.text import number
from privopt.mechanisms import Channel, Mechanism
from privopt.models.ambiguity.joint import Ambiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.codec import decode_numbers, encode_number
from privopt.problems.belief_release import judgement
from privopt.problems.belief_release.bound import check_dual
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.belief_release.examples import examples
from privopt.problems.local_information_privacy.leakage import log_lifts
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.repeated import check_times, repeated_channel
from privopt.problems.robust import farthest_radius, itself_over, robust_level


@dataclass(frozen=True, init=False)
class BeliefRelease(BeliefData, Problem[Channel]):
    """The least distortion of a letter X of known belief, if no release changes the odds of a letter by more than epsilon.

    The belief is what is known of the present letter from all that was released before. A channel reads the letter
    and releases a column of the distortion. Leakage is the instantaneous information leakage: the largest
    |ln P(y | x) / P(y)| over letters and releases of positive probability. Leakages of successive steps add up to a
    bound on the leakage of the whole sequence. The objective is the utility, -E[D(X, Y)].

    With S = X it is the problem :class:`LocalInformationPrivacy` with that distortion.

    Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy": sequence
    information privacy, instantaneous leakage, and the release of one step.

    Parameters
    ----------
    belief : n floats or Fractions, or RowSet
        A set of beliefs for every one of which the bound must hold, with utilities read at its nominal one; or probabilities that sum to 1 within 1e-9; letters of probability 0 bind nothing.
    epsilon : float
        Bound on the leakage of this step, in nats, >= 0, may be inf.
    distortion : {"hamming", "l1", "squared"} or matrix, shape (n, m)
        1 where x and y differ; the absolute difference or its square between letters that are numbers; or any finite
        D[x, y], a row a letter, a column a release.
    letters : n distinct labels, optional
        0 .. n-1 by default.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> problem = BeliefRelease([0.85, 0.15], epsilon=1.0)
    >>> reading = problem.evaluate(Channel([[1, 0], [0.25, 0.75]]))
    >>> round(reading.utility, 6), round(reading.leakage, 6), reading.feasible, reading.worst
    (-0.0375, inf, False, (0, 1))
    """

    kind: ClassVar[str] = "belief_release"
    mechanism_type: ClassVar[type[Mechanism]] = Channel
    wording: ClassVar[Words] = Words(
        "Release one letter of known belief",
        "One letter",
        "What to release of one letter when its distribution is known from what was released before.",
    )

    @property
    def budget(self) -> float:
        """Epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        return replace(self, epsilon=budget)

    @cached_property
    def ratios(self) -> LocalInformationPrivacy | None:
        """Over a set of beliefs, the problem of the letter with itself that bounds the same ratios; None for one belief."""
        if self.beliefs is None:
            return None
        return LocalInformationPrivacy(
            itself_over(self.beliefs, self.letters), self.epsilon, utility=self.matrix
        )

    @property
    def judging_seconds(self) -> float:
        """Passes over the table of letters and releases, which a channel holds as integers too."""
        return 3e-7 * len(self.letters) * self.releases

    def check(self, mechanism: Mechanism) -> Channel:
        """The mechanism, if it is a channel that reads these letters and has a release for each column."""
        if not isinstance(mechanism, Channel):
            raise InvalidMechanism(f"BeliefRelease is answered by a Channel, got {type(mechanism).__name__}")
        if mechanism.inputs != self.letters:
            raise InvalidMechanism(
                "the inputs of the channel must be the letters of the belief, in their order"
            )
        if mechanism.outputs != self.letters and set(mechanism.outputs) == set(self.letters):
            raise InvalidMechanism(
                "the outputs of the channel are the letters in another order: sort its columns"
            )
        if len(mechanism.outputs) != self.releases:
            raise InvalidMechanism(
                f"the distortion has {self.releases} columns, the mechanism {len(mechanism.outputs)} outputs"
            )
        return mechanism

    def answer(self, matrix: object) -> Channel:
        """The channel of these letters with a given matrix, shape (n, m); rows may hold Fractions."""
        return Channel(matrix, self.letters, self.outputs)

    def evaluate(self, mechanism: Channel) -> Evaluation:
        """Utility, leakage and the worst pair (letter, release) in float64."""
        channel, ratios = self.check(mechanism), self.ratios
        return judgement.evaluate(self, channel) if ratios is None else ratios.evaluate(channel)

    def certify(self, mechanism: Channel) -> Certificate:
        """Prove the bounds from the integer weights: exact ratios against balls of e^epsilon.

        Rows of letters of belief 0 must keep the bounds around the distribution of the releases too: somebody may
        have such a letter.
        """
        channel = self.check(mechanism)
        if self.ratios is not None:
            proved = self.ratios.certify(channel)
            return self.restated(proved, channel, claim=over_set("leakage <= budget"), where=proved.where)
        exact = judgement.ExactRelease(self, channel)
        verdict = judgement.certify(exact)
        return self.certificate(
            channel,
            channel.fingerprint,
            ok=verdict.ok,
            claim="leakage <= budget",
            reason=verdict.reason,
            method="integer lifts against balls of e^budget",
            leakage=verdict.leakage,
            utility=judgement.utility_enclosure(exact),
            worst=verdict.worst,
            where=verdict.where,
        )

    def terms(self, mechanism: Channel) -> Terms:
        """What a certificate of this channel is about, in plain sentences."""
        named = ", ".join(map(repr, self.letters[:4])) + (", ..." if len(self.letters) > 4 else "")
        nats = self.epsilon
        factor = number(math.exp(nats)) if nats < 700 else f"e^{number(nats)}"
        rare = tuple(repr(self.letters[x]) for x in np.flatnonzero(self.p == 0)[:8])
        covered = f"; letters of belief 0 ({', '.join(rare)}) keep the same bounds" if rare else ""
        beliefs, whose = self.beliefs, "the belief, which is all that earlier releases told"
        assumption = f"the letter follows the belief of {self!r} exactly as written (divided by its exact sum){covered}"
        if beliefs is not None:
            whose = "the belief, whichever of the set it is"
            assumption = f"the letter follows any one belief of the set of {self!r}; how useful the release is rests on its nominal one"
        return Terms(
            kind="privacy",
            statement=f"no release makes a value of the letter ({named}) more than {factor} times as likely or unlikely as it was"
            if nats < math.inf
            else "a release may tell the letter: the budget is infinite",
            assumption=assumption,
            adversary=f"anyone who sees the release, and knows {whose}, and the channel",
            unit="release of one letter",
            uncovered=(
                "other letters of the sequence but through this one, and earlier or later releases: their budgets add up",
                "what is known of the letter besides the belief, and letters that follow another belief",
            ),
            distributions="" if beliefs is None else f"beliefs: {beliefs.described}",
        )

    def is_worst(self, mechanism: Channel, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named letter and release leak as much as any; None for no pair where everything may leak."""
        if not worst and self.epsilon == math.inf:  # version 0.1.0 named none there
            return None
        channel = self.check(mechanism)
        if self.ratios is not None:
            return self.ratios.is_worst(channel, worst, where)
        return judgement.is_worst(self, channel, worst)

    def constant(self) -> Channel:
        """The one release for all letters that costs least: leaks nothing."""
        matrix = np.zeros((len(self.letters), self.releases))
        matrix[:, self.cheapest] = 1.0
        return self.answer(matrix)

    def anchor(self) -> Channel:
        """The best constant release."""
        return self.constant()

    def repair(self, mechanism: Channel, margin: float) -> Channel:
        """The channel mixed with its own output distribution by the least weight that keeps epsilon (1 - margin)."""
        channel = self.check(mechanism)
        if self.ratios is None:
            return judgement.repair(self, channel, margin)
        return self.check(self.ratios.repair(channel, margin))

    def robust_level(self, mechanism: Channel, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage over a set of beliefs, in nats; see :func:`privopt.measures.robust_level`."""
        if not isinstance(ambiguity, RowSet) or ambiguity.size != len(self.letters):
            raise InvalidProblem(
                f"beliefs vary in a RowSet over the {len(self.letters)} letters, got {ambiguity!r}"
            )
        return robust_level(itself_over(ambiguity), mechanism, "lip")

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """Beliefs within a radius of this problem's."""
        make = RowSet.total_variation if kind == "total_variation" else RowSet.chi2
        return make(list(self.nominal), radius)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius that allows any belief, or any over the letters that are possible."""
        return farthest_radius(RowSet.total_variation(list(self.nominal), 0).center, kind)

    def repeated_leakage(self, mechanism: Channel, times: float) -> float:
        """What several releases of the same letter leak together, in nats."""
        counted = repeated_channel(mechanism, check_times(times))
        lifts = log_lifts(self.p[:, None] * counted.matrix)
        return float(abs(lifts).max())

    def scale(self, solution: Numbers) -> float:
        """The size of the expected distortion: gaps are relative to it."""
        return abs(solution.objective or 0.0)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on utility that ``dual`` proves, or None.

        See :mod:`privopt.problems.belief_release.bound` for the proof.
        """
        if self.ratios is not None and isinstance(dual, dict) and dual.get("kind") in ("set", "analytic"):
            return self.ratios.prove_bound(dual, seconds)
        return check_dual(self, dual)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        named, belief = self.distortion, self.belief
        return {
            "type": self.kind,
            "version": 1,
            "belief": belief.to_dict() if isinstance(belief, RowSet) else [encode_number(p) for p in belief],
            "epsilon": encode_float(self.epsilon),
            "distortion": named if isinstance(named, str) else [list(row) for row in named],
            "letters": encode_labels(self.letters),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a belief or a problem.
        """
        check_schema(fields, f"problem-{cls.kind}")
        names, written = fields.get("letters"), fields["belief"]
        belief = (
            RowSet.from_dict(written)
            if isinstance(written, Mapping)
            else decode_numbers(written, "belief", 1)
        )
        return cls(
            belief,  # type: ignore[arg-type]  # numbers, as it checked
            decode_float(fields["epsilon"]),
            fields.get("distortion", "hamming"),
            None if names is None else decode_labels(names),
        )

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        return Quantity("distortion", sign=-1, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[Channel], ...]:
        """Small instances; the optima are public values."""
        return examples(cls)

    def __repr__(self) -> str:
        named = self.distortion if isinstance(self.distortion, str) else "matrix"
        return f"BeliefRelease({len(self.letters)} letters, epsilon={self.epsilon:g}, distortion={named!r})"
