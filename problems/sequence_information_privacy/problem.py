"""Releasing a whole sequence, letter by letter or word by word, so that no release changes the odds of the past much."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from privopt.core.certificate import Certificate, Terms, over_set
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Numbers, Problem
from privopt.core.solution import Solution
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidMechanism
from privopt.files.json import check_schema
from privopt.files.numbers import encode_float
from privopt.mechanisms import Mechanism
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.models.ambiguity.joint import Ambiguity
from privopt.problems.robust import farthest_radius
from privopt.problems.sequence_information_privacy import over_set as over
from privopt.problems.sequence_information_privacy.bound import check_dual
from privopt.problems.sequence_information_privacy.carried import lasting, settled
from privopt.problems.sequence_information_privacy.certificate import judge, terms_of
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.sequence_information_privacy.examples import examples
from privopt.problems.sequence_information_privacy.leakage import is_worst, read, walk
from privopt.problems.sequence_information_privacy.over_set import level_over


@dataclass(frozen=True, init=False)
class SequenceInformationPrivacy(SequenceData, Problem[SequencePolicy]):
    """The least distortion of a released sequence if each release leaks at most its budget of all the data so far.

    A policy keeps a belief: the distribution of the next letter given all that was released. It reads the letters one
    by one (or words of ``batch`` letters), and draws each release from a kernel that depends on the belief. A release
    leaks the largest |ln Pr(y | data so far, past releases) / Pr(y | past releases)|; a word of w letters may leak w
    epsilon. The leakage of the whole sequence is at most the sum, and less but for a small probability:
    :func:`privopt.measures.sequence.composition`.

    Utility is minus the expected distortion a letter over the horizon; leakage is the largest of any release, divided by
    its number of letters; the objective is the utility. Where few beliefs can be reached within the horizon both are
    computed over all of them; otherwise releases are simulated with a fixed seed, and the evaluation says so.

    Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy": sequence information
    privacy, instantaneous and batch information leakage.

    Parameters
    ----------
    chain : MarkovChain or ChainAmbiguity
        Distribution of the data; for a chain of order k the letters are those of its words. With a set of chains the budget
        is kept whichever of them the data follow, each step perhaps another; utilities are read at its nominal one, and
        only single letters are released.
    epsilon : float
        Budget a letter, in nats, >= 0, may be inf.
    batch : int
        Letters in one release, >= 1.
    memory : int
        1; kernels that also read older letters gain nothing, and are refused.
    distortion : {"hamming", "l1", "squared"} or matrix, shape (n, m)
        Of single letters: 1 where they differ; the difference, or its square, between letters that are numbers; or any
        finite D[x, y], a row a letter. A word costs the mean over its letters.
    horizon : int or inf, optional
        Letters that utility and leakage are about: by default all that the chain has, or 100 where it has no end. With inf they
        are about the long run: utility is the limit of the mean, the same wherever the chain begins, and a policy serves streams
        of any length. Single letters only, of a chain a few steps of which lead from every state to the same states.
    ambiguity : ChainAmbiguity, optional
        The set, where ``chain`` is its nominal chain: another way to give it.
    messages : int
        Releases of the same meaning, which leave different beliefs: where letters are rare or budgets small, two are better than
        one. The distortion is then a matrix whose columns come again and again, and releases are labels such as "home (2)".

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
    >>> problem = SequenceInformationPrivacy(chain, epsilon=0.5, horizon=2)
    >>> problem.evaluate(problem.anchor()).leakage
    0.0
    """

    kind: ClassVar[str] = "sequence_information_privacy"
    mechanism_type: ClassVar[type[Mechanism]] = SequencePolicy
    wording: ClassVar[Words] = Words(
        "Release a sequence as it comes",
        "Sequences",
        "How to release the letters of a Markov chain one after another, each release within its budget.",
    )

    @property
    def judging_seconds(self) -> float:
        """Predicted seconds of judging the policy that releases the same always: kernels of all words, and states that follow.

        In the long run all policies take about as long, as beliefs that are followed are as many as that allows.
        """
        words, outputs = self.words
        releases = min(10, -(-self.span // self.batch))
        followed = 1.0 if self.lasting else 3e-4 * min(100, -(-self.span // self.batch))
        return 2e-7 * words * outputs * releases + followed + 2.5e-6 * self.chain.k**2

    @property
    def budget(self) -> float:
        """Epsilon a letter, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        return replace(self, epsilon=budget)

    def terms(self, mechanism: SequencePolicy) -> Terms:
        """What a certificate of this policy is about, in plain sentences."""
        return terms_of(self, mechanism)

    def is_worst(self, mechanism: SequencePolicy, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named pair leaks as much as any; None where its release is not followed, or rounding hides it."""
        if self.ambiguity is not None:
            return over.is_worst(self, mechanism, worst, where)
        return is_worst(self, mechanism, worst, where)

    def robust_level(self, mechanism: SequencePolicy, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage over a set of chains, a letter; see :func:`privopt.measures.robust_level`."""
        return over.robust_level(self, mechanism, ambiguity)

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """The chains whose rows lie within a radius of this one's, each step perhaps others."""
        return over.neighbourhood(self, radius, kind)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius at which each row may be any distribution of the states that it has."""
        rows = [[Fraction(w, row.total) for w in row.weights] for row in self.chain.exact_step(0)]
        return max(farthest_radius(row, kind) for row in rows)

    def answer(
        self,
        rule: str,
        epsilon: float | None = None,
        prepared: tuple[Any, ...] = (),
        *,
        enforced: bool = True,
    ) -> SequencePolicy:
        """The policy of this problem with a named rule; epsilon a letter is the budget unless given.

        Kernels that are no formula are written into it for every belief within the horizon, where these are few. For a horizon of
        inf it has no limit, and rounds beliefs where they would not be finitely many.
        """
        policy = SequencePolicy(
            self.chain,
            self.epsilon if epsilon is None else epsilon,
            self.batch,
            self.distortion,
            rule,
            enforced=enforced,
            prepared=prepared,
            ambiguity=self.ambiguity,
        )
        return settled(self, lasting(self, policy) if self.lasting else policy)

    def check(self, mechanism: Mechanism) -> SequencePolicy:
        """The mechanism, if it is a policy for this chain, batch and distortion; its budget may be another."""
        if not isinstance(mechanism, SequencePolicy):
            raise InvalidMechanism(
                f"SequenceInformationPrivacy is answered by a SequencePolicy, got {type(mechanism).__name__}"
            )
        pairs = (
            ("chain", mechanism.chain == self.chain),
            ("batch", mechanism.batch == self.batch),
            ("distortion", mechanism.distortion == self.distortion),
            ("set of chains", mechanism.ambiguity == self.ambiguity),
        )
        for name, same in pairs:
            if not same:
                raise InvalidMechanism(f"the policy is for another {name}: build it with that of the problem")
        if mechanism.limit * self.batch < self.horizon:
            need = "has no end: give limit=math.inf" if self.lasting else f"is {self.horizon} letters"
            raise InvalidMechanism(f"the policy ends after {mechanism.limit} releases, the horizon {need}")
        return mechanism

    def evaluate(self, mechanism: SequencePolicy) -> Evaluation:
        """Utility and leakage in float64: over all beliefs within reach, else simulated with a fixed seed.

        Over a set of chains the leakage is the largest, or where outputs are too many to follow, what the policy keeps by
        how it is built.
        """
        reading = read(self, self.check(mechanism))
        if self.ambiguity is not None:
            level = level_over(self, mechanism, self.ambiguity)
            kept = mechanism.epsilon if mechanism.enforced else reading.leakage
            reading = replace(
                reading,
                leakage=level.high if level.complete else kept,
                worst=level.worst,
                where=level.where,
                exact=reading.exact and level.complete,
            )
        excess = reading.leakage - self.epsilon if reading.leakage > self.epsilon else 0.0
        feasible = excess <= FEASIBILITY * max(1.0, self.epsilon)
        return Evaluation(
            reading.utility,
            reading.leakage,
            reading.utility,
            feasible,
            excess,
            reading.worst,
            reading.where,
            reading.exact,
            reading.standard_error,
        )

    def certify(self, mechanism: SequencePolicy) -> Certificate:
        """Prove the budget: by exact rationals over all outputs within reach, or by how the policy builds its kernels."""
        verdict = judge(self, self.check(mechanism))
        return self.certificate(
            mechanism,
            mechanism.fingerprint,
            ok=verdict.ok,
            claim="leakage <= budget" if self.ambiguity is None else over_set("leakage <= budget"),
            reason=verdict.reason,
            leakage=verdict.leakage,
            utility=verdict.utility,
            worst=verdict.worst,
            where=verdict.where,
            method=verdict.method,
        )

    def anchor(self) -> SequencePolicy:
        """A policy that releases the same whatever it reads: leaks nothing."""
        return self.answer("constant", 0.0)

    def repair(self, mechanism: SequencePolicy, margin: float) -> SequencePolicy:
        """The same rule, enforced at epsilon (1 - margin): each kernel is mixed with its own marginal as needed."""
        policy = self.check(mechanism)
        return self.answer(policy.rule, min(policy.epsilon, self.epsilon) * (1 - margin), policy.prepared)

    def scale(self, solution: Numbers) -> float:
        """The size of the expected distortion: gaps are relative to it. Negative if it is only simulated."""
        answer = solution.answer if isinstance(solution, Solution) else None
        if isinstance(answer, SequencePolicy) and not walk(self, answer).complete:
            return -1.0
        return abs(solution.objective or 0.0)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on utility that ``dual`` proves, or None."""
        return check_dual(self, dual, seconds)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        named = self.distortion
        return {
            "type": self.kind,
            "version": 1 if self.ambiguity is None else 2,
            "chain": (self.ambiguity or self.chain).to_dict(),
            "epsilon": encode_float(self.epsilon),
            "batch": self.batch,
            "memory": self.memory,
            "distortion": named if isinstance(named, str) else [list(row) for row in named],
            "horizon": "inf" if self.lasting else self.horizon,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a chain or a problem.
        """
        check_schema(fields, f"problem-{cls.kind}")
        written = fields["chain"]
        chain: MarkovChain | ChainAmbiguity
        if written.get("type") == "chain_ambiguity":
            chain = ChainAmbiguity.from_dict(written)
        else:
            chain = MarkovChain.from_dict({"type": "markov_chain", **written})
        return cls(
            chain,
            fields["epsilon"],
            batch=fields.get("batch", 1),
            memory=fields.get("memory", 1),
            distortion=fields.get("distortion", "hamming"),
            horizon=math.inf if fields.get("horizon") == "inf" else fields.get("horizon"),
            messages=fields.get("messages", 1),
        )

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        name = "distortion per letter in the long run" if self.lasting else "distortion per letter"
        return Quantity(name, sign=-1, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[SequencePolicy], ...]:
        """Small instances; optima where the problem is one release, or letters are independent."""
        return examples(cls)

    def __repr__(self) -> str:
        named = self.distortion if isinstance(self.distortion, str) else "matrix"
        return (
            f"SequenceInformationPrivacy({self.ambiguity or self.chain!r}, epsilon={self.epsilon:g}, batch={self.batch}, "
            f"distortion={named!r}, horizon={self.horizon})"
        )
