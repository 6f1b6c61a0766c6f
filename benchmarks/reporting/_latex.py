"""Tables as LaTeX, in the manner of the package booktabs; long ones break across pages with longtable."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from privopt.benchmarks._cells import Table, text

PREAMBLE = "% Needs \\usepackage{booktabs,longtable} and an engine that reads UTF-8.\n"
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "ε": r"$\varepsilon$", "δ": r"$\delta$", "τ": r"$\tau$",
    "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$", "−": r"$-$", "±": r"$\pm$", "×": r"$\times$",
    "≤": r"$\leq$", "≥": r"$\geq$", "[": "{[}", "]": "{]}", "“": "``", "”": "''", "∞": r"$\infty$",
}  # fmt: skip


def latex(tables: Iterable[Table]) -> str:
    r"""Every table, to be read in with ``\input``."""
    return PREAMBLE + "\n".join("\n".join(_table(table)) + "\n" for table in tables)


def escape(given: str) -> str:
    r"""Text in which nothing is a command, on one line.

    Examples
    --------
    >>> print(escape("50 % of {x_1} & \\more"))
    50 \% of \{x\_1\} \& \textbackslash{}more
    """
    flat = " ".join(given.split())
    printable = (c for c in flat if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
    return "".join(_SPECIAL.get(c, c) for c in printable)


def _table(table: Table) -> Iterator[str]:
    columns = "".join("r" if right else "l" for right in table.numeric)
    heads = _row(head.text for head in table.header)
    yield f"\\begin{{longtable}}{{{columns}}}"
    yield f"\\caption{{{escape(table.caption)}}}\\label{{tab:{escape_label(table.name)}}}\\\\"
    yield f"\\toprule\n{heads}\n\\midrule\n\\endfirsthead"
    yield f"\\toprule\n{heads}\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot"
    yield from (_row(map(text, line)) for line in table.lines)
    yield "\\end{longtable}"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(map(escape, cells)) + r" \\"


def escape_label(name: str) -> str:
    """Letters, digits and hyphens of a name.

    Examples
    --------
    >>> escape_label("runs_1")
    'runs-1'
    """
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
