"""Loader of the election survey that ships with the package."""

from __future__ import annotations

from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS: dict[str, tuple[str, ...]] = {
    "vote": ("Clinton", "Dole"),
    "party": (
        "strong Democrat",
        "weak Democrat",
        "independent Democrat",
        "independent",
        "independent Republican",
        "weak Republican",
        "strong Republican",
    ),
    "leaning": (
        "extremely liberal",
        "liberal",
        "slightly liberal",
        "moderate",
        "slightly conservative",
        "conservative",
        "extremely conservative",
    ),
    "education": (
        "1-8 grades",
        "some high school",
        "high school",
        "some college",
        "college",
        "master",
        "doctorate",
    ),
}
"""What the codes mean, in their order."""

FIRST = {"vote": 0, "party": 0, "leaning": 1, "education": 1}
"""The lowest code of each column."""


def anes() -> DataFrame:
    """Answers of 944 Americans before the election of 1996; public domain.

    Returns
    -------
    pandas.DataFrame
        Columns ``vote`` (two values), ``party``, ``leaning``, ``education`` (seven each) in words, and
        ``tv_news``, evenings a week, 0 to 7.

    Examples
    --------
    >>> frame = anes()
    >>> frame.shape, int((frame["vote"] == "Dole").sum())
    ((944, 5), 393)
    """
    import pandas as pd

    text = files("privopt.benchmarks.data").joinpath("anes-1996.csv").read_text(encoding="utf-8")
    codes = pd.read_csv(StringIO(text))
    words = {
        column: [WORDS[column][code - FIRST[column]] for code in codes[column].tolist()] for column in WORDS
    }
    return pd.DataFrame({**words, "tv_news": codes["tv_news"]})
