"""What a solution means, in at most eight plain sentences, for people who were not there when it was made."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from privopt.core.certificate import Certificate
from privopt.core.problem import Problem
from privopt.core.reformulation import Reformulation
from privopt.errors import FileRefused, InvalidProblem, MissingExtra
from privopt.files.json import writing
from privopt.files.paths import writing_bytes
from privopt.files.text import html_table, plain_table
from privopt.mechanisms import (
    Channel,
    Colouring,
    Mechanism,
    Merging,
    NoisyQuery,
    RedactionMechanism,
    SequencePolicy,
)
from privopt.models.channel_data import observation
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.boundary_colouring.data import ColouringData
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.metric_privacy.data import MetricData
from privopt.problems.post_randomisation.data import PostRandomisationData
from privopt.problems.redaction.data import RedactionData
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.trade_off.data import TradeOffData
from privopt.publication import _invariant, _places, _records, _tables
from privopt.publication.constant import plain_constant
from privopt.publication.parts import Names, Parts, names_of, written_releases
from privopt.publication.receipt import Receipt
from privopt.publication.released import joint_of
from privopt.publication.words import plain, times
from privopt.publication.worst import CASES, each_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8
"""Sentences of the longest explanation."""

EACH = (
    "For each value of the secret, how likely it is before the release, and at most and at least after a single one, if people are spread "
    "as they were counted:"
)

PDF = 'a PDF needs matplotlib: pip install "privopt[plot]"; or write the text or the page, whose names end in .txt and .html'


class Judged(Protocol):
    """What is read of a solution."""

    @property
    def answer(self) -> Mechanism | None:
        """The mechanism, if there is one."""
        ...

    @property
    def reason(self) -> str:
        """Why it ended so."""
        ...

    @property
    def certificate(self) -> Certificate | None:
        """What was proved."""
        ...

    @property
    def problem(self) -> str:
        """The fingerprint of its problem."""
        ...


@dataclass(frozen=True)
class Explanation:
    """An explanation of a release: sentences, the numbers in them, and a picture when it is drawn.

    Parameters
    ----------
    title : str
    sentences : tuple of str
        At most eight.
    numbers : mapping
        The numbers that the sentences show, before they were rounded.
    problem : Problem, optional
    mechanism : Mechanism, optional
        For the picture.
    facts : tuple of pairs
        Of a release that was published: its numbers and notes, each with a name; they stand in the page.
    reading : tuple of str
        Of such a release: how its table is read, which stands in the page too.
    cases : tuple of rows
        Of a release of a table, for each of at most six values of the secret: how likely it is before, the most and the
        least that a single release leaves of that, and by which; see :data:`privopt.publication.worst.CASES`.

    Examples
    --------
    >>> import privopt as po
    >>> vote = po.JointDistribution([[0.3, 0.1], [0.2, 0.4]], ["red", "blue"], ["young", "old"])
    >>> explanation = po.solve(po.LocalInformationPrivacy(vote, 0.3)).explain()
    >>> print(explanation.sentences[1])
    Whatever is released, a value of the secret is at most 1.35 times as likely, or as unlikely, as before.
    """

    title: str
    sentences: tuple[str, ...]
    numbers: Mapping[str, float] = field(default_factory=dict)
    problem: Problem[Any] | None = field(default=None, repr=False, compare=False)
    mechanism: Mechanism | None = field(default=None, repr=False, compare=False)
    cases: tuple[tuple[str, ...], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    reading: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = ("", EACH, plain_table(self.cases, CASES)) if self.cases else ()
        return "\n".join((self.title, "", *self.sentences, *told))

    def _repr_html_(self) -> str:
        said = f"<h2>{escape(self.title)}</h2><ol>{''.join(f'<li>{escape(s)}</li>' for s in self.sentences)}</ol>"
        return f"{said}<p>{escape(EACH)}</p>{html_table(self.cases, CASES)}" if self.cases else said

    def html(self) -> str:
        """One page that needs no other file, with the picture where matplotlib is installed."""
        try:
            picture = _svg(self.figure())
        except MissingExtra:
            picture = ""
        style = "body{font:16px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em;overflow-wrap:anywhere}li{margin:.4em 0}svg{max-width:100%}table{display:block;overflow-x:auto}td,th{padding-right:.8em;overflow-wrap:break-word}"
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(self.title)}</title>'
            f"<style>{style}</style><body>{self._repr_html_()}{self._beside()}{picture}</body></html>\n"
        )

    def _beside(self) -> str:
        """What stands in the page beside the sentences: the numbers of a published release, and how it is read."""
        told = f"<h2>The release in numbers</h2>{html_table(self.facts)}" if self.facts else ""
        how = "".join(f"<p>{escape(text)}</p>" for text in self.reading)
        return f"{told}<h2>How it is read</h2>{how}" if how else told

    def figure(self) -> Figure | None:
        """A picture of the mechanism, None where there is none.

        Raises
        ------
        MissingExtra
            If matplotlib is not installed.
        """
        if self.problem is None or self.mechanism is None:
            return None
        from privopt.plots.mechanisms import mechanism_figure

        return mechanism_figure(self.problem, self.mechanism)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, whole or not at all: text, a page or a PDF, by the end of its name (.txt, .html, .pdf).

        Raises
        ------
        FileRefused
            If the name ends otherwise, or the file cannot be written.
        MissingExtra
            If it is a PDF and matplotlib is not installed.
        """
        target = Path(path)
        if target.suffix == ".pdf":
            self._save_pdf(target)
            return
        if target.suffix not in (".txt", ".html"):
            raise FileRefused(f"{target}: an explanation is written as .txt, .html or .pdf; give such a name")
        with writing(target) as stream:
            stream.write(f"{self}\n" if target.suffix == ".txt" else self.html())

    def _save_pdf(self, target: Path) -> None:
        try:
            from matplotlib.backends.backend_pdf import PdfPages
            from matplotlib.figure import Figure
        except ImportError as cause:
            raise MissingExtra(PDF) from cause
        from textwrap import wrap

        page = Figure(figsize=(8.27, 11.69))
        said = (
            (*self.sentences, EACH, *map("; ".join, (CASES, *self.cases))) if self.cases else self.sentences
        )
        lines = [line for s in said for line in (*wrap(s, 82), "")]
        page.text(0.1, 0.93, self.title, fontsize=16, weight="bold", va="top", parse_math=False)
        page.text(0.1, 0.87, "\n".join(lines), fontsize=11, va="top", linespacing=1.5, parse_math=False)
        with writing_bytes(target) as stream, PdfPages(stream, metadata={"CreationDate": None}) as pages:
            pages.savefig(page)
            if (picture := self.figure()) is not None:
                pages.savefig(picture)


