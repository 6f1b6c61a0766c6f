"""The wheel holds the tree, all of it and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
DATA = {".json", ".csv", ".md", ".html", ".css", ".js", ".typed", ".bib", ".txt", ".j2"}


def tree() -> set[str]:
    files: set[str] = set()
    for folder in ("privopt", "problems", "solvers", "benchmarks"):
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT)
            if any((ROOT / p).is_symlink() for p in inside.parents) or "__pycache__" in inside.parts:
                continue
            if path.is_file() and not path.is_symlink() and (path.suffix in DATA or path.suffix == ".py"):
                files.add((inside if folder == "privopt" else Path("privopt") / inside).as_posix())
    return files


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {n for n in archive.namelist() if ".dist-info/" not in n}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--sdist", "--outdir", str(place), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return next(place.glob("*.whl"))


def test_the_wheel_is_the_tree(wheel: Path) -> None:
    assert contents(wheel) == tree()


def test_the_source_archive_brings_the_tests(wheel: Path) -> None:
    import tarfile

    with tarfile.open(next(wheel.parent.glob("*.tar.gz"))) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    assert "tests/house/test_contract.py" in names
    assert "README.md" in names


def test_the_version_is_said_once() -> None:
    from importlib.metadata import version

    import privopt

    assert version("privopt") == privopt.__version__
