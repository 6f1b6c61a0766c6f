"""The gallery: committed pictures are those that are computed, and the command writes them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privopt.benchmarks.catalogue import Catalogue
from privopt.benchmarks.gallery import page as _gallery_command
from privopt.benchmarks.gallery import picture as _pictures
from privopt.benchmarks.gallery.page import FOLDER, PAGE, page, table
from privopt.benchmarks.gallery.picture import pictures, register_picture
from privopt.cli import app
from privopt.core.registry import problem_types

pytest.importorskip("matplotlib")
DOCS = Path(__file__).resolve().parents[2] / "docs"
QUICK = (
    "belief_release",
    "local_information_privacy",
    "metric_privacy_growth",
    "sequence_errors",
    "sequence_path",
)
SLOW = tuple(sorted(set(pictures()) - set(QUICK)))


def agrees(name: str, tmp_path: Path) -> None:
    """Compute a picture again and compare its numbers with the file that is committed."""
    (tmp_path / "now.csv").write_text(table(pictures()[name].make().frame), encoding="utf-8")
    now, stored = pd.read_csv(tmp_path / "now.csv"), pd.read_csv(DOCS / FOLDER / f"{name}.csv")
    assert list(now.columns) == list(stored.columns)
    for column in stored:
        if stored[column].dtype.kind == "f":
            assert np.allclose(now[column], stored[column], rtol=1e-4, atol=1e-5, equal_nan=True), column
        else:
            assert now[column].tolist() == stored[column].tolist(), column


@pytest.mark.parametrize("name", QUICK)
def test_a_picture_shows_what_is_computed_now(name: str, tmp_path: Path) -> None:
    agrees(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", SLOW)
def test_the_other_pictures_too(name: str, tmp_path: Path) -> None:
    agrees(name, tmp_path)


def test_the_problem_and_the_guide_of_every_picture_exist() -> None:
    kinds = {kind.kind for kind in problem_types().values()}
    for picture in pictures().values():
        assert set(picture.questions) <= kinds
        assert (DOCS / picture.guide).is_file()


def test_a_taken_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pictures, "_CATALOGUE", Catalogue("a picture", _pictures.__name__))
    enter = register_picture("one", (), "title", "caption", "report.md")
    make = pictures
    enter(make)  # type: ignore[arg-type]  # never called
    with pytest.raises(ValueError, match="picture 'one' is registered twice"):
        enter(make)  # type: ignore[arg-type]  # never called


def test_the_committed_page_has_every_picture_and_is_small() -> None:
    assert (DOCS / PAGE).read_text(encoding="utf-8") == page(tuple(pictures().values()))
    files = sorted((DOCS / FOLDER).iterdir())
    assert [path.name for path in files] == sorted(f"{n}.{e}" for n in pictures() for e in ("csv", "svg"))
    assert sum(path.stat().st_size for path in files) < 600_000
    for path in files:
        assert path.stat().st_size < 60_000, path
        if path.suffix == ".svg":
            root = ElementTree.parse(path).getroot()
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert root.find("{http://www.w3.org/2000/svg}title") is not None
            assert float(root.attrib["width"]) > 300


def test_the_command_writes_the_same_files_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"belief_release": pictures()["belief_release"]}
    monkeypatch.setattr(_gallery_command, "pictures", lambda: few)
    texts = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        result = CliRunner().invoke(app, ["bench", "gallery", "--output", str(folder), "--json"])
        assert result.exit_code == 0, result.output
        written = [Path(name) for name in json.loads(result.stdout)["files"]]
        assert {path.name for path in written} == {"belief_release.svg", "belief_release.csv", PAGE}
        texts.append([path.read_bytes() for path in written])
    assert texts[0] == texts[1]


def test_a_folder_that_cannot_be_made_is_misuse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["bench", "gallery", "--output", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "cannot be made" in result.stderr