def _svg(figure: Figure | None) -> str:
    """A figure as the element that stands in a page."""
    if figure is None:
        return ""
    import io

    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()[stream.getvalue().index("<svg") :]


def explain(problem: Problem[Any] | None, solution: Judged, receipt: Receipt | None = None) -> Explanation:
    """What a solution of a problem means, in at most eight plain sentences.

    They say what is protected against whom, by what factor at most, what is assumed, what is not covered, how useful the
    release is in the unit of the problem, and how often somebody who knows the model guesses what is private without and
    with it. The numbers are those of the certificate, rounded to its side of caution.

    Parameters
    ----------
    problem : Problem or None
    solution : Solution
    receipt : Receipt, optional
        Of a release: what is kept beside it, groups of equal rows and the total are said too, if need be in place of the last sentences.

    Raises
    ------
    InvalidProblem
        If the solution is of another problem, or of none that is at hand.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> print(explain(problem, po.solve(problem)).sentences[1])
    Whatever is shown, the odds between two of its values are at most 2.719 times what they were.
    """
    if problem is None:
        raise InvalidProblem(
            "a solution from a file does not hold its problem: explain(problem), with the problem that was solved"
        )
    if solution.problem and solution.problem != problem.fingerprint:
        raise InvalidProblem(
            "the solution answers another problem (its fingerprint differs); give the one that was solved"
        )
    mechanism, certificate = solution.answer, solution.certificate
    title = f"What this release protects: {type(problem).__name__}"
    if mechanism is None:
        return Explanation(
            title, (f"There is no release to explain: {solution.reason or 'it was not solved'}.",)
        )
    if certificate is None or not certificate.ok:
        why = "it was solved without a proof" if certificate is None else certificate.reason
        return Explanation(title, (f"Nothing is proved of this release, and it must not be used: {why}.",))
    parts = _parts(problem, mechanism, certificate)
    numbers, bound = dict(parts.numbers), _proved(parts.bound, certificate)
    if bound != parts.bound:
        numbers["proved factor"] = math.exp(certificate.leakage[1])
    sentences = replace(parts, bound=bound).sentences()[:MOST]
    explanation = Explanation(title, sentences, numbers, problem, mechanism, _cases(problem, mechanism))
    if receipt is None:
        return explanation
    joint = joint_of(problem)
    secret = Names().secret if joint is None else names_of(joint).secret
    added = receipt.sentences(certificate.kind == "average", secret)
    return replace(explanation, sentences=(*explanation.sentences[: MOST - len(added)], *added))


