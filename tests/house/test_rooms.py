"""The rooms of the benchmarks: no circle of imports, and nothing private of another folder."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "privopt." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "benchmarks").rglob("*.py"))
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path, *, top: bool) -> set[str]:
    """Modules of the benchmarks that a file imports, at its top only or anywhere."""
    nodes = tree(path).body if top else list(ast.walk(tree(path)))
    modules = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= (names & FILES.keys()) or ({node.module} & FILES.keys())
    return modules


def test_imports_have_no_circle() -> None:
    graph = {name: imported(path, top=True) - {name} for name, path in FILES.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(FILES)


def test_folders_have_no_circle() -> None:
    """A room imports from rooms below it only; what is imported inside a function does not count."""
    rooms: dict[str, set[str]] = {}
    for name, path in FILES.items():
        room = name.split(".")[2:3]
        if room and (ROOT / "benchmarks" / room[0]).is_dir():
            others = {other.split(".")[2] for other in imported(path, top=True) if other.count(".") > 1}
            rooms.setdefault(room[0], set()).update(others - {room[0]})
    assert set(rooms) <= set(TopologicalSorter(rooms).static_order())


def test_no_private_module_of_another_folder_is_imported() -> None:
    for name, path in FILES.items():
        folder = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for other in imported(path, top=False):
            private = other.rpartition(".")[2].startswith("_")
            assert not private or other.rpartition(".")[0] == folder, f"{name} imports {other}"
