"""Cells and tables of a manuscript, and how both are written: LaTeX, Markdown, plain values."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

LONG = 40
"""Lines above which a table may break across pages."""
SMALLEST = -4
"""Powers of ten below which, and from the negative of which on, a number has an exponent."""

MILLI = -3
"""The same where digits after the point are asked for: of 0.0002 they would show one, by which values are not told apart."""


@dataclass(frozen=True)
class Text:
    """Words, with the keys of publications cited after them."""

    text: str
    cites: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """As a data file holds it."""
        return self.text

    def latex(self) -> str:
        """As LaTeX."""
        cites = f"~\\cite{{{','.join(self.cites)}}}" if self.cites else ""
        return escape_latex(self.text) + cites

    def markdown(self) -> str:
        """As Markdown."""
        return escape_markdown(self.text)


@dataclass(frozen=True)
class Number:
    """A mean with its standard deviation, or a sign in place of a number.

    Parameters
    ----------
    mean, sd : float or None
        ``sd`` is None without repetitions.
    decimals : int or None
        Digits after the point; None is three significant ones.
    best : bool
        Set in bold.
    sign : str
        Shown where there is no number, and after one that it qualifies.
    """

    mean: float | None
    sd: float | None = None
    decimals: int | None = None
    best: bool = False
    sign: str = ""

    @property
    def plain(self) -> float | str | None:
        """As a data file holds it."""
        return self.sign or None if self.mean is None else self.mean

    def latex(self) -> str:
        r"""As LaTeX; a minus is a minus, and an exponent is one.

        Examples
        --------
        >>> print(Number(-0.23456, 0.0012, 4, best=True).latex(), Number(1.2e-9).latex(), Number(None, sign="–").latex())
        $\mathbf{-0.2346}$ ($0.0012$) $1.2\times10^{-9}$ --
        """
        if self.mean is None:
            return _LATEX_SIGNS.get(self.sign, escape_latex(self.sign))
        mean = _latex_number(written(self.mean, self.decimals))
        shown = f"$\\mathbf{{{mean}}}$" if self.best else f"${mean}$"
        spread = "" if self.sd is None else f" (${_latex_number(self._spread)}$)"
        return shown + (f"$^{{{self.sign.replace('≈', chr(92) + 'approx')}}}$" if self.sign else "") + spread

    def markdown(self) -> str:
        """As Markdown.

        Examples
        --------
        >>> Number(-0.25, best=True).markdown(), Number(1.2e-9).markdown(), Number(0.5, 0.0, 2).markdown()
        ('**−0.25**', '1.2e−9', '0.50 (0)')
        """
        if self.mean is None:
            return self.sign
        mean = written(self.mean, self.decimals).replace("-", "−")
        spread = "" if self.sd is None else f" ({self._spread.replace('-', '−')})"
        return (f"**{mean}**" if self.best else mean) + escape_markdown(self.sign) + spread

    @property
    def _spread(self) -> str:
        """The standard deviation with the digits of the mean, or with two significant ones."""
        sd = self.sd or 0.0
        if sd == 0.0 or self.decimals is None or "e" in written(self.mean or 0.0, self.decimals):
            return written(float(f"{sd:.1e}"))
        unit = 10.0**-self.decimals
        return f"<{unit:.{self.decimals}f}" if sd < unit / 2 else f"{sd:.{self.decimals}f}"


Cell = Text | Number


def written(value: float, decimals: int | None = None) -> str:
    """A number in digits: as many after the point as asked for, or three significant ones; "1.2e-9" where it is tiny.

    Examples
    --------
    >>> written(0.5, 3), written(0.00156, 4), written(0.00016, 4), written(1234567.0), written(float("-inf")), written(-0.0)
    ('0.500', '0.0016', '1.6e-4', '1.23e6', '-inf', '0')
    """
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    if decimals is not None and max(-decimals, MILLI) <= power < 9:
        return f"{value:.{decimals}f}"
    if decimals is not None:
        return _exponent(value, 2)
    if SMALLEST < power < 6:
        return f"{value:.{max(0, 2 - power)}f}".rstrip("0").rstrip(".") if power < 2 else f"{value:.0f}"
    return _exponent(value, 3)


def _exponent(value: float, digits: int) -> str:
    factor, _, power = f"{value:.{digits - 1}e}".partition("e")
    return f"{factor.rstrip('0').rstrip('.') if '.' in factor else factor}e{int(power)}"


def decimals_for(values: Iterable[float], digits: int = 4) -> int:
    """Digits after the point with which the largest of some values has as many significant digits.

    Examples
    --------
    >>> decimals_for([0.123, 0.05]), decimals_for([12.0, 3.0]), decimals_for([])
    (4, 2, 3)
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    power = math.floor(math.log10(max(sizes))) if sizes else 0
    return min(9, max(0, digits - 1 - power))