def _proved(bound: str, certificate: Certificate) -> str:
    """The sentence on the bound with what is proved of this release, where that is less than the budget that the bound quotes."""
    high, budget = certificate.leakage[1], certificate.budget
    if (
        certificate.kind != "privacy"
        or not high < budget < math.inf
        or f" {times(budget)} times" not in bound
    ):
        return bound
    if times(high) == times(budget):
        return bound
    return f"{bound}; that is the budget, and of this release {times(high)} times is proved"


def _cases(problem: Problem[Any], mechanism: Mechanism) -> tuple[tuple[str, ...], ...]:
    """What single releases of a table say of each value of the secret."""
    while isinstance(problem, Reformulation) and joint_of(problem) is None:
        mechanism, problem = problem.posed(mechanism), problem.target
    joint = joint_of(problem)
    if joint is None or not isinstance(mechanism, (Channel, Merging)):
        return ()
    seen = observation(joint)
    return each_value(
        seen.leaking_distribution(mechanism), seen.leaking.sensitive, written_releases(mechanism)
    )


def _parts(problem: Problem[Any], mechanism: Mechanism, certificate: Certificate) -> Parts:
    """The sentences for a kind of problem, and whether its release depends on the data at all."""
    data: Problem[Any] = problem
    while isinstance(data, Reformulation) and not isinstance(data, LocalInformationPrivacyData):
        mechanism = data.posed(mechanism)
        data = data.target
    parts = _of_kind(data, mechanism, certificate)
    told = plain_constant(data, mechanism)
    if not told:
        return parts
    return replace(
        parts, useful=f"{parts.useful}: {told}" if parts.useful else f"{told[0].upper()}{told[1:]}"
    )


def _of_kind(data: Problem[Any], mechanism: Mechanism, certificate: Certificate) -> Parts:
    """The sentences for a kind of problem; of a kind of the user's own, those of its certificate."""
    if isinstance(mechanism, (Channel, Merging)):
        if isinstance(data, LocalInformationPrivacyData):
            return _tables.local(data, mechanism, certificate)
        if isinstance(data, DistortionData):
            return _tables.distortion(data, mechanism, certificate)
        if isinstance(data, TradeOffData):
            return _tables.trade_off(data, mechanism, certificate)
        if isinstance(data, BeliefData) and isinstance(mechanism, Channel):
            return _tables.belief(data, mechanism, certificate)
    if isinstance(data, RedactionData) and isinstance(mechanism, RedactionMechanism):
        return _records.redaction(data, mechanism, certificate)
    if isinstance(data, SequenceData) and isinstance(mechanism, SequencePolicy):
        return _records.sequence(data, mechanism, certificate)
    if isinstance(data, BayesianPrivacyData) and isinstance(mechanism, NoisyQuery):
        return _records.noise(data, mechanism, certificate)
    if isinstance(data, MetricData) and isinstance(mechanism, Channel):
        return _places.places(data, mechanism, certificate)
    if isinstance(data, PostRandomisationData) and isinstance(mechanism, Channel):
        return _invariant.changed(data, mechanism, certificate)
    if isinstance(data, ColouringData) and isinstance(mechanism, Colouring):
        return _records.colouring(data, mechanism, certificate)
    return _general(certificate)


def _general(certificate: Certificate) -> Parts:
    """What the certificate says itself, for problems that are not of this package."""
    bounded = certificate.budget < math.inf and certificate.kind != "utility"
    return Parts(
        f"It is kept from {certificate.adversary}"
        if certificate.adversary
        else "Against whom it protects is not said",
        certificate.statement[:1].upper() + certificate.statement[1:],
        f"It is assumed that {certificate.assumption}" if certificate.assumption else "Nothing is assumed",
        f"Not covered: {certificate.uncovered[-1]}" if certificate.uncovered else "",
        f"Its usefulness is {plain(certificate.utility[0])}, in the unit of the problem",
        f"A factor of {times(certificate.budget)} is the most that a release may change" if bounded else "",
        numbers={"factor": math.exp(min(certificate.budget, 700.0)), "utility": certificate.utility[0]},
    )
