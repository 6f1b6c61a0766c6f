"""From a solution to a proof file: which kind covers it, the file, and what the checker says of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privopt.core.reformulation import Reformulation
from privopt.errors import InvalidProblem
from privopt.files.json import writing
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.boundary_colouring.data import ColouringData
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.local_information_privacy import divergences
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.metric_privacy.data import MetricData
from privopt.problems.post_randomisation.data import PostRandomisationData
from privopt.problems.redaction.data import RedactionData
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.trade_off.data import TradeOffData
from privopt.proof import (
    bayesian,
    exceptions,
    information,
    lift_family,
    linear,
    metric,
    post_randomisation,
    redaction,
    sequence,
    sets,
    trade_off,
)
from privopt.proof.draft import Draft, Solved
from privopt.proof.rationals import json_lines

CHECKERS = {
    "linear": "checker.py",
    "information": "checker_information.py",
    "lift_family": "checker_lift_family.py",
    "exceptions": "checker_exceptions.py",
    "redaction": "checker_redaction.py",
    "redaction_bounds": "checker_redaction_bounds.py",
    "sequence": "checker_sequence.py",
    "sets": "checker_sets.py",
    "set_bounds": "checker_set_bounds.py",
    "gaussian_noise": "checker_gaussian_noise.py",
    "chain_noise": "checker_chain_noise.py",
    "trade_off": "checker_trade_off.py",
    "post_randomisation": "checker_post_randomisation.py",
}
"""The program that checks each kind of file, in the folder of this module."""

FOLDER = Path(__file__).parent

PATIENCE = 600
"""Seconds that a checker may take."""


@dataclass(frozen=True)
class Checked:
    """What a checker says of a file: whether all that it claims is proved, and its sentences."""

    ok: bool
    said: tuple[str, ...]


@dataclass(frozen=True)
class Proof:
    """A proof file that is not yet written.

    Parameters
    ----------
    kind : str
        Which checker it is for.
    text : str
        One JSON object a line; see docs/proofs.md.
    left_out : tuple of str
        What of the solution it does not prove, in sentences.
    beside : Proof, optional
        Another file, for a bound that has a checker of its own.
    """

    kind: str
    text: str
    left_out: tuple[str, ...] = ()
    beside: Proof | None = None

    @property
    def checker(self) -> Path:
        """The program that checks it."""
        return FOLDER / CHECKERS[self.kind]

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the file, whole or not at all, and the one beside it under its name with ``-bound``.

        Returns
        -------
        list of Path
            What was written.
        """
        with writing(path, private=True) as file:  # it holds the problem, which may be a counted table
            file.write(self.text)
        return [Path(path), *(self.beside.save(bound_path(Path(path))) if self.beside else [])]

    def check(self) -> Checked:
        """What its checker says, run as a program of its own; then that of the file beside it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "proof.txt"
            path.write_text(self.text, encoding="utf-8")
            own = check_file(path, self.kind)
        if self.beside is None:
            return own
        other = self.beside.check()
        return Checked(own.ok and other.ok, (*own.said, *other.said))


def bound_path(path: Path) -> Path:
    """Where the file beside a proof is written.

    Examples
    --------
    >>> bound_path(Path("proof.txt")).name
    'proof-bound.txt'
    """
    return path.with_name(f"{path.stem}-bound{path.suffix}")


def check_file(path: Path, kind: str) -> Checked:
    """What the checker of a kind says of a file, in a process that imports nothing of this package."""
    command = [sys.executable, "-S", "-E", str(FOLDER / CHECKERS[kind]), str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return Checked(ended.returncode == 0, tuple((ended.stdout + ended.stderr).strip().splitlines()))


def prove(problem: Any, solution: Solved) -> Proof:
    """The proof file of a certified solution.

    Parameters
    ----------
    problem : Problem
    solution : Solution
        Of this problem, certified.

    Raises
    ------
    InvalidProblem
        If proof files do not cover the problem, with the reason in a sentence.
    """
    return _written(draft_of(problem, solution))


def _written(draft: Draft) -> Proof:
    """The file of a draft, with the one beside it."""
    beside = None if draft.beside is None else _written(draft.beside)
    return Proof(draft.kind, json_lines(draft.lines()), tuple(draft.left_out), beside)


def draft_of(problem: Any, solution: Solved) -> Draft:
    """The lines of a proof; see :func:`prove`."""
    if isinstance(problem, Reformulation):
        return draft_of(problem.target, solution)
    for kind, writer in WRITERS:
        if isinstance(problem, kind):
            return writer(problem, solution)
    raise InvalidProblem(f"proof files do not cover {type(problem).__name__}")


def _local_information(data: LocalInformationPrivacyData, solution: Solved) -> Draft:
    if data.per_value is not None or data.notion in divergences.NOTIONS:
        return lift_family.lift_family(data, solution)
    if data.ambiguity is not None:
        return sets.local_information(data, solution)
    if data.delta > 0:
        return exceptions.exceptions(data, solution)
    if data.matrix is not None:
        return linear.local_information(data, solution)
    return information.local_information(data, solution)


def _belief(data: BeliefData, solution: Solved) -> Draft:
    return sets.belief(data, solution) if data.robust else linear.belief(data, solution)


def _distortion(data: DistortionData, solution: Solved) -> Draft:
    if data.ambiguity is not None:
        return sets.distortion(data, solution)
    return linear.distortion(data, solution) if data.order is None else trade_off.distortion(data, solution)


def _trade_off(data: TradeOffData, solution: Solved) -> Draft:
    return sets.trade_off(data, solution) if data.robust else trade_off.trade_off(data, solution)


WRITERS: tuple[tuple[type, Callable[[Any, Any], Draft]], ...] = (
    (LocalInformationPrivacyData, _local_information),
    (BeliefData, _belief),
    (DistortionData, _distortion),
    (ColouringData, linear.colouring),
    (MetricData, metric.metric),
    (PostRandomisationData, post_randomisation.post_randomisation),
    (BayesianPrivacyData, bayesian.bayesian),
    (RedactionData, redaction.redaction),
    (SequenceData, sequence.sequence),
    (TradeOffData, _trade_off),
)
