"""Each rule of the checkers beside checker.py has a file that only this rule refuses, and small mistakes in them are noticed."""

from __future__ import annotations

import ast
import importlib

import pytest
from oracles import crafted_kinds
from oracles.mutants import accepted, mutants, noticed

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

TABLE = "a table has rows of one length, and those of the chain or the mechanism agree with it"
PAIRED = "both are made of one list, or of one entry for each input"
PRICES = "prices or slopes are multiplied with a row of that length elsewhere"
WORDS = "words of a sentence"
ROUNDED = "what is rounded less is no further from the truth"
FACTOR = "no ratio depends on a factor of all weights"
DIAGONAL = "a value is not compared with itself"
LATER = "what comes after the last record costs nothing"
HARMLESS = {
    "trade_off": {
        "least: lengths may differ": PAIRED,
        "leaf: lengths may differ": PRICES,
        "most_weighed: Gt 0 made GtE in f": "0 times either end is 0",
        "tight: lengths may differ": PAIRED,
        "check: lengths may differ": TABLE,
    },
    "exceptions": {
        "exceptions: lengths may differ at 36:": PAIRED,
        "shares: lengths may differ": TABLE,
        "least_cost: lengths may differ at 62:104": PAIRED,
        "least_cost: lengths may differ at 72:": PAIRED,
        "most_said: lengths may differ at 82:": PAIRED,
        "most_said: lengths may differ at 84:": PRICES,
        "check: below swapped at 97:": "both ends have the same names",
        "check: lengths may differ": TABLE,
    },
    "information": {
        "useful: lengths may differ at 27:": TABLE,
        "information: lengths may differ": TABLE,
        "least_at_vertices: 1 made one more at 94:": "rows are combinations of that many, so that more are never independent",
        "least_at_vertices: min swapped": "rows are combinations of that many, so that more are never independent",
        "least_at_vertices: GtE 0 made Gt in min(part)": "a vertex where an input has probability 0 is one of fewer inputs",
        "least_at_vertices: lengths may differ at 99:": "no solution has no entries",
        "leaf: lengths may differ": PRICES,
        "solved: part 1 left out in i != column": "0 times a row is taken off",
        "open_part: low swapped at 126:": "both ends of a box have an entry for each useful symbol",
        "open_part: 2 made one more at 129:": "a concave function is least at an end",
        "solved: lengths may differ at 182:": PAIRED,
        "joined: lengths may differ": PAIRED,
        "__init__: filter dropped in for x, v": "a slope times 0 is nothing",
        "__init__: lengths may differ at 71:": TABLE,
        "phi: condition made True in if t not in": "what is known is computed again",
        "joined: 1 made one more": "a class without members has no weight",
    },
    "lift_family": {
        "shares: rule dropped": AGAIN["every value of the secret occurs"],
        "shares: Gt 0 made GtE": AGAIN["every value of the secret occurs"],
        "shares: min swapped": AGAIN["every value of the secret occurs"],
        "moved: lengths may differ": PAIRED,
        "kept: lengths may differ": PAIRED,
        "kept: Gt 0 made GtE in side": "a side is 1 or -1",
        "reached: lengths may differ": PRICES,
        "half_spaces: lengths may differ": TABLE,
        "half_spaces: Gt 0 made GtE in side": "a side is 1 or -1",
        "least_cost: lengths may differ": PAIRED,
        "most_said: 1 made one more at 111:": "the rows that it makes are replaced",
        'check: condition made False in [f"PROVED': WORDS,
        "check: condition made False in problem['bounds']": WORDS,
        "check: below swapped at 125:": "there are ends above where there are ends below",
        "check: below swapped at 126:": "there are ends above where there are ends below",
        "check: condition made True in 'likely'": WORDS,
        "check: condition made False in 'likely'": WORDS,
        "check: Gt 0 made GtE in side": WORDS,
        "check: Gt 0 made LtE in side": WORDS,
        "check: 0 made one more at 127:": WORDS,
        "check: lengths may differ": TABLE,
        "check: condition made True in f'costs": WORDS,
        "check: condition made False in f'costs": WORDS,
    },
    "redaction_bounds": {
        "__init__: lengths may differ": PAIRED,
        "__init__: FloorDiv in sum(cost)": "what is at least 0 is rounded down anyway",
        "__init__: 1 made one more at 39:": LATER,
        "__init__: 0 made one more at 39:": LATER,
        "before: LtE 0 made Lt in worth": "of two lines that meet the steeper is the lower one from the next node on",
        "before: FloorDiv in v *": "what is at least 0 is rounded down anyway",
        "before: 0 made one more at 52:": "all are set",
        "least: condition made True in if key": "what is known is computed again",
        "unneeded: GtE 0 made Gt": "of three lines that meet in a point the middle one is nowhere below both",
        "sides: Lt 0 made LtE in t <": "the private record is on no side of itself",
        "sides: Lt 0 made LtE in step": "after a step that says nothing all is released, whatever it is called",
        "sides: lengths may differ at 102:": TABLE,
        "least_cost: 2 made one more at 127:": "there is no third end",
    },
    "post_randomisation": {
        "kept: rule dropped": AGAIN["a table that is kept has a weight for each input"],
        "kept: all swapped": AGAIN["a table that is kept has a weight for each input"],
        "stays: rule dropped": AGAIN["inputs and releases are the same symbols"],
        "stays: lengths may differ": TABLE,
        "least_cost: lengths may differ at 41": "there is a row of costs for each input",
        "least_cost: lengths may differ at 42": "a cost for each release, and a price for each input, which are the same symbols",
        "check: lengths may differ": "there is a row of costs for each input",
    },
    "gaussian_noise": {
        "factor: Gt 0 made GtE in min((s[i][i]": "nothing is divided by a variance of 0, and no part with it has an inverse",
        "factor: Gt 0 made GtE in min(vector)": "where the vector is 0 a matrix without positive entries beside the diagonal makes nothing positive of it",
        "factor: part 0 left out in min(column)": "an M-matrix makes a column >= 0 of what is >= 0",
        "factor: min swapped at 48:13": "an M-matrix makes a column >= 0 of what is >= 0",
        "factor: part 1 left out in min(column)": "nothing is divided by 0",
        "factor: Gt 0 made GtE in column[i]": "nothing is divided by 0",
        "factor: 1 made one more at 35:48": "there are no subsets of more records than there are",
        "factor: 0 made one more at 48:72": "of no records the least is not negative",
        "factor: lengths may differ at 28:42": "a matrix that is its own transpose is square",
        "inverse: part 1 left out in found or []": "no inverse has been refused before",
        "inverse: part 0 left out in found": "None has no entries",
        "inverse: Gt 0 made GtE in found": "without record i a part would be singular, and is tried; an M-matrix has a positive diagonal",
        "noisy: Gt 0 made GtE in scale": "nothing that moves is at most 0, and no report is false with probability 0",
    },
    "chain_noise": {
        "short: 200 made": ROUNDED,
        "short: Sub in": ROUNDED,
        "short: FloorDiv": ROUNDED,
        "short: 1 made one more at 34:": FACTOR,
        "step: filter dropped in for u in n if h[u]": "a value that cannot be counts 0 times, and its own ray is constant",
        "step: part 0 left out in x != z": DIAGONAL,
        "step: FloorDiv": ROUNDED,
        "larger: lengths may differ": PAIRED,
        "side: lengths may differ": TABLE,
        "beyond: rule dropped": AGAIN["what is known does not even out"],
        "beyond: part 0 left out in slack": "a step leads out of a bound that is too small: so it does for 900 random chains",
        "beyond: part 1 left out in slack": "nothing is divided by 0",
        "beyond: Gt 0 made GtE in min(h)": "nothing is divided by 0",
        "beyond: min swapped at 78:": "nothing is divided by 0",
        "beyond: all swapped at 78:": "nothing is divided by 0",
        "beyond: LtE 0 made Lt in a * even": "what is rounded up exceeds its bound or does not",
        "beyond: 0 made one more at 80:": "all are gone through",
        "beyond: condition made True in v * (1 + slack)": DIAGONAL,
        "beyond: 1 made one more at 84:": FACTOR,
        "beyond: lengths may differ": PAIRED,
        "beyond: 1 made one more at 92:": "the bound is at least what the last depth adds",
        "kernels: part 1 left out": "nothing is divided by 0",
        "kernels: Gt 0 made GtE": "nothing is divided by 0",
        "kernels: min swapped": "nothing is divided by 0",
        "kernels: lengths may differ": TABLE,
        "chain_ratio: filter dropped": DIAGONAL,
        "chain_ratio: 1 made one more at 116:": FACTOR,
    },
    "sets": {
        "most: lengths may differ": TABLE,
        "ratios: condition made True in self.possible if not self.ldp": "what bounds a ratio of two secrets bounds a lift",
        "ratios: lengths may differ": TABLE,
        "check: lengths may differ": TABLE,
    },
    "set_bounds": {
        "least_cost: lengths may differ at 67": "rows of which the mean is taken have one length",
    },
    "redaction": {
        "reduced:": "no ratio depends on a factor of all entries",
        "__init__: lengths may differ at 44": TABLE,
        "__init__: filter dropped in for y in values": "a value compared with itself has the ratio 1",
        "meet: rule dropped": AGAIN["a release rules a value of the private record out"],
        "meet: Gt 0 made GtE in weight[y]": AGAIN["a release rules a value of the private record out"],
        "right: lengths may differ": TABLE,
        "left: lengths may differ": TABLE,
    },
    "sequence": {
        "lost: lengths may differ at 63": TABLE,
        "lost: lengths may differ at 66": TABLE,
        "least_cost: lengths may differ at 94": TABLE,
        "kernel_cost: lengths may differ at 79": "each row of losses has been multiplied with rows of kernels of one length",
        "kernel_cost: Gt 0 made GtE in g": "0 times and 0 divided by a number are the same",
        "least_cost: 1 made one more at 91:49": "shares are divided by their sum",
        "least_cost: 1 made one more at 96:87": "shares are divided by their sum",
        "least_cost: FloorDiv in v // gcd": "weights are divided by their sum",
    },
}  # fmt: skip
"""Changes of a program that change nothing, by how they begin, with the reason."""
LIMITS = {
    "trade_off": ("len(sums) <= 1000", "entropy: 1000 made"),
    "exceptions": ("count <= 10", "sets: 10 made"),
    "information": (
        "<= 1000",
        "useful: 1000 made",
        "useful: max swapped",
        "10 ** 5",
        "least_at_vertices: 10 made",
        "least_at_vertices: 5 made",
        "Mult in comb(n, k)",
        "Sub in k - 1 at 95:",
    ),
    "gaussian_noise": ("len(s) <= 12", "12 made one more", "10 ** 6", "check: 10 made", "check: 6 made"),
    "chain_noise": (
        "chain_ratio: 10 made",
        "chain_ratio: 4 made",
        "chain_ratio: 6 made",
        "Pow in 10 ** 6",
    ),
    "sets": ("max(n, k) <= 1000", "__init__: 1000 made", "__init__: max swapped"),
    "redaction": ("self.k <= 1000", "1000 made one more"),
    "sequence": ("each kernel is used at one belief",),
}
"""Words of changes of rules about sizes and of their numbers."""


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


@pytest.mark.long
@pytest.mark.parametrize("kind", HARMLESS)
def test_every_changed_program_is_noticed(kind: str) -> None:
    name = CHECKERS[kind]
    program = importlib.import_module(f"privopt.proof.{name.removesuffix('.py')}")
    files = list(crafted_kinds.corpus(kind))
    truth, first = [accepted(program, lines) for lines in files], list[int]()
    changed = [
        mutant
        for mutant in mutants((FOLDER / name).read_text(encoding="utf-8"), read(name))
        if not mutant.name.startswith(tuple(HARMLESS[kind]))
        and not any(words in mutant.name for words in LIMITS.get(kind, ()))
    ]
    assert len(changed) > 20
    assert [mutant.name for mutant in changed if not noticed(mutant, files, truth, first)] == []
