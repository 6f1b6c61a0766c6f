"""The law of dependence, light imports, and one algorithm a file, read off the sources."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("base", "knowledge", "core", "problems", "solvers", "top")
BASE = {"errors", "_exact", "_labels", "_numbers", "_text"}
HEAVY = {
    "cvxpy", "pandas", "polars", "narwhals", "matplotlib", "dask", "distributed", "opendp", "numba", "flint", "scipy",
    "jsonschema", "rich", "typer", "loky", "cloudpickle", "ecos", "cdd", "ppl", "networkx", "highspy", "altair",
    "vl_convert", "playwright", "igraph", "sklearn", "dit", "qif",
}  # fmt: skip


def sources() -> list[Path]:
    folders = ("privopt", "problems", "solvers", "benchmarks")
    files = [p for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]
    return [p for p in files if not any(q.is_symlink() for q in p.parents if q != ROOT.parent)]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "privopt" else ("privopt", *parts)).removesuffix(".__init__")


def layer(module: str) -> str:
    part = [*module.split("."), ""][1]
    if module in ("privopt", "privopt.__main__") or part.startswith(("cli", "_cli", "benchmarks")):
        return "top"
    if part in BASE:
        return "base"
    if part in ("models", "mechanisms", "measures", "schemas"):
        return "knowledge"
    return part if part in ("problems", "solvers") else "core"


def imports(path: Path, *, lazy: bool) -> set[str]:
    """Modules that a file imports, at the top only or also inside functions, but not for type checkers only."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and not lazy:
                continue
            if isinstance(child, ast.Import):
                found.update(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                found.add(child.module)
                found.update(
                    f"{child.module}.{alias.name}" for alias in child.names if child.module == "privopt"
                )
            visit(child)

    visit(ast.parse(path.read_text()))
    return found


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_law_of_dependence(path: Path) -> None:
    own = module_name(path)
    for name in imports(path, lazy=True):
        if name.split(".")[0] != "privopt" or name == "privopt":
            continue
        assert LAYERS.index(layer(name)) <= LAYERS.index(layer(own)), (
            f"{own} ({layer(own)}) imports {name} ({layer(name)})"
        )


@pytest.mark.parametrize(
    "path", [p for p in sources() if layer(module_name(p)) == "solvers"], ids=module_name
)
def test_a_solver_uses_only_its_own_folder_and_the_common_one(path: Path) -> None:
    own = module_name(path).split(".")
    for name in imports(path, lazy=True):
        parts = name.split(".")
        if parts[:2] == ["privopt", "solvers"] and len(parts) > 2:
            assert parts[2] in (own[2] if len(own) > 2 else "", "common"), f"{'.'.join(own)} imports {name}"


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_heavy_packages_are_imported_where_used(path: Path) -> None:
    top = {name.split(".")[0] for name in imports(path, lazy=False)}
    allowed = {"rich", "typer"} if layer(module_name(path)) == "top" else set()
    assert not (top & HEAVY) - allowed


def test_import_privopt_loads_nothing_heavy() -> None:
    code = "import sys, privopt; print(' '.join({m.split('.')[0] for m in sys.modules}))"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_problems_never_search_and_solvers_never_judge() -> None:
    for path in sources():
        kind, text = layer(module_name(path)), path.read_text()
        if kind == "problems":
            assert "minimize(" not in text, path
        if kind == "solvers":
            assert ".certify(" not in text, path
            assert "Evaluation" not in text, path


def test_links_show_the_folders_inside_the_package() -> None:
    for name in ("problems", "solvers", "benchmarks"):
        link = ROOT / "privopt" / name
        if not link.is_symlink():
            pytest.skip("this checkout has no symbolic links")
        assert link.readlink() == Path("..") / name


def test_every_public_name_has_a_docstring_and_functions_have_doctests() -> None:
    import inspect

    import privopt as po

    for name, item in vars(po).items():
        if name.startswith("_") or inspect.ismodule(item):
            continue
        assert inspect.getdoc(item), name
        if inspect.isfunction(item) and name not in ("load_problem", "load_model", "register", "scan"):
            assert ">>>" in (inspect.getdoc(item) or ""), name
