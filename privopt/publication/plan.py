"""What a release will be, before anything is drawn: the mechanism that was chosen, what it keeps, and whether it says anything."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from privopt.core.compare import Frontier
from privopt.core.solution import Solution, Status
from privopt.errors import InvalidModel, NotSolved
from privopt.files.text import html_table
from privopt.measures.shannon import entropy
from privopt.mechanisms.codebook import Codebook, codebook
from privopt.models import JointDistribution
from privopt.models.columns import TableColumns
from privopt.models.validation import is_missing
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.publication.constant import constant
from privopt.publication.explain import Explanation, explain
from privopt.publication.least import Choice, told_share
from privopt.publication.parts import how_read
from privopt.publication.people import People, eager
from privopt.publication.words import plain, share, times

CONTIGUOUS = "messages hold neighbouring values and nodes of hierarchies only; without this, more can be kept"

NOTHING = 1e-9
"""A release that keeps less than this share of what the columns say says nothing: it is rounding."""

COUNTED = (
    "proved for people who are spread exactly as in this table, not for the population that they come from: for that, a confidence "
    "(--confidence 0.95), or look how the release does on other people: privopt audit"
)

MUCH = 0.1
"""Of a release that keeps a smaller share than this it is said that it keeps little."""

LITTLE = (
    "this release keeps little of what the columns say; coarser values, fewer columns, a larger epsilon, or a smaller confidence where "
    "one is given, keep more"
)

ANYWAY = "to have it anyway: --allow-constant, in Python allow_constant=True"


@dataclass(frozen=True)
class Plan:
    """A release that was chosen and proved, and not drawn.

    Parameters
    ----------
    people : People
        The rows that it is for.
    choice : Choice
        The problem, its solution, and the trade-off around it.
    notes : tuple of str
        What was chosen on the way, a sentence each.

    Examples
    --------
    >>> import pandas as pd, privopt as po
    >>> people = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
    >>> publication = po.publish(people, secret="vote", columns="age", epsilon=0.3)
    >>> publication.plan.told == publication.told, publication.plan.is_silent
    (True, False)
    """

    people: People = field(repr=False)
    choice: Choice
    notes: tuple[str, ...] = ()

    @property
    def problem(self) -> LocalInformationPrivacy:
        """What was asked."""
        return self.choice.problem

    @property
    def solution(self) -> Solution[Any]:
        """What was proved."""
        return self.choice.solution

    @property
    def joint(self) -> JointDistribution:
        """The distribution that was counted."""
        return joint_of(self.problem)

    @property
    def columns(self) -> TableColumns:
        """The columns that it was counted from, and how they were read."""
        return joint_columns(self.problem)

    @cached_property
    def codebook(self) -> Codebook:
        """What each message stands for."""
        return codebook(self.solution.mechanism, self.joint.useful, self.joint.p_x)

    @property
    def frontier(self) -> Frontier[Any]:
        """What other budgets allow."""
        return self.choice.frontier

    @property
    def told(self) -> float:
        """The part of what there is to say about the released columns, as they were read, that the release says."""
        return told_share(self.solution, self.joint)

    @property
    def told_of_original(self) -> float:
        """The part of what the released columns say as they stand in the rows: before intervals, and before rare ones are one.

        The release depends on a row through the symbol that is read of it alone, so what it says of the row is what it says
        of that symbol; the original columns say more, as two rows may differ and be read alike.
        """
        most = self._original_entropy
        return 0.0 if most <= 0 else min(self.told, max(0.0, self.solution.utility or 0.0) / most)

    @cached_property
    def _original_entropy(self) -> float:
        """The entropy of the released columns as they stand in the rows, in nats."""
        data = eager(self.people.frame)
        columns = [
            [None if is_missing(cell) else cell for cell in data[name].to_list()]
            for name in self.columns.reads_names
        ]
        return entropy(list(Counter(zip(*columns, strict=True)).values()), normalise=True)

    @property
    def is_silent(self) -> bool:
        """Whether the release says nothing: it does not depend on the data."""
        return self.told <= NOTHING or constant(self.problem, self.solution.mechanism) is not None

    def check_says_something(self, anyway: str = ANYWAY) -> None:
        """Refuse a release that says nothing: drawn, it would be the one release of these rows.

        Parameters
        ----------
        anyway : str
            How such a release is had.

        Raises
        ------
        NotSolved
            With what to change.
        """
        if self.is_silent:
            others = ["messages of any values (--any)"] * self.problem.contiguous
            others += ["more time"] * (self.solution.status is not Status.OPTIMAL)
            raise NotSolved(
                f"nothing was released: at epsilon {plain(self.problem.budget)} the best release says nothing about "
                f"{', '.join(self.columns.reads_names)}, and yet it would be the one release of these rows: give a larger epsilon "
                f"({self._least_that_speaks()}), {', '.join([*others, 'fewer columns'])} or coarser values ({anyway})"
            )

    def explain(self) -> Explanation:
        """What it means, in at most eight plain sentences."""
        return explain(self.problem, self.solution)

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in (*self.facts(), *self.remarks())]
        return "\n".join((*lines, "", str(self.explain()), "", "nothing was drawn"))

    def _repr_html_(self) -> str:
        return f"{html_table([*self.facts(), *self.remarks()])}{self.explain()._repr_html_()}<p>nothing was drawn</p>"

    def facts(self) -> list[tuple[str, str]]:
        """The most important numbers, each with its name; what is chosen, and what speaks against it, follows as notes."""
        budget = self.problem.budget
        return [
            ("rows", str(len(eager(self.people.frame)))),
            ("protected", ", ".join(self.columns.secret_names)),
            ("released", ", ".join(self.columns.reads_names)),
            ("epsilon", f"{plain(budget)}: at most {times(budget)} times as likely, or as unlikely"),
            *self._set(),
            ("useful", f"{self.kept()}{self._best()}"),
            ("messages", str(len(self.codebook))),
        ]

    def remarks(self) -> list[tuple[str, str]]:
        """What was chosen on the way, and that it says nothing where it does not."""
        silent = [self._silent()] if self.is_silent else [LITTLE] * (self.told < MUCH)
        counted = [COUNTED] * (self.problem.ambiguity is None)
        return [("note", note) for note in (*silent, *counted, *self.notes)]

    def kept(self) -> str:
        """How much of what the columns say is kept: as they were read, and where that is less, as they stand in the rows."""
        how = how_read(self.joint)
        if not how:
            return f"keeps {share(self.told)} of what the columns say"
        return (
            f"keeps {share(self.told)} of what the columns say {how}, and {share(self.told_of_original)} of what they say as they stand "
            "in the data"
        )

    def _set(self) -> list[tuple[str, str]]:
        """For which distributions of people that holds, where for more than the one that was counted."""
        near = self.problem.ambiguity
        return [] if near is None else [("holds for", f"every distribution in the set {near.described}")]

    def _best(self) -> str:
        """How far that is from the best possible, where the release is not proved to be the most useful one."""
        if self.solution.status is Status.OPTIMAL:
            return ""
        if self.solution.bound is None or not np.isfinite(self.solution.bound):
            return "; how much the best possible would keep is not known"
        most = self.solution.bound / entropy(self.joint.p_x)
        how = " of the former" if how_read(self.joint) else ""
        return f"; the best possible keeps {share(min(1.0, most))}{how} at most"

    def _silent(self) -> str:
        """What is said of a release that says nothing."""
        return f"this release does not depend on the data; of the epsilons, {self._least_that_speaks()}"

    def _least_that_speaks(self) -> str:
        """From which budget on a release says something, as far as that was tried."""
        curve = self.choice.frontier
        pairs = zip(curve.budgets, curve, strict=True)
        more = [b for b, s in pairs if s.certified and told_share(s, self.joint) > NOTHING]
        return (
            f"{plain(min(more))} is the least of those tried at which one says something"
            if more
            else "at none of those tried one says something"
        )


def plan(people: People, choice: Choice, notes: tuple[str, ...]) -> Plan:
    """A chosen release, with what is noted of it."""
    return Plan(people, choice, (*notes, CONTIGUOUS) if choice.problem.contiguous else notes)


def joint_of(problem: LocalInformationPrivacy) -> JointDistribution:
    """The joint distribution of the problem of a release, of a set the one that was counted."""
    joint = problem.nominal
    if not isinstance(joint, JointDistribution):
        raise InvalidModel(
            "the problem of a release is about secret and released columns, and this one is not"
        )
    return joint


def joint_columns(problem: LocalInformationPrivacy) -> TableColumns:
    """The columns that it was counted from."""
    columns = joint_of(problem).columns
    if columns is None:
        raise InvalidModel("the model does not remember the table that it was counted from")
    return columns
