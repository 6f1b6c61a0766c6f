"""What leaves the studio beside the release: the script, the notebook and the command that make one of the same problem."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privopt import __version__
from privopt.files.text import number
from privopt.publication.words import times
from privopt.studio.analysis import Analysis

PATIENCE = 30.0
"""Seconds for all solving that a publication takes by itself."""


def script(analysis: Analysis, epsilon: float, table: str, folder: str) -> str:
    """A Python script that makes a release of the same problem, in the folder of the table.

    Parameters
    ----------
    analysis : Analysis
    epsilon : float
    table, folder : str
        Names of the table, and of the folder of the release beside it.
    """
    body = [
        *_check(),
        *_read(analysis),
        *_publish(analysis, epsilon),
        "print(publication.explain())",
        "publication.save(FOLDER)",
    ]
    lines = [
        f'"""Release columns of {_quiet(table)} so that little is learnt about a secret; made with the studio of privopt {__version__}.',
        "",
        "It reads the table beside it, draws the release once, and writes it into a new folder with all that speaks for it.",
        '"""',
        "",
        *_imports(table, folder),
        "",
        "",
        "def main() -> None:",
        *(f"    {line}" if line else "" for line in body),
        "",
        "",
        'if __name__ == "__main__":',
        "    main()",
        "",
    ]
    return "\n".join(lines)


def notebook(analysis: Analysis, epsilon: float, table: str, folder: str) -> str:
    """A Jupyter notebook that makes a release of the same problem, step by step."""
    choice = analysis.choice
    cells = [
        _words(
            f"# A release of {_titles(choice.columns)} that says little about {_titles(choice.secret)}\n\n"
            f"With ε = {number(epsilon)}: whatever is released of a row, no value of the secret becomes more than "
            f"{times(epsilon)} times as likely, or as unlikely, as before. "
            f"Made with the studio of privopt {__version__}; keep it in the folder of the table."
        ),
        _code([*_imports(table, folder), "", *_check()]),
        _words(
            "## The table\n\nEvery cell is read as it is written; empty ones are missing, and nothing else is."
        ),
        _code([*_read(analysis), "len(frame)"]),
        _words("## The release\n\nThe best one within the budget, proved."),
        _code([*_publish(analysis, epsilon), "print(publication.explain())"]),
        _words("## What it costs\n\nUsefulness for other budgets."),
        _code(["publication.frontier"]),
        _words("## What each released value stands for"),
        _code(["publication.codebook"]),
        _words(
            "## Write it\n\nOnce: a second draw of the same rows says more about the secret than one, and the proof is of one."
        ),
        _code(["publication.frame.head()"]),
        _code(["publication.save(FOLDER)"]),
    ]
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def command(analysis: Analysis, epsilon: float, table: Path, folder: Path) -> str:
    """The command that makes a release of the same problem; empty where names, values or hierarchies cannot be written in one line.

    Parameters
    ----------
    analysis : Analysis
    epsilon : float
    table, folder : Path
    """
    choice, order = analysis.choice, analysis.choice.order
    if choice.hierarchies or any("," in name or name != name.strip() for name in choice.used):
        return ""
    named = [name for values in order.values() for name in values]
    if any("," in value for value in named) or any("=" in name for name in order):
        return ""
    words = ["privopt", "publish", str(table), "--secret", ",".join(choice.secret)]
    words += ["--columns", ",".join(choice.columns), "--epsilon", f"{epsilon:g}"]
    for name, rule in choice.bins.items():
        words += ["--bins", f"{name}={rule}"]
    for name, values in order.items():
        words += ["--order", f"{name}={','.join(values)}" if values else name]
    if choice.contiguous != bool(order):
        words.append("--contiguous" if choice.contiguous else "--any")
    if choice.missing != "symbol":
        words += ["--missing", choice.missing]
    if choice.minimum_count is not None:
        words += ["--minimum-count", str(choice.minimum_count)]
    return shlex.join([*words, "--output", str(folder)])


def _imports(table: str, folder: str) -> list[str]:
    return [
        "from pathlib import Path",
        "",
        "import pandas as pd",
        "",
        "import privopt as po",
        "",
        f"TABLE, FOLDER = Path({table!r}), Path({folder!r})",
    ]


def _check() -> list[str]:
    """The lines that end where a release is there already."""
    return [
        "if FOLDER.exists():",
        '    raise SystemExit(f"{FOLDER} is there already, and the same people are released once only: use what is in it")',
    ]


def _read(analysis: Analysis) -> list[str]:
    """The lines that read the table as the studio does: text as it is written, and columns of many numbers as numbers."""
    choice, frame = analysis.choice, analysis.people.frame
    numbers = [name for name in choice.used if frame[name].dtype.kind == "f"]
    return [
        "frame = pd.read_csv(",
        "    TABLE,",
        f"    usecols={list(choice.used)!r},",
        "    dtype=str,",
        "    keep_default_na=False,",
        '    na_values=[""],',
        ")",
        *(
            f'frame[{name!r}] = frame[{name!r}].map(float, na_action="ignore").astype("float64")'
            for name in numbers
        ),
    ]


def _publish(analysis: Analysis, epsilon: float) -> list[str]:
    """The call that makes the release, an argument a line."""
    choice, rules = analysis.choice, analysis.rules
    secret: object = choice.secret[0] if len(choice.secret) == 1 else list(choice.secret)
    lines = [
        "publication = po.publish(",
        "    frame,",
        f"    secret={secret!r},",
        f"    columns={list(choice.columns)!r},",
        f"    epsilon={epsilon!r},",
    ]
    if choice.bins:
        lines.append(f"    bins={dict(choice.bins)!r},")
    if rules.order:
        lines.append(f"    order={ {name: list(values) for name, values in rules.order.items()}!r},")
    if choice.hierarchies:
        trees = [(name, choice.hierarchies[name]) for name in choice.hierarchies]
        lines.append("    hierarchies={")
        for name, levels in trees:
            lines += [
                f"        {name!r}: {{",
                *(f"            {v!r}: {row!r}," for v, row in levels.items()),
                "        },",
            ]
        lines.append("    },")
    if choice.minimum_count is not None:
        lines.append(f"    minimum_count={choice.minimum_count},")
    lines += [f"    missing={choice.missing!r},", f"    contiguous={choice.contiguous!r},"]
    limit = 6 * choice.seconds
    return [*lines, *([f"    time_limit={limit:g},"] if limit > PATIENCE else []), ")"]


def _words(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(lines: Sequence[str]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": "\n".join(lines).splitlines(keepends=True),
    }


def _titles(names: Sequence[str]) -> str:
    return ", ".join(_quiet(name) for name in names)


def _quiet(name: str) -> str:
    """A name without what would end a string, start a line or be read as a mark."""
    return "".join(c if c.isprintable() and c not in '"\\`*_#<>[]' else " " for c in name)
