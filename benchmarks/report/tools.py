"""What a page shows of other tools: a matrix of tools by problems, in signs and words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ToolCell:
    """What a tool made of a problem, in a sign and in words."""

    kind: str
    sign: str
    said: str
    speed: str = ""


@dataclass(frozen=True)
class ToolLine:
    """A tool at every problem; None where it was not asked."""

    tool: str
    cells: tuple[ToolCell | None, ...]


@dataclass(frozen=True)
class ToolMatrix:
    """Tools by problems, with the finding before it and a sentence or two after it."""

    headline: str
    said: str
    problems: tuple[str, ...]
    lines: tuple[ToolLine, ...]
