"""Publications behind solvers: one table in BibTeX, and which of its entries the documentation of a solver names."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from privopt.core.registry import problem_types, solvers_of
from privopt.core.solver import Solver


@dataclass(frozen=True)
class Publication:
    """An entry of the table.

    Parameters
    ----------
    key, title, year : str
    surnames : tuple of str
        Of the authors.
    packages : tuple of str
        Modules that it describes: solvers that require one of them rest on it.
    entry : str
        As BibTeX.
    """

    key: str
    title: str
    year: str
    surnames: tuple[str, ...]
    packages: tuple[str, ...]
    entry: str

    def named_in(self, text: str) -> bool:
        """Whether a text names it: by its quoted title or how that begins, by all surnames, or by surname and year.

        Examples
        --------
        >>> warner = publications()["warner1965"]
        >>> warner.named_in('Warner, "Randomized Response"'), warner.named_in("see Warner, 1965")
        (True, True)
        >>> warner.named_in("randomized response")
        False
        """
        title, plain = _plain(self.title), _plain(text)
        quoted = (_plain(words) for words in re.findall(r'"([^"]+)"', " ".join(text.split())))
        if any(" " in words and title.startswith(words) for words in quoted):
            return True
        surnames = [_plain(name) for name in self.surnames]
        if len(surnames) > 1 and f" {' '.join(surnames)} " in f" {plain} ":
            return True
        return f" {surnames[0]} {self.year} " in f" {plain} "


_ENTRY = re.compile(r"^@(\w+)\{([^,]+),\n(.*?)^\}\n", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)


@cache
def publications() -> Mapping[str, Publication]:
    """Every entry of the table by its key.

    Examples
    --------
    >>> publications()["tishby1999"].title
    'The information bottleneck method'
    """
    text = files("privopt.benchmarks.manuscript").joinpath("references.bib").read_text(encoding="utf-8")
    return {match[2]: _publication(match) for match in _ENTRY.finditer(text)}


def _publication(match: re.Match[str]) -> Publication:
    fields = dict(_FIELD.findall(match[3]))
    surnames = (author.split(",")[0] for author in fields["author"].split(" and "))
    return Publication(
        match[2],
        fields["title"],
        fields["year"],
        tuple(surnames),
        tuple(fields.get("keywords", "").split()),
        match[0],
    )


def _plain(text: str) -> str:
    """Lower-case words of ASCII letters and digits, TeX's accents and braces taken off."""
    letters = text.replace(r"{\ss}", "ss").replace("ß", "ss")
    letters = re.sub(r"\\[\"'`^~]|[{}]", "", letters)
    ascii_only = unicodedata.normalize("NFKD", letters).encode("ascii", "ignore").decode()
    return " ".join(re.findall(r"[a-z0-9]+", ascii_only.lower()))


def documentation(cls: type[Any]) -> str:
    """What a class of the package, its ancestors and their modules say of themselves."""
    texts = []
    for one in cls.__mro__:
        if one.__module__.startswith("privopt") and one is not Solver:
            texts += [vars(one).get("__doc__") or "", sys.modules[one.__module__].__doc__ or ""]
    return "\n".join(texts)


def _named(text: str) -> tuple[str, ...]:
    return tuple(key for key, one in publications().items() if one.named_in(text))


def sources(solver: type[Solver[Any]]) -> tuple[str, ...]:
    """Keys of the publications that a solver's documentation names, and of those on the packages it requires.

    A solver that is this library's own and needs no package names none: then those of its problem are its source.

    Examples
    --------
    >>> from privopt import Redaction
    >>> from privopt.core.registry import solvers_of
    >>> sources(solvers_of(Redaction)["conic-ecos"])
    ('massny2025', 'diamond2016', 'domahidi2013')
    """
    software = (key for key, one in publications().items() if set(one.packages) & set(solver.requires))
    return tuple(dict.fromkeys((*_named(documentation(solver)), *software)))


def problem_sources(kind: str) -> tuple[str, ...]:
    """Keys of the publications that a problem rests on, by its kind; nothing where it is not registered here.

    Examples
    --------
    >>> problem_sources("pointwise_maximal_leakage"), problem_sources("sorting")
    (('saeidian2023', 'grosse2023'), ())
    """
    cls = problem_types().get(kind)
    return () if cls is None else _named(documentation(cls))


def solver_sources(kind: str, solver: str) -> tuple[str, ...]:
    """:func:`sources` by the kind of problem and the name of the solver; nothing where they are not registered here.

    Examples
    --------
    >>> solver_sources("information_bottleneck", "agglomerative"), solver_sources("sorting", "quick")
    (('slonim1999',), ())
    """
    cls = problem_types().get(kind)
    known = {} if cls is None else solvers_of(cls)
    return sources(known[solver]) if solver in known else ()


def bibliography(keys: Iterable[str]) -> str:
    """The entries of some keys as BibTeX, each once, in the order of the table.

    Examples
    --------
    >>> print(bibliography(["picard1976"]).splitlines()[0])
    @article{picard1976,
    """
    wanted = set(keys)
    return "".join(one.entry for key, one in publications().items() if key in wanted)
