"""Each rule of the checkers beside checker.py has a file that only this rule refuses."""

from __future__ import annotations

import ast
import importlib

import pytest
from oracles import crafted_kinds
from oracles.mutants import accepted, mutants

from privopt.proof.write import CHECKERS, FOLDER

READ_BEFORE = ("checker.py", "checker_information.py", "checker_gaussian_noise.py", "checker_redaction.py")
"""Programs from which others have functions word for word, which are tested where they stand first."""
SIZES = ("up to ", "too many vertices", "each kernel is used at one belief")
"""Rules about sizes: files that are refused by them fill the memory without them, which test_hostile_files.py tries."""
AGAIN = {
    "a table that is kept has a weight for each input": "a sum of products has as many factors on either side",
    "inputs and releases are the same symbols": "what is kept is compared with a row of inputs",
    "a release rules a value of the private record out": "nothing is divided by 0",
    "a step goes somewhere": "nothing is divided by 0, where a policy is followed",
    "what is known does not even out": "nothing is divided by 0, and a step leads out of a bound below 1",
    "every value of the secret occurs": "nothing is divided by 0",
}
"""Rules without which something else refuses the same files, and what."""


def parts(name: str) -> dict[str, str]:
    """The functions and classes of a program, as they are written."""
    tree = ast.parse((FOLDER / name).read_text(encoding="utf-8"))
    return {n.name: ast.unparse(n) for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def read(name: str) -> frozenset[str]:
    """Functions and classes of a program that stand in one that is read before."""
    before = READ_BEFORE[: READ_BEFORE.index(name)] if name in READ_BEFORE else READ_BEFORE
    own, known = parts(name), [parts(other) for other in before]
    return frozenset(part for part, text in own.items() if any(k.get(part) == text for k in known))


@pytest.mark.parametrize("kind", crafted_kinds.MADE)
def test_each_rule_has_a_file_that_only_this_rule_refuses(kind: str) -> None:
    name = CHECKERS[kind]
    program = importlib.import_module(f"privopt.proof.{name.removesuffix('.py')}")
    honest = [*crafted_kinds.MADE[kind](), *crafted_kinds.edges(kind)]
    assert all(accepted(program, lines) for lines in honest)
    files = list(crafted_kinds.planted(kind))
    assert not any(accepted(program, lines) for lines in files)
    dropped = list(mutants((FOLDER / name).read_text(encoding="utf-8"), read(name), "rule dropped"))
    assert len(dropped) >= 5
    spared = [
        mutant.name
        for mutant in dropped
        if not any(words in mutant.name for words in (*SIZES, *AGAIN))
        and not any(accepted(mutant.module, lines) for lines in files)
    ]
    assert spared == []


def test_every_kind_beside_the_linear_one_has_files() -> None:
    assert set(crafted_kinds.MADE) == set(crafted_kinds.PLANTED) == set(CHECKERS) - {"linear"}
