"""A figure of the page: one Vega-Lite specification with its words and its data; and the script that draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from privopt.benchmarks.report.judged import Dataset
from privopt.errors import MissingExtra

NEEDS = 'figures need altair and vl-convert-python: pip install "privopt[plot]"'


@dataclass(frozen=True)
class Figure:
    """A drawing with its words and its data.

    Parameters
    ----------
    title, caption : str
    spec : mapping
        Vega-Lite, its data named and left out, its width that of its container.
    data : mapping of str to Dataset
        By the names that the specification reads.
    """

    title: str
    caption: str
    spec: Mapping[str, Any]
    data: Mapping[str, Dataset]


def library() -> tuple[str, str]:
    """The script that draws in the page, and the version of Vega-Lite that the specifications are written in.

    Raises
    ------
    MissingExtra
        If Altair or vl-convert is not installed.
    """
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    return _bundle(version), version


@cache
def _bundle(version: str) -> str:
    """The script, which takes longer to put together than to write."""
    import vl_convert

    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    return made
