"""The shell of every page, and the templates that fill its blocks: Jinja2, with everything escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

WEB = "web"
"""Folder of the templates, styles and scripts."""


def render(template: str, values: Mapping[str, object]) -> str:
    """A page as text: the template of that name, which extends ``shell.html.j2``; values are escaped.

    The shell reads ``title`` and ``mark`` (what stands beside the name in the bar), and has the blocks ``title``, ``mark``,
    ``style``, ``places``, ``tools``, ``main`` and ``scripts``.

    Examples
    --------
    >>> page = render("shell.html.j2", {"title": "a < b", "mark": "quick"})
    >>> "<title>a &lt; b</title>" in page, "default-src 'none'" in page
    (True, True)
    """
    return _environment().get_template(template).render(values)


def resource(name: str) -> str:
    """The text of a template, style or script.

    Examples
    --------
    >>> "--ink" in resource("base.css")
    True
    """
    return files("privopt.benchmarks.report").joinpath(WEB, name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FunctionLoader(resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(calls=_calls, seconds=seconds)
    made.globals["text"] = lambda name: Markup(resource(name))
    return made


def seconds(value: float | None) -> str:
    """A time in a unit that suits it.

    Examples
    --------
    >>> [seconds(x) for x in (None, 0.0000123, 0.0471, 3.25)]
    ['–', '12 µs', '47.1 ms', '3.25 s']
    """
    if value is None:
        return "–"
    if value < 1e-3:
        return f"{value * 1e6:.2g} µs" if value < 1e-4 else f"{value * 1e6:.0f} µs"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def _calls(text: str) -> Markup:
    """What stands between backticks as code, all of it escaped."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts)
    )
