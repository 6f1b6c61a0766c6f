"""The house, read off the sources: layers, no circles, private modules kept private, light imports."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import privopt as po
from privopt.core.registry import problem_types, solvers_of
from privopt.mechanisms.policy.rules import rule_names

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("privopt", "problems", "solvers", "benchmarks")
LAYERS = ("base", "knowledge", "core", "problems", "solvers", "shown", "top")
BASE = {
    "privopt.arrays", "privopt.errors", "privopt.core.exact", "privopt.core.balls", "privopt.core.highs",
    "privopt.files.labels", "privopt.files.numbers", "privopt.files.paths",
    "privopt.files.private", "privopt.files.text",
}  # fmt: skip
"""Leaves: they import nothing of the package but each other."""

ROOMS = {
    "models": "knowledge", "mechanisms": "knowledge", "measures": "knowledge", "core": "core", "files": "core",
    "proof": "shown", "problems": "problems", "solvers": "solvers", "plots": "shown", "cluster": "shown",
    "publication": "shown", "benchmarks": "top", "cli": "top",
}  # fmt: skip
HEAVY = {
    "cvxpy", "pandas", "polars", "narwhals", "matplotlib", "dask", "distributed", "opendp", "numba", "flint", "scipy",
    "jsonschema", "rich", "typer", "loky", "cloudpickle", "ecos", "cdd", "ppl", "networkx", "highspy", "altair",
    "vl_convert", "playwright", "igraph", "sklearn", "dit", "qif",
}  # fmt: skip


@cache
def sources() -> dict[str, Path]:
    """Every module of the assembled package."""
    modules: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(parent.is_symlink() for parent in path.parents if ROOT in parent.parents):
                continue
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts if parts[0] == "privopt" else ("privopt", *parts))
            modules[name.removesuffix(".__init__")] = path
    return modules


def layer(module: str) -> str:
    if module in BASE:
        return "base"
    parts = module.split(".")
    return ROOMS.get(parts[1], "top") if len(parts) > 1 else "top"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def statements(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, bool, bool], ...]:
    """Every import of a file, whether it is inside a function, and whether it is for type checkers only."""
    found: list[tuple[ast.Import | ast.ImportFrom, bool, bool]] = []
    left: list[tuple[ast.AST, bool, bool]] = [(tree(path), False, False)]
    while left:
        node, inside, typing = left.pop()
        for child in ast.iter_child_nodes(node):
            within = inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            checked = typing or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                found.append((child, within, checked))
            elif isinstance(
                child, (ast.stmt, ast.excepthandler, ast.match_case)
            ):  # no import stands elsewhere
                left.append((child, within, checked))
    return tuple(found)


@cache
def imported(module: str) -> tuple[tuple[str, bool], ...]:
    """Modules of the package that a module imports, each with whether it is loaded with it.

    What only type checkers see is not; neither are the figures, explanations and clusters that a method asks for when called.
    """
    modules = []
    for node, inside, typing in statements(sources()[module]):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            own = node.module or ""
            names = [f"{own}.{a.name}" if f"{own}.{a.name}" in sources() else own for a in node.names]
        for name in names:
            if name in sources() and name != module:
                modules.append(
                    (
                        name,
                        not typing
                        and not (
                            inside
                            and name.startswith(
                                (
                                    "privopt.plots.",
                                    "privopt.publication.",
                                    "privopt.cluster.",
                                    "privopt.proof.",
                                )
                            )
                        ),
                    )
                )
    return tuple(modules)


def test_there_is_no_circle_of_imports() -> None:
    graph = nx.DiGraph((module, name) for module in sources() for name, _ in imported(module))
    circles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert circles == []


def test_layers() -> None:
    for module in sources():
        for name, loaded in imported(module):
            if name != "privopt" and loaded:
                assert LAYERS.index(layer(name)) <= LAYERS.index(layer(module)), f"{module} imports {name}"


def test_private_modules_are_private_to_their_folder() -> None:
    for module, path in sources().items():
        for name, _ in imported(module):
            if name.rpartition(".")[2].startswith("_") and not name.endswith("__"):
                assert sources()[name].parent == path.parent, f"{module} imports {name}"


def test_nothing_below_the_solvers_names_one() -> None:
    names = {name for kind in problem_types().values() for name in solvers_of(kind)}
    telling = {name for name in names if "-" in name} - set(
        rule_names()
    )  # others are ordinary words, or formulas of policies
    for module, path in sources().items():
        if LAYERS.index(layer(module)) < LAYERS.index("solvers"):
            named = telling & set(texts(path))
            assert not named, f"{module} names the solver {named}"


def texts(path: Path) -> Iterator[str]:
    """The constants of text in a file that are no docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_a_solver_uses_only_its_own_folder_and_the_common_one() -> None:
    for module in sources():
        own = module.split(".")
        for name, _ in imported(module) if layer(module) == "solvers" else ():
            parts = name.split(".")
            if parts[:2] == ["privopt", "solvers"] and len(parts) > 2:
                assert parts[2] in (own[2] if len(own) > 2 else "", "common"), f"{module} imports {name}"


def test_heavy_packages_are_imported_where_used() -> None:
    for module, path in sources().items():
        top: set[str] = set()
        for node, inside, typing in statements(path):
            if not inside and not typing:
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                top |= {name.split(".")[0] for name in names}
        allowed = {"rich", "typer"} if layer(module) == "top" else set()
        assert not (top & HEAVY) - allowed, module


def test_no_type_check_is_silenced_because_of_the_links() -> None:
    for module, path in sources().items():
        assert "the link and the folder" not in path.read_text(encoding="utf-8"), module


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_privopt_loads_nothing_heavy() -> None:
    loaded = set(run("import sys, privopt; print(' '.join({m.split('.')[0] for m in sys.modules}))").split())
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_problems_never_search_and_solvers_never_judge() -> None:
    for module, path in sources().items():
        kind, text = layer(module), path.read_text(encoding="utf-8")
        if kind == "problems":
            assert "minimize(" not in text, module
        if kind == "solvers":
            assert ".certify(" not in text, module
            assert "Evaluation" not in text, module


def test_links_show_the_folders_inside_the_package() -> None:
    for name in ("problems", "solvers", "benchmarks"):
        link = ROOT / "privopt" / name
        if not link.is_symlink():
            pytest.skip("this checkout has no symbolic links")
        assert link.readlink() == Path("..") / name


def test_every_public_name_has_a_docstring_and_functions_have_doctests() -> None:
    for name, item in vars(po).items():
        if name.startswith("_") or inspect.ismodule(item):
            continue
        assert inspect.getdoc(item), name
        if inspect.isfunction(item) and name not in ("load_problem", "load_model", "register", "scan"):
            assert ">>>" in (inspect.getdoc(item) or ""), name
