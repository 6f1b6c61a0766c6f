"""What was found, a problem at a time, in sentences: who was best, proved it, was fastest, private, refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from privopt.benchmarks.runner.folder import Manifest, Released
from privopt.benchmarks.runner.rows import Row, standing
from privopt.core.certificate import Certificate
from privopt.core.solution import Status
from privopt.core.words import measured
from privopt.files.text import number


@dataclass(frozen=True)
class Verdict:
    """What a report says at its top: the sentences, and whether every certified claim was proved again."""

    holds: bool
    sentences: tuple[str, ...]


ENOUGH = 1e-6
"""A difference of utility worth a sentence."""


def winners(rows: Iterable[Row]) -> dict[tuple[str, float], Row]:
    """The verified row that stands first by :func:`standing`, of each instance and budget that has one."""
    best: dict[tuple[str, float], Row] = {}
    for row in rows:
        if row.verified and row.objective is not None:
            case = (row.instance, row.budget)
            best[case] = min(best.get(case, row), row, key=standing)
    return best


def headline(manifest: Manifest, rows: Sequence[Row]) -> Iterator[str]:
    """The best solver on the showcase against the reference, and where the difference is largest."""
    best = winners(rows).get((manifest.instance, manifest.budget))
    if best is None:
        if manifest.instance:
            yield f"No solver has a certified answer to {manifest.instance} at ε = {number(manifest.budget)}."
        return
    yield (
        f"At ε = {number(best.budget)} the best certified answer to {best.instance} is by the solver “{best.solver}”: "
        f"utility {number(best.utility, 4)}, leakage {number(best.leakage, 4)} nats{_proof(best)}."
    )
    yield from _against(manifest, best, rows)


def _proof(best: Row) -> str:
    if best.gap is None:
        return ", with no checked bound on what a better mechanism could do"
    closed = Status[best.status] is Status.OPTIMAL
    return (
        ", proved optimal by a checked bound"
        if closed
        else f", at most {number(best.gap, 3)} below the optimum"
    )


def _against(manifest: Manifest, best: Row, rows: Sequence[Row]) -> Iterator[str]:
    reference = manifest.reference
    pairs = list(_pairs(reference, rows))
    here = next((u for row, u in pairs if (row.instance, row.budget) == (best.instance, best.budget)), None)
    if here is not None and best.utility is not None:
        gain = best.utility - here
        verdict = (
            f"{number(100 * gain, 3)} percentage points less" if gain > ENOUGH else "no solver does better"
        )
        yield f"The baseline “{reference}”, which {manifest.reference_does}, reaches {number(here, 4)} there: {verdict}."
    if not pairs:
        return
    row, utility = max(pairs, key=lambda pair: (pair[0].utility or 0.0) - pair[1])
    if (row.utility or 0.0) - utility > ENOUGH:
        yield (
            f"Over all instances and budgets the gain over “{reference}” is largest on {row.instance} at "
            f"ε = {number(row.budget)}: {number(row.utility, 4)} by “{row.solver}” against {number(utility, 4)}."
        )


def _pairs(reference: str, rows: Sequence[Row]) -> Iterator[tuple[Row, float]]:
    """The best row with the reference's utility, wherever both are certified."""
    known = winners(rows)
    for row in rows:
        best = known.get((row.instance, row.budget))
        if row.solver == reference and row.verified and row.utility is not None and best is not None:
            yield best, row.utility


def counts(rows: Sequence[Row]) -> Iterator[str]:
    """How many runs were certified, bounded, refused and failed."""
    solved = [r for r in rows if r.ok]
    closed = sum(Status[r.status] is Status.OPTIMAL for r in rows)
    bounded = sum(r.gap is not None for r in solved)
    certified = sum(r.certified for r in rows)
    yield (
        f"Of {len(rows)} runs {len(solved)} gave a mechanism and {certified} of these are certified in exact arithmetic; "
        f"{sum(r.verified for r in rows)} were proved again from their stored form. "
        f"A checked bound came with {bounded}, and it closes the gap in {closed}."
    )
    broken = [r for r in rows if r.broken]
    if broken:
        first = broken[0]
        yield (
            f"{len(broken)} certified claims FAILED when proved again; the first: {first.solver} on {first.instance} at "
            f"budget {number(first.budget)}: {first.reason}."
        )
    leaky = Counter(r.solver for r in rows if r.over_budget)
    if leaky:
        listed = ", ".join(f"{solver} ({n})" for solver, n in sorted(leaky.items()))
        yield f"Proposals that missed the budget, before repair: {listed}."
    yield _refusals([r for r in rows if not r.ok])


def _refusals(rows: Sequence[Row]) -> str:
    if not rows:
        return "No run was refused and none failed."
    kinds = Counter((r.solver, r.status.lower().replace("_", " ")) for r in rows)
    listed = "; ".join(f"{solver}: {n} {status}" for (solver, status), n in sorted(kinds.items()))
    return f"{len(rows)} runs gave no mechanism ({listed}); the reasons are in a table below."


def release_sentences(
    manifest: Manifest, released: Released | None, proof: Certificate | None
) -> Iterator[str]:
    """What was released, and whether its files prove it."""
    if released is None or proof is None:
        yield "No data were released, because no certified mechanism answers the problem."
        return
    shown = sum(line[-1] != "" for line in released.lines)
    yield (
        f"The mechanism of “{released.solution.solver}” then released {manifest.title}: {shown} of {len(released.lines)} "
        "records are shown, the others are empty cells."
    )
    if proof.ok:
        yield (
            "Read back from the files alone, it is proved again that this mechanism leaks at most "
            f"{measured(number(proof.budget), proof.leakage_unit)}; its exact leakage is {number(proof.leakage[1], 6)} to six digits."
        )
        yield from (
            said for said in proof.sentences() if said.startswith(("In words:", "Assumed:", "Not covered:"))
        )
        yield from (
            f"The record differs from what is proved, though its claim holds: {remark}."
            for remark in proof.remarks
        )
    else:
        yield f"Read back from the files, the release could NOT be proved private: {proof.reason}."