def _latex_number(digits: str) -> str:
    if digits.endswith("inf"):
        return digits.replace("inf", r"\infty")
    factor, _, power = digits.partition("e")
    if not power:
        return digits
    return f"10^{{{power}}}" if factor == "1" else f"{factor}\\times10^{{{power}}}"


_LATEX_SIGNS = {"–": "--", "✕": r"$\times$", "∅": r"$\emptyset$"}
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "|": r"$|$", '"': "''",
    "ε": r"$\varepsilon$", "δ": r"$\delta$", "τ": r"$\tau$", "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$",
    "θ": r"$\theta$", "ρ": r"$\rho$", "γ": r"$\gamma$", "ν": r"$\nu$", "μ": r"$\mu$", "−": r"$-$", "±": r"$\pm$", "×": r"$\times$",
    "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\to$", "✕": r"$\times$", "∅": r"$\emptyset$", "∞": r"$\infty$", "·": r"$\cdot$",
    "[": "{[}", "]": "{]}", "“": "``", "”": "''", "’": "'", "–": "--", "…": r"\dots{}",
}  # fmt: skip


def escape_latex(raw: str) -> str:
    r"""Text in which nothing is a command, on one line, which every TeX can set: letters of other scripts are named by number.

    Examples
    --------
    >>> print(escape_latex("50 % of {x_1} & \\more, größte 大"))
    50 \% of \{x\_1\} \& \textbackslash{}more, größte {[}U+5927{]}
    """
    flat = " ".join(raw.split())
    return "".join(_SPECIAL.get(c) or _letter(c) for c in unicodedata.normalize("NFC", flat))


def _letter(character: str) -> str:
    if character < "\x7f":
        return character if character >= " " else ""
    if "\xc0" <= character <= "\u017f" and character.isalpha():
        return character
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co"):
        return ""
    return f"{{[}}U+{ord(character):04X}{{]}}"


