"""Joint distributions for the suites: the lectures' table, an election survey, external data where present, random tables."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

from privopt.benchmarks.data.external import FOLDER, external_sets, load_external
from privopt.benchmarks.data.shipped import anes
from privopt.models import JointDistribution
from privopt.problems.local_information_privacy.examples import lecture_joint


def lecture() -> JointDistribution:
    """The 4 x 9 table of the lectures on privacy-utility trade-offs.

    Examples
    --------
    >>> lecture().table.shape
    (4, 9)
    """
    return lecture_joint()


@cache
def survey() -> JointDistribution:
    """The vote of 944 Americans in 1996 as the secret, party and education as what is useful.

    Examples
    --------
    >>> survey().sensitive, len(survey().useful)
    (('Clinton', 'Dole'), 47)
    """
    return JointDistribution.from_frame(anes(), ["vote"], ["party", "education"])


@cache
def leaning() -> JointDistribution:
    """The vote as the secret, the place on a scale from liberal to conservative as what is useful."""
    return JointDistribution.from_frame(anes(), ["vote"], ["leaning"])


def random_joint(n_s: int, n_x: int, seed: int = 0) -> JointDistribution:
    """A table with cells uniform on (0, 1), the same every time.

    Examples
    --------
    >>> random_joint(2, 3).table.shape
    (2, 3)
    """
    rng = np.random.default_rng([n_s, n_x, seed])
    return JointDistribution.normalised(rng.random((n_s, n_x)))


def counted_joint(n_s: int, n_x: int, rows: int, seed: int = 0) -> JointDistribution:
    """Counts of so many rows over a random table: most symbols were seen with few values of the secret, many of them alike.

    Examples
    --------
    >>> counted_joint(3, 50, 200).exact.total
    200
    """
    rng = np.random.default_rng([n_s, n_x, rows, seed])
    of_cells = rng.dirichlet(np.full(n_s * n_x, 0.3))
    table = rng.multinomial(rows, of_cells).reshape(n_s, n_x)
    return JointDistribution.normalised(table[:, table.any(axis=0)].tolist())


def sparse_joint(n_s: int, n_x: int, seed: int = 0) -> JointDistribution:
    """A table from a Dirichlet distribution with few large cells, the same every time."""
    rng = np.random.default_rng([n_s, n_x, seed])
    return JointDistribution.normalised(rng.dirichlet(np.full(n_s * n_x, 1.0)).reshape(n_s, n_x))


def present(name: str) -> Path | None:
    """The file of an external data set, None where the user's folder has none.

    Raises
    ------
    FileRefused
        If a file is present but not the one that is meant.
    """
    folder = os.environ.get(FOLDER, "")
    there = folder != "" and (Path(folder) / external_sets()[name].file).is_file()
    return load_external(name) if there else None


@cache
def census() -> JointDistribution | None:
    """Sex and income as the secret, education and known occupation as what is useful, from the Adult set where present."""
    path = present("adult")
    if path is None:
        return None
    import pandas as pd

    frame = pd.read_csv(path).dropna(subset=["occupation"])
    return JointDistribution.from_frame(frame, ["sex", "income"], ["education", "occupation"])


@cache
def heart() -> JointDistribution | None:
    """Age and sex as the secret, sex and cholesterol as what is useful, from the Cleveland set where present."""
    path = present("heart-cleveland")
    if path is None:
        return None
    import pandas as pd

    return JointDistribution.from_frame(pd.read_csv(path), ["age", "sex"], ["sex", "chol"])
