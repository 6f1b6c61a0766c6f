"""Bundles: everything that speaks for a release in one file, which anybody can verify."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privopt.core.certificate import Certificate
from privopt.core.exact import log_enclosure
from privopt.core.problem import Problem
from privopt.core.solution import Solution
from privopt.core.verify import verify
from privopt.errors import FileRefused, InvalidMechanism, PrivoptError
from privopt.files.json import check_schema, parse_json
from privopt.files.load import problem_from_dict
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.mechanisms.codebook import Codebook
from privopt.models import GroupModel
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.boundary_colouring.data import ColouringData
from privopt.publication.archive import read_archive, write_archive
from privopt.publication.books import (
    codebook_columns,
    codebook_fault,
    codebook_of_part,
    codebook_part,
    codebook_remarks,
)
from privopt.publication.explain import explain
from privopt.publication.receipt import Receipt
from privopt.publication.released import read_released
from privopt.publication.table import TableCheck, check_table

FORMAT = "privopt/bundle"
VERSION = 2

MANIFEST, PROBLEM, SOLUTION, CERTIFICATE, RECEIPT, CODEBOOK, WORDS = (
    "manifest.json", "problem.json", "solution.json", "certificate.json", "receipt.json", "codebook.json", "explanation.txt",
)  # fmt: skip
NAMES = (MANIFEST, PROBLEM, SOLUTION, CERTIFICATE, RECEIPT, CODEBOOK, WORDS)

CONFIDENTIAL = (
    "CONFIDENTIAL: the model in this bundle was counted, or may have been, from people's data; a table of counts says how many people "
    "have each combination of values, the secret among them. Give it to those who may know that, and make one with --public for others."
)
HARMLESS = "The model in this bundle is declared, not counted: it says nothing about anybody's data."
PUBLIC = (
    "The counted model was left out of this bundle. What can still be verified: that its parts belong together, that the mechanism is the "
    "one that was certified, that a released file is the one of the receipt and holds possible outputs only, and a bound that "
    "holds however people are spread, where there is one. The certificate itself can be proved by those who have the model."
)
UNSIGNED = (
    "Hashes tie the parts to one another; they are no signature. What nobody can prove afresh is only as good as who gives you the "
    "bundle: the times, the counts of rows and the keyed hashes in the receipt, the words of the codebook."
)


@dataclass(frozen=True)
class Contents:
    """A bundle that was read: the parts, parsed and checked against the manifest."""

    manifest: Mapping[str, Any]
    problem: Problem[Any] | None
    solution: Solution[Any]
    certificate: Certificate
    receipt: Receipt | None
    codebook: Mapping[str, Any] | None
    public: bool
    words: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the bundle says in other words than this version does; nothing of it is believed."""
        counted = self.problem is None or is_counted(self.problem)
        said = [PUBLIC if self.problem is None else CONFIDENTIAL if counted else HARMLESS, UNSIGNED]
        told = (
            []
            if self.manifest["says"] == said
            else ["the manifest words what the bundle is for in another way; not believed"]
        )
        if self.problem is None or self.words != f"{explain(self.problem, self.solution, self.receipt)}\n":
            told.append(
                f"{WORDS} is not checked here; 'privopt explain' words it afresh where the problem is at hand"
            )
        if self.codebook is not None:
            told += codebook_remarks(self.codebook, self.problem, self.solution.mechanism)
        if self.receipt is not None:
            said_there = self.receipt.sentences(self.certificate.kind == "average")
            told += [f"by the receipt: {text.rstrip('.')}" for text in said_there]
        return tuple(told)