def escape_markdown(raw: str) -> str:
    r"""Text in which nothing is markup, on one line.

    Examples
    --------
    >>> escape_markdown("a|b <i> *c*")
    'a\\|b &lt;i> \\*c\\*'
    """
    flat = " ".join(raw.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|#$~])", r"\\\1", flat)


@dataclass(frozen=True)
class Table:
    """A captioned table.

    Parameters
    ----------
    name : str
        Stem of its files.
    caption : str
    columns : tuple of Text
    lines : tuple of tuple of Cell
    groups : tuple of (str, int)
        Heads above the columns, each with how many it spans; they leave out the first column.
    last : int
        How many of the last lines stand below a rule of their own.
    headed : bool
        Whether LaTeX writes the first column as a line above those that share its text, because it is wide.
    """

    name: str
    caption: str
    columns: tuple[Text, ...]
    lines: tuple[tuple[Cell, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    last: int = 0
    headed: bool = False

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(
            any(isinstance(line[i], Number) for line in self.lines) for i in range(len(self.columns))
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns as a data file calls them, those of a group with its head before."""
        heads = [""] + [head for head, span in self.groups for _ in range(span)]
        plain = [column.text for column in self.columns]
        if self.groups:
            plain = [f"{head}, {name}".removeprefix(", ") for head, name in zip(heads, plain, strict=True)]
        return tuple(name if plain.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(plain, 1))


def latex(table: Table) -> str:
    r"""The table as LaTeX with booktabs, to be read in with ``\input``."""
    return "\n".join(_long(table) if len(table.lines) > LONG else _short(table)) + "\n"


def _short(table: Table) -> Iterator[str]:
    yield "% Needs \\usepackage{booktabs}."
    yield f"\\begin{{table}}[htbp]\n\\centering{_size(table)}"
    yield f"{_caption(table)}\\vspace{{4pt}}"
    yield f"\\begin{{tabular}}{{{_alignment(table)}}}\n\\toprule"
    yield from _heads(table)
    yield "\\midrule"
    yield from _body(table)
    yield "\\bottomrule\n\\end{tabular}\n\\end{table}"


NARROW = 100
"""Characters of a line above which a table is set smaller."""


SMALLEST_FROM = 135
"""The same above which it is set as small as can be read."""


def _size(table: Table) -> str:
    """The commands that set a table small, or smaller where its lines are long."""
    shown = [*table.lines, table.columns]
    lengths = (max(_length(line[i]) for line in shown) for i in range(table.headed, len(table.columns)))
    width = sum(length + 2 for length in lengths)
    if width > SMALLEST_FROM:
        return "\\tiny\\setlength{\\tabcolsep}{2pt}"
    if width > NARROW:
        return "\\scriptsize\\setlength{\\tabcolsep}{2.5pt}"
    return "\\footnotesize\\setlength{\\tabcolsep}{4pt}"


def _length(cell: Cell) -> int:
    """Characters that a cell takes, roughly."""
    if isinstance(cell, Text):
        return len(cell.text) + 4 * len(cell.cites)
    return len(cell.markdown().replace("*", ""))


def _long(table: Table) -> Iterator[str]:
    heads = "\n".join(_heads(table))
    yield "% Needs \\usepackage{booktabs,longtable}."
    yield f"{{{_size(table)}\\setlength{{\\LTcapwidth}}{{\\linewidth}}"
    yield f"\\begin{{longtable}}{{{_alignment(table)}}}"
    yield f"{_caption(table)}\\\\"
    yield f"\\toprule\n{heads}\n\\midrule\n\\endfirsthead\n\\toprule\n{heads}\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot"
    yield from _body(table)
    yield "\\end{longtable}}"


def _caption(table: Table) -> str:
    return f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{table.name}}}"


def _alignment(table: Table) -> str:
    return "".join("r" if right else "l" for right in table.numeric[table.headed :])


def _heads(table: Table) -> Iterator[str]:
    if table.groups:
        yield (
            " & "
            + " & ".join(
                f"\\multicolumn{{{span}}}{{c}}{{{escape_latex(head)}}}" for head, span in table.groups
            )
            + r" \\"
        )
        place = 2
        rules = []
        for _, span in table.groups:
            rules.append(f"\\cmidrule(lr){{{place}-{place + span - 1}}}")
            place += span
        yield " ".join(rules)
    yield " & ".join(column.latex() for column in table.columns[table.headed :]) + r" \\"


def _body(table: Table) -> Iterator[str]:
    head = ""
    for i, line in enumerate(table.lines):
        if table.last and i == len(table.lines) - table.last and i:
            yield "\\midrule"
        if table.headed and line[0].latex() != head:
            head = line[0].latex()
            yield f"\\multicolumn{{{len(line) - 1}}}{{l}}{{\\textit{{{head}}}}} \\\\"
        yield " & ".join(cell.latex() for cell in line[table.headed :]) + r" \\"


def markdown(table: Table) -> str:
    """The table as Markdown, its caption in bold above it."""
    heads = [escape_markdown(name) for name in table.names]
    rule = ["---:" if right else "---" for right in table.numeric]
    lines = [heads, rule, *([cell.markdown() for cell in line] for line in table.lines)]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{escape_markdown(table.caption)}**\n\n{rows}\n"


def slug(*names: str) -> str:
    """A name for a file: lower-case ASCII words, joined by hyphens.

    Examples
    --------
    >>> slug("privacy_funnel", "Größte Körbe"), slug("大")
    ('privacy-funnel-grosste-korbe', 'u5927')
    """
    words = [_ascii(name) for name in names]
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-") or "x"


def _ascii(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    return "".join(c if c.isascii() else "" if unicodedata.combining(c) else f" u{ord(c):x} " for c in plain)


def distinct(names: Sequence[str]) -> list[str]:
    """The names, a number after those that came before.

    Examples
    --------
    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a-2']
    """
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return out
