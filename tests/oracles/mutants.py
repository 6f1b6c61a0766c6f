"""A program with one small mistake at a time: what a test of the program must notice."""

from __future__ import annotations

import ast
import copy
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, ModuleType

from oracles.planted_proofs import Lines

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.LtE: (ast.Lt, ast.Gt), ast.Lt: (ast.LtE, ast.GtE), ast.GtE: (ast.Gt, ast.Lt), ast.Gt: (ast.GtE, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.RShift: ast.LShift,
}  # fmt: skip
SWAPPED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "below": "above",
    "above": "below",
    "low": "high",
    "high": "low",
}


def accepted(program: ModuleType, lines: Lines) -> bool:
    """Whether a checker, or one with a mistake, accepts a file."""
    header, problem, mechanism, claim, *proofs = copy.deepcopy(lines)
    try:
        program.check(problem, mechanism, claim, proofs, program.position(header["bits"], 10**4))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return False
    return True


@dataclass(frozen=True)
class Mutant:
    """A program with one mistake, and what it is."""

    name: str
    module: ModuleType


PATIENCE = 20.0
"""Seconds of processor time after which a changed program counts as noticed: it does not end."""


class _Late(Exception):
    """A changed program that does not end."""


@contextmanager
def _limited() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def noticed(mutant: Mutant, files: list[Lines], truth: list[bool], first: list[int]) -> bool:
    """Whether a changed program differs somewhere; files that told changes apart before are tried first."""
    try:
        with _limited():
            for i in [*first, *(i for i in range(len(files)) if i not in first)]:
                if accepted(mutant.module, files[i]) != truth[i]:
                    if i not in first:
                        first.insert(0, i)
                    return True
    except (_Late, NameError, MemoryError):
        return True
    return False


def mutants(source: str, known: frozenset[str] = frozenset(), only: str = "") -> Iterator[Mutant]:
    """Every program that differs from a source in one place.

    Rules dropped, comparisons moved or turned round, operators, numbers, signs, conditions, smallest and largest, lengths that
    need not agree. Texts and annotations are left alone, and so are what runs the program and ``known`` functions and classes.
    With ``only`` the names of the mistakes contain it.
    """
    tree = ast.parse(source)
    for number, found in enumerate(_places(tree, known)):
        if only not in found.name:
            continue
        changed = copy.deepcopy(tree)
        place = next(p for i, p in enumerate(_places(changed, known)) if i == number)
        place.change()
        text = ast.unparse(ast.fix_missing_locations(changed))
        module = ModuleType("mutant")
        module.__dict__["__name__"] = "mutant"
        exec(compile(text, "mutant", "exec"), module.__dict__)  # noqa: S102
        yield Mutant(place.name, module)


@dataclass(frozen=True)
class _Place:
    name: str
    change: Callable[[], None]


def _places(tree: ast.Module, known: frozenset[str]) -> Iterator[_Place]:
    for part in [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]:
        if part.name == "main" or part.name in known:
            continue
        functions = [part] if isinstance(part, ast.FunctionDef) else part.body
        for function in [n for n in functions if isinstance(n, ast.FunctionDef)]:
            for parent in ast.walk(function):
                yield from _in_node(parent, function)


def _in_node(node: ast.AST, function: ast.FunctionDef) -> Iterator[_Place]:
    def named(what: str) -> str:
        return f"{function.name}: {what} in {' '.join(ast.unparse(node).split())[:150]}"

    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "need"
    ):

        def drop(node: ast.Expr = node) -> None:
            node.value = ast.Constant(None)

        yield _Place(named("rule dropped"), drop)
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in COMPARED.get(type(op), ()):

                def compare(node: ast.Compare = node, i: int = i, other: type[ast.cmpop] = other) -> None:
                    node.ops[i] = other()

                yield _Place(named(f"{type(op).__name__} {i} made {other.__name__}"), compare)
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:

        def compute(node: ast.BinOp = node) -> None:
            node.op = COMPUTED[type(node.op)]()

        yield _Place(f"{named(type(node.op).__name__)} at {node.lineno}:{node.col_offset}", compute)
    if isinstance(node, ast.BoolOp):
        for i in range(len(node.values)):

            def leave(node: ast.BoolOp = node, i: int = i) -> None:
                del node.values[i]

            yield _Place(named(f"part {i} left out"), leave)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):

        def turn(node: ast.UnaryOp = node) -> None:
            node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
            if isinstance(node.op, ast.Not):
                node.operand = ast.UnaryOp(ast.Not(), node.operand)

        yield _Place(named("sign turned"), turn)
    if isinstance(node, ast.Constant) and type(node.value) is int:

        def count(node: ast.Constant = node) -> None:
            node.value = int(str(node.value)) + 1

        yield _Place(f"{function.name}: {node.value} made one more at {node.lineno}:{node.col_offset}", count)
    if isinstance(node, ast.Name) and node.id in SWAPPED and isinstance(node.ctx, ast.Load):

        def swap(node: ast.Name = node) -> None:
            node.id = SWAPPED[node.id]

        yield _Place(f"{function.name}: {node.id} swapped at {node.lineno}:{node.col_offset}", swap)
    if isinstance(node, ast.keyword) and node.arg == "strict":

        def loose(node: ast.keyword = node) -> None:
            node.value = ast.Constant(False)

        yield _Place(
            f"{function.name}: lengths may differ at {node.value.lineno}:{node.value.col_offset}", loose
        )
    if isinstance(node, (ast.IfExp, ast.If)):
        for value in (True, False):

            def decide(node: ast.IfExp | ast.If = node, value: bool = value) -> None:
                node.test = ast.Constant(value)

            yield _Place(named(f"condition made {value}"), decide)
    if isinstance(node, ast.comprehension) and node.ifs:

        def keep(node: ast.comprehension = node) -> None:
            node.ifs = []

        yield _Place(named("filter dropped"), keep)