def bundle(
    path: str | os.PathLike[str],
    problem: Problem[Any],
    solution: Solution[Any],
    *,
    receipt: Receipt | None = None,
    codebook: Codebook | Mapping[str, Any] | None = None,
    public: bool = False,
) -> None:
    """Write everything that speaks for a release into one zip file: problem, solution, certificate, explanation, receipt, codebook.

    Equal parts give equal bytes. The file is written whole or not at all, and only if what is in it can be proved.

    Parameters
    ----------
    path : path
    problem : Problem
    solution : Solution
        Of that problem, certified.
    receipt : Receipt, optional
        Of the release; it names the released file by its hash.
    codebook : Codebook, or mapping of names to cells, optional
        What the released symbols mean, as :meth:`Codebook.columns` gives it. It must be that of the mechanism and the problem;
        readable names may be others. Shares and probabilities are left out of a public bundle.
    public : bool
        Leave the model out where it was or may have been counted, with the dual and the salt; see :func:`verify_bundle`.

    Raises
    ------
    InvalidMechanism
        If the solution is not proved, or the receipt is of another one.

    Examples
    --------
    >>> import tempfile, pathlib, privopt as po
    >>> vote = po.JointDistribution([[0.3, 0.1], [0.2, 0.4]], ["red", "blue"], ["young", "old"])
    >>> problem = po.LocalInformationPrivacy(vote, 0.3)
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "bundle.zip"
    >>> bundle(place, problem, po.solve(problem))
    >>> verify_bundle(place).ok
    True
    """
    proved = verify(problem, solution)
    if not proved.ok or solution.certificate is None:
        raise InvalidMechanism(f"only what is proved goes into a bundle: {proved.reason}")
    fault = None if receipt is None else receipt.fault(solution.mechanism, solution.certificate)
    if fault is not None:
        raise InvalidMechanism(fault)
    hidden = public and is_counted(problem)
    written = solution.to_dict()
    if public:
        written = {
            **written,
            "dual": None,
            "bound": None,
            "gap": None,
            "status": "FEASIBLE",
            "guarantee": "FEASIBLE",
        }
        written |= {"stats": {}, "alternatives": [], "seconds": 0.0}
    parts: dict[str, bytes] = {
        SOLUTION: _json(written),
        CERTIFICATE: _json(solution.certificate.to_dict()),
        WORDS: f"{explain(problem, solution, receipt)}\n".encode(),
    }
    if not hidden:
        parts[PROBLEM] = _json(problem.to_dict())
    if receipt is not None:
        parts[RECEIPT] = _json((receipt.public() if public else receipt).to_dict())
    if codebook is not None:
        table = codebook_columns(codebook)
        fault = codebook_fault(table, problem, solution.mechanism)
        if fault is not None:
            raise InvalidMechanism(f"the codebook is not that of the mechanism: {fault}")
        parts[CODEBOOK] = _json(codebook_part(table, public))
    said = [PUBLIC if hidden else CONFIDENTIAL if is_counted(problem) else HARMLESS, UNSIGNED]
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "public": public,
        "problem": problem.fingerprint,
        "mechanism": solution.mechanism.fingerprint,
        "released": None if receipt is None else {"name": receipt.released, "sha256": receipt.sha256},
        "parts": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(parts.items())},
        "says": said,
    }
    write_archive(path, {**parts, MANIFEST: _json(manifest)})


