"""Pictures of the gallery: data computed from what ships, and how they are drawn; found by scanning a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privopt.benchmarks.catalogue import Catalogue
from privopt.benchmarks.report.document import figure_style
from privopt.plots.curves import new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Draw = Callable[[], "Figure"]


@dataclass(frozen=True, eq=False)
class Drawn:
    """The numbers of a picture, the same every time, and what draws them.

    Parameters
    ----------
    frame : DataFrame
    draw : callable
        Returns the figure; called within the style of figures.
    """

    frame: pd.DataFrame
    draw: Draw


@dataclass(frozen=True)
class Picture:
    """A named picture.

    Parameters
    ----------
    name : str
        Stem of its files.
    problems : tuple of str
        Kinds of problems that it shows.
    title, caption : str
        What is shown, and what to see in it.
    guide : str
        The page of the documentation on that problem.
    make : callable
        Computes it.
    """

    name: str
    questions: tuple[str, ...]
    title: str
    caption: str
    guide: str
    make: Callable[[], Drawn]


_CATALOGUE = Catalogue[Picture]("a picture", "privopt.benchmarks.gallery.pictures")


def register_picture(
    name: str, questions: tuple[str, ...], title: str, caption: str, guide: str
) -> Callable[[Callable[[], Drawn]], Callable[[], Drawn]]:
    """Decorate the function that computes a picture.

    Raises
    ------
    ValueError
        If the name is taken.
    """

    def enter(make: Callable[[], Drawn]) -> Callable[[], Drawn]:
        _CATALOGUE.add(name, Picture(name, questions, title, caption, guide, make))
        return make

    return enter


def pictures() -> dict[str, Picture]:
    """Every registered picture by name, in the order of names.

    Examples
    --------
    >>> "redaction" in pictures()
    True
    """
    return _CATALOGUE.items()


@contextmanager
def styled() -> Iterator[None]:
    """The style of figures.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        yield


def axes_of(width: float, height: float, x: str, y: str) -> tuple[Figure, Axes]:
    """An empty figure whose axes have names."""
    figure, axes = new_figure(width, height)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return figure, axes
