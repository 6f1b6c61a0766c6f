"""What the README says is so."""

from __future__ import annotations

import doctest
import inspect
import re
from collections import Counter
from pathlib import Path

import privopt as po
from privopt.core.dispatch import fitness
from privopt.core.registry import problem_types, solvers_of

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def first_line(item: object) -> str:
    return (inspect.getdoc(item) or "").partition("\n")[0].rstrip(".")


def expected_rows() -> list[str]:
    """What a solver does is the first line of its file, or of its class where a file holds several."""
    kinds = problem_types().values()
    several = Counter(
        cls.__module__ for kind in kinds for cls in solvers_of(kind).values() if cls.solves is kind
    )
    rows = []
    for kind in kinds:
        if issubclass(kind, po.Reformulation):
            target = kind.target_type.__name__
            rows.append(f"| `{kind.__name__}` | all of `{target}` | as there | {first_line(kind)} |")
        for name, cls in solvers_of(kind).items():
            if cls.solves is not kind:
                continue
            ranks = [fitness(cls(), e.problem).guarantee for e in kind.examples()]
            best = min((g for g in ranks if g is not None), key=lambda g: g.rank)
            told = first_line(inspect.getmodule(cls) if several[cls.__module__] == 1 else cls)
            rows.append(f"| `{kind.__name__}` | `{name}` | {best.name} | {told} |")
    return rows


def test_the_table_of_problems_and_solvers_is_true() -> None:
    listed = (ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `.*\|$", listed, flags=re.MULTILINE) == expected_rows()


def test_the_readme_has_every_problem_and_links_to_files() -> None:
    names = re.findall(r"^\| `(\w+)` \|", README, flags=re.MULTILINE)
    assert sorted(names) == sorted(kind.__name__ for kind in problem_types().values())
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).is_file(), link


def test_the_example_runs() -> None:
    examples = "\n".join(re.findall(r"```python\n(>>> .*?)```", README, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "README", "README.md", 0)
    assert len(test.examples) >= 8
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0


def test_the_solver_of_the_readme_works(tmp_path: Path) -> None:
    code = re.findall(r"```python\n(from dataclasses.*?)```", README, flags=re.DOTALL)[0]
    (tmp_path / "cautious.py").write_text(code)
    from privopt.core import registry as _registry

    before = dict(_registry._solvers)
    try:
        po.scan(tmp_path)
        solution = po.solve(po.Redaction.examples()[3].problem, "cautious")
        assert solution.certified
    finally:
        _registry._solvers.clear()
        _registry._solvers.update(before)


def test_the_commands_name_what_is_there() -> None:
    assert "pip install -q -e '.[all]'" in README
    assert "pip install -q -e '.[all,test]'" in README
    assert README.count("\n") < 180
