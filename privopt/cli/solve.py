"""The command that searches: solve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.core.certificate import ONE_RELEASE
from privopt.core.compare import spent
from privopt.core.words import SHARE, Quantity, measured
from privopt.files.text import number
from privopt.publication.constant import constant_sentence

ProblemFile = Annotated[Path, typer.Argument(metavar="PROBLEM.json", help="The problem.", show_default=False)]
TimeLimit = Annotated[float, typer.Option(help="Seconds for each run, more than 0.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def solve(
    problem: ProblemFile,
    solver: Annotated[str | None, typer.Option(help="Run this solver only; see 'privopt solvers'.")] = None,
    time_limit: TimeLimit = 10.0,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option(metavar="SOLUTION.json", help="Write the solution, solved or not.")
    ] = None,
    as_json: AsJson = False,
    certify: Annotated[
        bool,
        typer.Option("--certify/--no-certify", help="Without a proof, it releases as a simulation only."),
    ] = True,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Tell all of the certificate, and every solver considered.")
    ] = False,
) -> None:
    """Find the best mechanism and prove that it is private; exit code 1 if there is none."""
    show.check_output(output, problem)
    loaded = po.load_problem(problem)
    with show.progress("solving") as told:
        solution = po.solve(loaded, solver, time_limit=time_limit, certify=certify, seed=seed, progress=told)
    if output is not None:
        solution.save(output)
    if as_json:
        show.emit(solution.to_dict())
    else:
        note = constant_sentence(loaded, solution.mechanism) if solution.status.ok else ""
        show.facts([*_facts(solution, loaded, note, verbose), ("written", output)])
    raise typer.Exit(0 if solution.status.ok else 1)


def _objective(objective: float | None, quantity: Quantity) -> str:
    """What is maximised, and what that is as a person says it."""
    if objective is None:
        return ""
    value = quantity.of(objective)
    amount = f"{number(100 * value)} %" if quantity.unit == SHARE else measured(number(value), quantity.unit)
    return f"{number(objective)} ({quantity.name}: {amount}, {quantity.better} is better)"


def _facts(
    s: po.Solution[Any], problem: po.Problem[Any], note: str, verbose: bool
) -> list[tuple[str, object]]:
    """A solution in lines."""
    proof: object = "NOT CERTIFIED: nothing was proved" if s.status.ok else ""
    if s.certificate is not None:
        proof = s.certificate.sentences() if verbose else _short(s.certificate)
    leakage = (
        f"{measured(number(s.leakage), s.leakage_unit)} (budget {number(problem.budget)})"
        if s.leakage is not None
        else ""
    )
    return [
        ("status", f"{s.status.name}: {s.status.value}"),
        ("reason", s.reason),
        ("note", note),
        ("solver", s.solver),
        ("utility", number(s.utility)),
        ("noise", _noise(s.mechanism) if s.status.ok else ""),
        ("leakage", leakage),
        ("objective", _objective(s.objective, problem.quantity())),
        ("bound", number(s.bound)),
        ("gap", number(s.gap, 3)),
        ("certificate", proof),
        ("seconds", spent(s)),
        ("considered", list(s.alternatives) if verbose else _others(s)),
    ]


def _noise(mechanism: po.Mechanism) -> list[str]:
    """The kind and the scale of noise with its unit, and what that means for an answer; nothing of other mechanisms."""
    if not isinstance(mechanism, po.NoisyQuery):
        return []
    if mechanism.constant:
        return [mechanism.accuracy_statement()]
    kind = mechanism.noise.replace("_", " ")
    if mechanism.noise == "randomised_response":
        said = f"{kind}: a report lies with probability {number(mechanism.scale)}"
    else:
        counts = mechanism.query in ("count", "histogram") or isinstance(mechanism.query, tuple)
        each = " for each cell" if mechanism.query == "histogram" else ""
        unit = "records" if counts else f"the unit of the {mechanism.name}"
        said = f"{kind} of scale {number(mechanism.scale)}{each}, in {unit}"
    return [f"{said} (level {number(mechanism.tau)} nats)", mechanism.accuracy_statement()]


def _short(certificate: po.Certificate) -> list[str]:
    """The verdict and the claim in words, and what they leave out; all where nothing is proved."""
    said = certificate.sentences()
    if not certificate.ok:
        return said
    kept = (
        ("In words: ", "Remark: ") if certificate.kind == "privacy" else ("In words: ", "Kind: ", "Remark: ")
    )
    first, *rest = certificate.uncovered or (ONE_RELEASE,)
    more = f", and {len(rest)} more" if rest else ""
    return [
        said[0],
        *(text for text in said[1:] if text.startswith(kept)),
        f"Not covered: {first.partition(' (')[0]}{more}; --verbose and 'privopt verify' tell all, and what is assumed, against whom.",
    ]


def _others(s: po.Solution[Any]) -> list[str]:
    """What was run in vain where there is no answer, and how many other solvers were considered."""
    own = (f"{s.solver}: ", f"{s.status.name} by {s.solver}: ")
    others = [line for line in s.alternatives if not line.startswith(own)]
    told = [] if s.status.ok else [line for line in others if " by " in line.partition(":")[0]]
    count = len(others) - len(told)
    one, them = ("", "it") if count == 1 else ("s", "them")
    return [*told, f"{count} other solver{one}: --verbose lists {them}"] if count else told
