"""Streams from files of the user's own: what their keepers wrote of them, and refusals."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from privopt.benchmarks.data import external as registry
from privopt.benchmarks.data import streams as loaders
from privopt.errors import FileRefused


def place(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """A small file in the place of an external set, with its own checksum."""
    known = registry.external_sets()
    entry = known[name]
    path = folder / entry.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    mine = replace(entry, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(registry, "external_sets", lambda: {**known, name: mine})
    monkeypatch.setenv("PRIVOPT_DATA", str(folder))


def test_visits_are_letters_from_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, monkeypatch, "msnbc323", "1 2 17\n\n3 3\n")
    visits = loaders.msnbc()
    assert [row.tolist() for row in visits.sequences] == [[0, 1, 16], [2, 2]]
    assert visits.letters == 17


def test_rows_of_kosarak_and_their_caution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, monkeypatch, "kosarak-reduced16", "4 12 2\n4\n")
    place(tmp_path, monkeypatch, "kosarak-36682", "6 1 900\n11 6\n")
    assert [row.tolist() for row in loaders.kosarak().sequences] == [[4, 12, 2], [4]]
    assert "row order is not click order" in loaders.kosarak().about
    assert [row.tolist() for row in loaders.kosarak_rows()] == [[6, 1, 900], [11, 6]]


def test_gazes_are_cells_of_a_coarser_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "subject,activity,t,gx,gy\nP1,browse,0,0,0\nP1,browse,1,99,0\nP1,browse,2,0,99\nP2,read,0,50,49\n"
    place(tmp_path, monkeypatch, "gaze", text)
    gazes = loaders.gaze(2)
    assert [row.tolist() for row in gazes.streams.sequences] == [[0, 1, 2], [1]]
    assert gazes.subjects == ("P1", "P2")
    assert gazes.activities == ("browse", "read")


def test_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVOPT_DATA", raising=False)
    for load in (loaders.msnbc, loaders.kosarak, loaders.kosarak_rows, lambda: loaders.gaze(10)):
        with pytest.raises(FileRefused, match="does not ship with privopt"):
            load()


def test_the_sets_are_those_described() -> None:
    try:
        visits, rows, prefix = loaders.msnbc(), loaders.kosarak(), loaders.kosarak_rows()
    except FileRefused as absent:
        pytest.skip(str(absent))
    assert (len(visits.sequences), sum(map(len, visits.sequences))) == (323, 27_380)
    assert (len(rows.sequences), sum(map(len, rows.sequences))) == (20_000, 162_513)
    assert (len(prefix), len(np.unique(np.concatenate(prefix)))) == (36_682, 17_034)