def is_counted(problem: Problem[Any]) -> bool:
    """Whether the model of a problem may have been counted from people's data; declared graphs and groups were not.

    Examples
    --------
    >>> import privopt as po
    >>> is_counted(po.BayesianPrivacy(po.GroupModel(2), "sum", 1.0, clip=(0, 1)))
    False
    """
    declared = isinstance(problem, ColouringData)
    return not declared and not (
        isinstance(problem, BayesianPrivacyData) and isinstance(problem.model, GroupModel)
    )


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def read_bundle(path: str | os.PathLike[str]) -> Contents:
    """The parts of a bundle, each checked against the manifest and against the others; nothing is proved yet.

    Raises
    ------
    FileRefused
        If it is not a bundle, or a part was changed, is missing, or belongs to another release.
    """
    place = Path(path)
    parts = read_archive(place, NAMES)
    if MANIFEST not in parts:
        raise FileRefused(f"{place}: is not a bundle: there is no {MANIFEST}")
    manifest = _parsed(place, MANIFEST, parts.pop(MANIFEST))
    check_schema(manifest, "bundle")
    if set(manifest["parts"]) != set(parts):
        raise FileRefused(f"{place}: the manifest names other parts than there are")
    for name, content in parts.items():
        if hashlib.sha256(content).hexdigest() != manifest["parts"][name]:
            raise FileRefused(f"{place}: {name} was changed: its SHA-256 is not the one in the manifest")
    missing = [name for name in (SOLUTION, CERTIFICATE, WORDS) if name not in parts]
    if missing:
        raise FileRefused(f"{place}: there is no {missing[0]}")
    fields = {name: _parsed(place, name, content) for name, content in parts.items() if name != WORDS}
    solution = Solution[Any].from_dict(fields[SOLUTION])
    check_schema(fields[CERTIFICATE], "certificate")
    contents = Contents(
        manifest,
        problem_from_dict(fields[PROBLEM]) if PROBLEM in fields else None,
        solution,
        Certificate.from_dict(fields[CERTIFICATE]),
        Receipt.from_dict(fields[RECEIPT]) if RECEIPT in fields else None,
        fields.get(CODEBOOK),
        manifest["public"],
        parts[WORDS].decode("utf-8", "replace"),
    )
    fault = _disagreement(contents)
    if fault is not None:
        raise FileRefused(f"{place}: {fault}")
    return contents


def _parsed(place: Path, name: str, content: bytes) -> dict[str, Any]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise FileRefused(f"{place}: {name} is not UTF-8 text") from cause
    return parse_json(text, f"{place}: {name}")


def _disagreement(contents: Contents) -> str | None:
    """What in a bundle does not go with the rest."""
    solution, manifest, receipt = contents.solution, contents.manifest, contents.receipt
    if solution.answer is None or solution.certificate is None:
        return "the solution has no mechanism or no certificate"
    if contents.certificate != solution.certificate:
        return "certificate.json is not the certificate of the solution"
    if not contents.certificate.ok or contents.certificate.mechanism != solution.answer.fingerprint:
        return "the mechanism is not the one that was certified (its fingerprint differs)"
    if manifest["mechanism"] != solution.answer.fingerprint:
        return "the manifest names another mechanism"
    if not manifest["problem"] == solution.problem == contents.certificate.problem:
        return "the manifest, the solution and the certificate are of different problems"
    if contents.problem is None and not contents.public:
        return f"there is no {PROBLEM}, and the bundle does not say that it is public"
    if contents.problem is not None and contents.problem.fingerprint != manifest["problem"]:
        return f"{PROBLEM} is another problem (its fingerprint differs)"
    if contents.problem is not None and contents.public and is_counted(contents.problem):
        return "the bundle says that it is public, and holds the model"
    released = None if receipt is None else {"name": receipt.released, "sha256": receipt.sha256}
    if manifest["released"] != released:
        return "the manifest and the receipt name different released files"
    if contents.codebook is not None and manifest["version"] > 1:
        fault = codebook_fault(codebook_of_part(contents.codebook), contents.problem, solution.answer)
        if fault is not None:
            return f"{CODEBOOK} is not the codebook of the mechanism: {fault}"
    if receipt is None:
        return None
    return receipt.fault(solution.answer, contents.certificate) or receipt.fault_of_words(
        solution.answer, contents.problem
    )


def verify_bundle(
    path: str | os.PathLike[str], released: str | os.PathLike[str] | None = None
) -> Certificate:
    """Prove what a bundle claims, from its file alone, and look at the released table if it is given.

    Without the model (``public``) the certificate cannot be proved: ``ok`` is then True only where a bound holds however people are
    spread, and the reason says what was checked.

    Parameters
    ----------
    path : path
    released : path, optional
        The CSV file that was released: it must be the one of the receipt, and plausible.

    Returns
    -------
    Certificate
        ``ok`` is False, with the reason, for a bundle that was changed or is not proved.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "bundle.zip"
    >>> _ = place.write_bytes(b"something else")
    >>> verify_bundle(place).ok
    False
    """
    try:
        contents = read_bundle(path)
        table = None if released is None else released_table(contents, released)
    except PrivoptError as cause:
        return Certificate(False, "the bundle is what it says", str(cause), 0.0)
    proved = (
        verify(contents.problem, contents.solution)
        if contents.problem is not None
        else without_model(contents)
    )
    if table is not None and not table.ok:
        return replace(proved, ok=False, reason=table.sentence().rstrip("."))
    told = () if table is None else (table.sentence().rstrip("."),)
    return replace(proved, remarks=(*proved.remarks, *contents.remarks, *told))


