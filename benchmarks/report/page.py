"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from privopt.benchmarks.report import document
from privopt.benchmarks.report.content import Content, Part
from privopt.benchmarks.report.figure import DARK, LIGHT, Figure, library
from privopt.benchmarks.report.judged import FIELDS, LEAST_GAP, Dataset, Judged, Value, encode, questions
from privopt.benchmarks.report.profiles import TICK
from privopt.benchmarks.report.style import Style


def embedded(content: Content) -> str:
    """JSON for a script element: nothing in it can end the element or open a comment."""
    used = {
        name
        for figure in content.figures
        for data in figure.data.values()
        if data.rows is not None
        for name in data.columns
    }
    value = {
        "solvers": list(content.look),
        "frame": {name: _column(content.rows, name) for name in sorted(used)},
        "figures": [_figure_data(figure) for figure in content.figures],
        "themes": {"light": LIGHT, "dark": DARK},
        "least": LEAST_GAP,
        "tick": TICK,
    }
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _column(rows: Sequence[Judged], name: str) -> dict[str, list[Any]]:
    """Texts as levels and codes, anything else as it is."""
    values: list[Value] = [FIELDS[name](j) for j in rows]
    if values and all(isinstance(value, str) for value in values):
        levels = {value: i for i, value in enumerate(dict.fromkeys(values))}
        return {"levels": list(levels), "codes": [levels[value] for value in values]}
    return {"values": [encode(value) for value in values]}


def _figure_data(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "parts": list(figure.parts),
        "profile": figure.profile,
        "shown": figure.shown,
        "spec": figure.spec,
        "data": {name: _data(data) for name, data in figure.data.items() if not _computed(figure, name)},
    }


def _computed(figure: Figure, name: str) -> bool:
    """Whether the page computes these data itself, from the rows of a profile."""
    return bool(figure.profile) and name == figure.shown


def _data(data: Dataset) -> dict[str, Any]:
    if data.rows is not None:
        return {"columns": list(data.columns), "rows": list(data.rows)}
    return {
        "columns": list(data.columns),
        "records": [[encode(value) for value in record] for record in data.records],
    }


SCRIPTS = ("data.js", "profiles.js", "figures.js", "downloads.js", "filters.js")


def page(content: Content) -> str:
    """The page as text: style, scripts and data are inside, and nothing is fetched."""
    summary = (
        document.paragraphs(content.about)
        + document.result(content.verdict.sentences, content.verdict.holds)
        + "".join(f"<h3>{html.escape(q)}</h3>\n{_list(said)}" for q, said in content.findings)
    )
    sections = [document.Section("summary", "Summary", summary)]
    sections += [document.Section(part.name, part.title, _part(part)) for part in content.parts]
    return document.document(
        content.title,
        content.describe,
        content.when,
        sections,
        before=_controls(content),
        scripts=_scripts(content),
    )


def _list(lines: Iterable[str]) -> str:
    return f'<ul class="findings">{"".join(f"<li>{html.escape(line)}</li>" for line in lines)}</ul>\n'


def _part(part: Part) -> str:
    return (
        document.paragraphs(part.sentences)
        + (f'<div class="figures">{"".join(map(_figure, part.figures))}</div>\n' if part.figures else "")
        + "".join(table.html() for table in part.tables)
        + (_records(part) if part.records else "")
        + (document.words(part.words) if part.words else "")
    )


def _figure(figure: Figure) -> str:
    """A place to draw in, with the caption and the buttons; hidden until the script runs."""
    name = html.escape(figure.name)
    marks = f'data-question="{html.escape(figure.question)}" data-instance="{html.escape(figure.instance)}"'
    buttons = "".join(
        f'<button type="button" data-format="{kind.lower()}" aria-label="Save “{html.escape(figure.title)}” as {kind}">{kind}</button>'
        for kind in ("SVG", "PNG", "CSV")
    )
    return (
        f'<figure id="figure-{name}" data-figure="{name}" {marks}><div class="plot" role="img" '
        f'aria-label="{html.escape(figure.title)}"></div><figcaption><b>{html.escape(figure.title)}.</b> '
        f'<span class="said">{html.escape(figure.caption)}</span></figcaption>'
        f'<div class="save no-print">Save as {buttons}</div></figure>\n'
    )


def _records(part: Part) -> str:
    boxes = "".join(_box(label, cell) for label, cell in part.records)
    return f'<ol class="records" aria-label="Released records">{boxes}</ol>\n'


def _box(label: str, cell: str) -> str:
    kind, shown = (' class="hidden"', "hidden") if cell == "" else ("", html.escape(cell))
    return f"<li{kind}><small>{html.escape(label)}</small> {shown}</li>"


def _controls(content: Content) -> str:
    """What chooses solvers, a problem, an instance and a text; hidden until the script runs."""
    boxes = "".join(_choice(name, content.look[name]) for name in sorted(content.look))
    instances = dict.fromkeys(j.row.instance for j in content.rows)
    return (
        '<form class="controls no-print" hidden aria-label="What is shown"><details open><summary>What is shown</summary>'
        f'<fieldset><legend>Solvers <button type="button" data-all>all</button> <button type="button" data-none>none</button>'
        f'</legend><div class="choices">{boxes}</div></fieldset><div class="selects">'
        f"{_select('question', 'Question', questions(content.rows))}{_select('instance', 'Instance', instances)}"
        '<label>Rows with <input type="search" name="text" placeholder="any text" autocomplete="off"></label>'
        '</div><p class="state" role="status"></p></details></form>\n'
        "<noscript><p>Figures are drawn by the script of this page, which is off; the tables hold the same numbers.</p></noscript>\n"
    )


def _choice(solver: str, look: Style) -> str:
    name = html.escape(solver)
    dash = ",".join(map(str, look.dash))
    swatch = (
        '<svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">'
        f'<path d="M0 5H28" stroke="{look.colour}" stroke-width="3" stroke-dasharray="{dash}"/></svg>'
    )
    return f'<label><input type="checkbox" name="solver" value="{name}" checked>{swatch}{name}</label>'


def _select(name: str, label: str, values: Iterable[str]) -> str:
    choices = list(values)
    if len(choices) < 2:
        return f'<input type="hidden" name="{name}">'
    options = "".join(f"<option>{html.escape(value)}</option>" for value in choices)
    return f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select></label>'


def _scripts(content: Content) -> str:
    """The library in a scope of its own, the data, and the scripts; without figures only what filters tables."""
    drawing = f"<script>(() => {{\n{library()[0]}\n}})();</script>\n" if content.figures else ""
    own = "\n".join(files("privopt.benchmarks.report").joinpath(name).read_text("utf-8") for name in SCRIPTS)
    data = f'<script type="application/json" id="run">{embedded(content)}</script>\n'
    return f"{drawing}{data}<script>\n{own}\n</script>"
