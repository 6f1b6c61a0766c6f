"""The report of a run: one HTML page that needs nothing but itself."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from privopt._files import writing
from privopt._text import number
from privopt._verify import verify
from privopt.benchmarks import _sentences as sentences
from privopt.benchmarks import _tables as tables
from privopt.benchmarks._folder import Manifest, Released, read_released, read_run
from privopt.benchmarks._rows import Row
from privopt.errors import MissingExtra


@dataclass(frozen=True)
class Verdict:
    """What a report says at its top: the sentences, and whether every certified claim was proved again."""

    holds: bool
    sentences: tuple[str, ...]


def write_report(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> Verdict:
    """Write the page of a run from the files in its folder alone; the release is proved afresh.

    Raises
    ------
    FileRefused
        If a file of the run is missing or malformed, or the page cannot be written.
    """
    place = Path(folder)
    manifest, rows = read_run(place)
    released = read_released(place)
    verdict = judge_run(manifest, rows, released)
    with writing(path) as stream:
        stream.write(page(manifest, rows, released, verdict))
    return verdict


def judge_run(manifest: Manifest, rows: Sequence[Row], released: Released | None) -> Verdict:
    """The summary of a run in sentences, and whether its claims hold."""
    proof = None if released is None else verify(released.problem, released.solution)
    said = (
        *sentences.headline(manifest, rows),
        *sentences.counts(rows),
        *sentences.release_sentences(manifest, released, proof),
    )
    return Verdict(not any(row.broken for row in rows) and (proof is None or proof.ok), said)


def page(manifest: Manifest, rows: Sequence[Row], released: Released | None, verdict: Verdict) -> str:
    """The page as text: style, script and figures are inside, and nothing is fetched."""
    return Template(_text("page.html")).substitute(
        title=html.escape(f"privopt benchmark: {manifest.suite}"),
        describe=html.escape(manifest.describe),
        when=html.escape(f"Run of {manifest.begun}, {manifest.seconds:.0f} s for {len(rows)} runs."),
        css=_text("page.css"),
        script=_text("page.js"),
        summary=_paragraphs(manifest.about) + _result(verdict),
        frontier=_frontiers(rows) + tables.side_by_side(rows),
        mechanism=_mechanism(released),
        solvers=tables.by_solver(rows),
        runs=tables.results(rows) + tables.refusals(rows),
        environment=tables.facts(manifest.environment),
    )


def _text(name: str) -> str:
    return files("privopt.benchmarks").joinpath(name).read_text(encoding="utf-8")


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{html.escape(line)}</p>\n" for line in lines)


def _result(verdict: Verdict) -> str:
    return f'<div class="result{"" if verdict.holds else " alarm"}">{_paragraphs(verdict.sentences)}</div>'


def _frontiers(rows: Sequence[Row]) -> str:
    from privopt.benchmarks._figures import frontier_svg

    solvers = sorted({r.solver for r in rows if r.ok})
    found = []
    for i, name in enumerate(dict.fromkeys(r.instance for r in rows if r.ok)):
        own = [r for r in rows if r.instance == name and r.ok]
        title = f"Utility against ε on {name}, by solver"
        try:
            drawn = frontier_svg(own, solvers, f"frontier{i}", title)
        except MissingExtra as cause:
            return _paragraphs([f"Figures were left out: {cause}. The tables below hold the same numbers."])
        found.append(_figure(drawn, f"{name}: {_frontier_caption(own)}"))
    return f'<div class="figures">{"".join(found)}</div>'


def _frontier_caption(rows: Sequence[Row]) -> str:
    """What the figure shows of the bound, in words."""
    bounded = any(r.bound is not None for r in rows)
    certified = (
        "every point is certified" if all(r.verified for r in rows) else "not every point is certified"
    )
    band = (
        "the grey band, where a gap is left, reaches up to the best checked bound"
        if bounded
        else "no solver brought a checked bound"
    )
    return (
        f"utility that each solver reaches within the budget ε, {rows[0].size} records; {certified}; {band}."
    )


def _mechanism(released: Released | None) -> str:
    if released is None:
        return _paragraphs(["There is none: nothing was released."])
    from privopt.benchmarks._figures import redaction_svg

    solution = released.solution
    title = f"Redaction probability by distance from the private record, by {solution.solver}"
    caption = (
        f"How often each record is hidden, by its distance from the private record and by its value: the mechanism of "
        f"“{solution.solver}” at ε = {number(released.problem.budget)}, utility {number(solution.utility, 4)}, as it was "
        "sampled for the release below. No bar: always shown. The private record itself is always hidden."
    )
    try:
        drawn = redaction_svg(released, "redaction", title)
        shown = "" if drawn is None else _figure(drawn, caption)
    except MissingExtra as cause:
        shown = _paragraphs([f"The figure was left out: {cause}."])
    return shown + tables.released_list(released)


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{html.escape(caption)}</figcaption></figure>\n"