def released_table(contents: Contents, released: str | os.PathLike[str]) -> TableCheck:
    """The check of a released table against the receipt of a bundle, and against its model where that is there.

    Raises
    ------
    FileRefused
        If the file cannot be read, or the released columns cannot be told.
    """
    receipt = contents.receipt
    fault = None if receipt is None else receipt.fault_of_file(released)
    if fault is not None:
        return TableCheck(False, fault, 0, ())
    if contents.problem is None:
        if receipt is None:
            raise FileRefused("a public bundle without a receipt says nothing of a table")
        return TableCheck(True, "it is the file of the receipt, byte for byte", receipt.rows, receipt.columns)
    layout = None if receipt is None else receipt.layout
    table = read_released(released, receipt is not None and receipt.raw_cells)
    check = check_table(contents.problem, contents.solution.mechanism, table, layout)
    told = None if receipt is None else receipt.fault_of_table(table)
    if check.ok and told is not None:
        return replace(check, ok=False, reason=told)
    if (
        check.ok
        and receipt is not None
        and set(table) != {*receipt.columns, *receipt.kept, *([receipt.by] if receipt.by else [])}
    ):
        return replace(check, ok=False, reason="it has other columns than the receipt names")
    return check


def without_model(contents: Contents) -> Certificate:
    """What is proved of a mechanism where the model was left out: a bound for every distribution, if there is one."""
    stated, mechanism = contents.certificate, contents.solution.mechanism
    agree = "the parts of the bundle belong together, and the mechanism is the one that was certified"
    level = everywhere(mechanism)
    if level is None or not (stated.kind == "privacy" and level[1] <= stated.budget):
        why = "the certificate itself is NOT PROVED here, as the counted model was left out: ask its owner, or believe who gave you the bundle"
        shown = (0.0, math.inf) if level is None else (0.0, level[1])
        return Certificate(
            False,
            stated.claim,
            f"{agree}; {why}",
            stated.budget,
            leakage=shown,
            problem=stated.problem,
            mechanism=stated.mechanism,
        )
    return replace(
        stated,
        reason=f"{agree}; no release is more than e^budget times as likely for one input as for another, so it holds however people are spread",
        leakage=(0.0, level[1]),
        utility=(-math.inf, math.inf),
        worst=(),
        where="",
        method="integer rows of the mechanism against balls of e^budget",
        assumption="nothing: it holds for every distribution",
        remarks=(),
    )


def everywhere(mechanism: Mechanism) -> tuple[float, float] | None:
    """An enclosure of the largest log-ratio of two rows of a channel, which bounds what it leaks whatever the data; None for others.

    Examples
    --------
    >>> low, high = everywhere(Channel([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(low, 6), high >= math.log(3)
    (1.098612, True)
    """
    if isinstance(mechanism, Merging):
        return (0.0, 0.0) if len(mechanism.blocks) == 1 else (math.inf, math.inf)
    if not isinstance(mechanism, Channel):
        return None
    rows = mechanism.exact()
    largest = (1, 1)
    for y in range(len(mechanism.outputs)):
        column = [row.fraction(y) for row in rows]
        if min(column) == 0 < max(column):
            return math.inf, math.inf
        if max(column) > 0 and max(column) / min(column) > largest[0] / largest[1]:
            largest = (max(column) / min(column)).as_integer_ratio()
    low, high = log_enclosure(*largest) if largest != (1, 1) else (0.0, 0.0)
    return low, high
