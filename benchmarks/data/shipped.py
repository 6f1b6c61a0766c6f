"""Loaders of the data that ship with the package: weather, a survey, employment, airports."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pandas import DataFrame


LETTERS = ("mild", "frost")
"""Letters of the frost stream; a day is "frost" when its minimum is 0 °C or less."""


@dataclass(frozen=True, eq=False)
class Weather:
    """Days in a row with what was measured on each.

    Parameters
    ----------
    dates : tuple of datetime.date
    precipitation : array, mm a day
    temp_min : array, degrees Celsius
    """

    dates: tuple[date, ...]
    precipitation: NDArray[np.float64]
    temp_min: NDArray[np.float64]

    def month(self, year: int, month: int) -> Weather:
        """The days of one month.

        Examples
        --------
        >>> len(seattle_weather().month(2013, 1).dates)
        31
        """
        kept = np.array([(day.year, day.month) == (year, month) for day in self.dates])
        dates = tuple(day for day, keep in zip(self.dates, kept, strict=True) if keep)
        return Weather(dates, self.precipitation[kept], self.temp_min[kept])

    def frost(self) -> tuple[str, ...]:
        """One letter a day: "frost" where the minimum is 0 °C or less, else "mild".

        Examples
        --------
        >>> seattle_weather().month(2013, 1).frost().count("frost")
        16
        """
        return tuple(LETTERS[int(cold)] for cold in self.temp_min <= 0)


def seattle_weather() -> Weather:
    """Daily weather of Seattle, 2012 to 2015: public-domain NOAA data, 1461 days without a gap.

    Examples
    --------
    >>> weather = seattle_weather()
    >>> weather.dates[0].isoformat(), weather.dates[-1].isoformat(), float(weather.temp_min[0])
    ('2012-01-01', '2015-12-31', 5.0)
    """
    text = files("privopt.benchmarks.data").joinpath("seattle-weather.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return Weather(
        tuple(date.fromisoformat(row["date"]) for row in rows),
        np.array([float(row["precipitation"]) for row in rows]),
        np.array([float(row["temp_min"]) for row in rows]),
    )


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


def us_employment() -> dict[str, float]:
    """Employees in the United States in December 2015, in thousands, by sector (Bureau of Labor Statistics).

    Examples
    --------
    >>> sectors = us_employment()
    >>> len(sectors), sectors["construction"], round(sum(sectors.values()))
    (15, 6632.0, 143093)
    """
    text = files("privopt.benchmarks.data").joinpath("us-employment-2015.csv").read_text(encoding="utf-8")
    return {row["sector"]: float(row["thousands"]) for row in csv.DictReader(StringIO(text))}


@dataclass(frozen=True, eq=False)
class Airports:
    """Places with names.

    Parameters
    ----------
    codes, names : tuple of str
    places : array (n, 2)
        Latitude and longitude in degrees.
    """

    codes: tuple[str, ...]
    names: tuple[str, ...]
    places: NDArray[np.float64]


def california_airports() -> Airports:
    """The airports of California, in the order of their codes.

    Examples
    --------
    >>> airports = california_airports()
    >>> airports.places.shape, airports.names[airports.codes.index("SFO")]
    ((205, 2), 'San Francisco International')
    """
    text = files("privopt.benchmarks.data").joinpath("california-airports.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(StringIO(text)))
    return Airports(
        tuple(row["code"] for row in rows),
        tuple(row["name"] for row in rows),
        np.array([[float(row["latitude"]), float(row["longitude"])] for row in rows]),
    )
