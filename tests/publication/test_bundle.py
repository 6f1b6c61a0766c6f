"""Bundles, receipts and states: made from files, verified from files, attacked leaf by leaf."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.errors import FileRefused, InvalidMechanism
from privopt.mechanisms.codebook import codebook
from privopt.publication import receipt as receipts
from privopt.publication.archive import write_archive
from privopt.publication.bundle import MANIFEST, NAMES
from privopt.publication.receipt import NOT_RECORDED, Receipt, make_receipt
from privopt.publication.released import written_as
from privopt.publication.state import release_once

Json = dict[str, Any]
Leaf = tuple[str | int, ...]

VOTE = po.JointDistribution.normalised([[30, 10], [20, 40]], ["red", "blue"], ["young", "old"])
PROBLEM = po.LocalInformationPrivacy(VOTE, 0.5)
SOLUTION = po.solve(PROBLEM)
AGES = ["young", "old", "old", "young", "old"] * 20
CODEBOOK = codebook(SOLUTION.mechanism, VOTE.useful, VOTE.p_x)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with its receipt, and a bundle and a public one."""
    place = tmp_path_factory.mktemp("release")
    texts = dict(zip(SOLUTION.mechanism.outputs, written_as(SOLUTION.mechanism), strict=True))
    drawn = [texts[y][0] for y in SOLUTION.mechanism.release(AGES, np.random.default_rng(0)).tolist()]
    (place / "released.csv").write_text("\n".join(["released", *drawn, ""]), encoding="utf-8")
    receipt = make_receipt(
        SOLUTION.mechanism,
        SOLUTION.certificate,
        {"age": AGES},
        place / "released.csv",
        {"released": drawn},
        how="simulated",
    )
    receipt.save(place / "receipt.json")
    SOLUTION.save(place / "solution.json")
    (place / "problem.json").write_text(json.dumps(PROBLEM.to_dict()), encoding="utf-8")
    po.bundle(place / "bundle.zip", PROBLEM, SOLUTION, receipt=receipt, codebook=CODEBOOK)
    po.bundle(place / "public.zip", PROBLEM, SOLUTION, receipt=receipt, codebook=CODEBOOK, public=True)
    return place


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def signed(parts: dict[str, bytes]) -> dict[str, bytes]:
    """The parts with the hashes of the manifest, and the seal of the receipt, made to fit."""
    parts = dict(parts)
    manifest = json.loads(parts[MANIFEST])
    manifest["parts"] = {
        name: hashlib.sha256(content).hexdigest() for name, content in parts.items() if name != MANIFEST
    }
    parts[MANIFEST] = json.dumps(manifest).encode()
    return parts


def leaves(value: Any, path: Leaf = ()) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path


def changed(document: Json, leaf: Leaf) -> Json:
    """The document with one leaf replaced by something near it."""
    document = copy.deepcopy(document)
    place: Any = document
    for key in leaf[:-1]:
        place = place[key]
    old = place[leaf[-1]]
    if isinstance(old, bool):
        new: Any = not old
    elif isinstance(old, (int, float)):
        new = old + 1
    elif isinstance(old, str):
        new = f"{old[:-1]}{'0' if old[-1:] != '0' else '1'}" if old else "x"
    else:
        new = "0" * 64
    place[leaf[-1]] = new
    return document


def test_the_officer_verifies_from_one_file(folder: Path) -> None:
    certificate = po.verify_bundle(folder / "bundle.zip")
    assert certificate.ok
    assert certificate.leakage[1] <= 0.5
    run = CliRunner().invoke(app, ["verify", str(folder / "bundle.zip"), str(folder / "released.csv")])
    assert run.exit_code == 0, run.output
    assert run.stdout.startswith("PROVED (privacy)")
    assert "is plausible" in run.stdout
    manifest = json.loads(parts_of(folder / "bundle.zip")[MANIFEST])
    assert manifest["says"][0].startswith("CONFIDENTIAL")


def test_equal_bundles_are_equal_bytes(folder: Path, tmp_path: Path) -> None:
    receipt = Receipt.load(folder / "receipt.json")
    po.bundle(
        tmp_path / "again.zip",
        PROBLEM,
        po.Solution[Any].load(folder / "solution.json"),
        receipt=receipt,
        codebook=CODEBOOK,
    )
    assert (tmp_path / "again.zip").read_bytes() == (folder / "bundle.zip").read_bytes()


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".json")])
def test_every_leaf_of_every_part_is_guarded_by_its_hash(name: str, folder: Path, tmp_path: Path) -> None:
    parts = parts_of(folder / "bundle.zip")
    document = json.loads(parts[name])
    for leaf in leaves(document):
        if name == MANIFEST and leaf[0] == "says":
            continue
        write_archive(tmp_path / "bad.zip", {**parts, name: json.dumps(changed(document, leaf)).encode()})
        assert not po.verify_bundle(tmp_path / "bad.zip").ok, leaf


UNPROVED = {"reason", "solver", "seconds", "stats", "alternatives", "not_proved"}
WORDS = {
    "claim", "reason", "where", "method", "assumption", "kind", "statement", "adversary", "unit", "uncovered", "remarks", "version",
}  # fmt: skip


@pytest.mark.parametrize("name", ["problem.json", "solution.json", "certificate.json"])
def test_a_forger_who_signs_again_is_refused_too(name: str, folder: Path, tmp_path: Path) -> None:
    parts = parts_of(folder / "bundle.zip")
    document = json.loads(parts[name])
    for leaf in leaves(document):
        if name == "solution.json" and (leaf[0] in UNPROVED or leaf[-1] == "version" or leaf[0] == "dual"):
            continue
        if name == "problem.json" and leaf[-1] == "version":
            continue
        forged = signed({**parts, name: json.dumps(changed(document, leaf)).encode()})
        write_archive(tmp_path / "bad.zip", forged)
        assert not po.verify_bundle(tmp_path / "bad.zip").ok, leaf


UNPROVABLE = {
    ("receipt.json", "read"): "only the owner has the data and the salt",
    ("receipt.json", "smallest", 0): "groups before the release are those of the owner's data",
    ("receipt.json", "unique", 0): "as many rows alone before it as the owner's data have",
    ("receipt.json", "how"): "where randomness came from cannot be seen afterwards",
    ("receipt.json", "when"): "nor when it was",
    ("receipt.json", "salt"): "another salt only makes the hashes of the owner's data wrong",
    ("receipt.json", "mark"): "a channel hides no cell, so nothing is marked",
    ("receipt.json", "seal"): "it is made anew by whoever signs again",
    ("codebook.json", "columns", "suggested_name"): "a readable name may be another; a remark says so",
    ("manifest.json", "says"): "words, which are not believed; a remark says so",
    ("manifest.json", "parts"): "it is made anew by whoever signs again",
}
"""What cannot be proved from a bundle and its table, and why; all else is refused, whoever signs it."""


def sealed(document: Json) -> Json:
    return {**document, "seal": receipts._seal(document)}


@pytest.mark.parametrize("name", ["receipt.json", "codebook.json", "manifest.json"])
def test_a_forger_who_seals_and_signs_again_is_refused_but_for_what_nobody_can_prove(
    name: str, folder: Path, tmp_path: Path
) -> None:
    parts = parts_of(folder / "bundle.zip")
    document = json.loads(parts[name])
    (tmp_path / "released.csv").write_bytes((folder / "released.csv").read_bytes())
    harmless = set()
    for leaf in leaves(document):
        forged = changed(document, leaf)
        if (
            name == "codebook.json" and len(leaf) > 2 and leaf[1] in ("share", "probability")
        ):  # a last digit means nothing
            forged["columns"][leaf[1]][leaf[2]] = "0.123"
        forged = sealed(forged) if name == "receipt.json" else forged
        write_archive(tmp_path / "bad.zip", signed({**parts, name: json.dumps(forged).encode()}))
        told = po.verify_bundle(tmp_path / "bad.zip", tmp_path / "released.csv")
        known = [key for key in UNPROVABLE if (name, *leaf)[: len(key)] == key]
        if known:
            harmless.update(known)
            continue
        assert not told.ok, leaf
    assert harmless == {key for key in UNPROVABLE if key[0] == name}


def test_another_readable_name_is_remarked_and_two_for_one_release_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    parts = parts_of(folder / "bundle.zip")
    book = json.loads(parts["codebook.json"])
    releases, names = book["columns"]["release"], book["columns"]["suggested_name"]
    book["columns"]["suggested_name"] = [
        "rich" if r == releases[0] else n for r, n in zip(releases, names, strict=True)
    ]
    write_archive(tmp_path / "a.zip", signed({**parts, "codebook.json": json.dumps(book).encode()}))
    told = po.verify_bundle(tmp_path / "a.zip")
    assert told.ok
    assert any("'rich'" in remark and "from its symbols" in remark for remark in told.remarks)
    with pytest.raises(InvalidMechanism, match=r"the share is 0\.125"):
        po.bundle(
            tmp_path / "b.zip",
            PROBLEM,
            SOLUTION,
            codebook={**CODEBOOK.columns(), "share": ["0.125"] * len(releases)},
        )
    assert not (tmp_path / "b.zip").exists()


def test_a_public_codebook_has_no_shares_and_only_possible_symbols(folder: Path, tmp_path: Path) -> None:
    parts = parts_of(folder / "public.zip")
    book = json.loads(parts["codebook.json"])
    assert set(book["columns"]) == {"release", "suggested_name", "symbol"}
    book["columns"]["symbol"] = ["nobody"] * len(book["columns"]["symbol"])
    write_archive(tmp_path / "bad.zip", signed({**parts, "codebook.json": json.dumps(book).encode()}))
    assert "a symbol that is never released as" in po.verify_bundle(tmp_path / "bad.zip").reason


def test_a_bundle_of_the_version_before_is_read_and_its_codebook_not_believed(
    folder: Path, tmp_path: Path
) -> None:
    parts = parts_of(folder / "bundle.zip")
    manifest = {**json.loads(parts[MANIFEST]), "version": 1}
    old = {**parts, "codebook.json": b'{"outputs": []}', MANIFEST: json.dumps(manifest).encode()}
    write_archive(tmp_path / "old.zip", signed(old))
    told = po.verify_bundle(tmp_path / "old.zip")
    assert told.ok, told.reason
    assert any("of an earlier version and not checked" in remark for remark in told.remarks)


def test_swapped_missing_and_foreign_parts_are_refused(folder: Path, tmp_path: Path) -> None:
    parts = parts_of(folder / "bundle.zip")
    other = po.solve(PROBLEM.with_budget(0.4))
    po.bundle(tmp_path / "other.zip", PROBLEM.with_budget(0.4), other)
    foreign = parts_of(tmp_path / "other.zip")
    names = sorted(set(parts) - {MANIFEST})
    for first, second in combinations(names, 2):
        swapped = {**parts, first: parts[second], second: parts[first]}
        for content in (swapped, signed(swapped)):
            write_archive(tmp_path / "bad.zip", content)
            assert not po.verify_bundle(tmp_path / "bad.zip").ok, (first, second)
    for name in ("problem.json", "solution.json", "certificate.json"):
        write_archive(tmp_path / "bad.zip", signed({**parts, name: foreign[name]}))
        assert not po.verify_bundle(tmp_path / "bad.zip").ok, name
        write_archive(tmp_path / "bad.zip", signed({key: part for key, part in parts.items() if key != name}))
        assert not po.verify_bundle(tmp_path / "bad.zip").ok, name
    write_archive(tmp_path / "bad.zip", {**parts, "more.json": b"{}"})
    assert "another name" in po.verify_bundle(tmp_path / "bad.zip").reason


def test_a_directory_of_a_million_parts_is_refused_unread(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i in range(20_000):
            archive.writestr(zipfile.ZipInfo(f"{i:0100}"), b"")
    (tmp_path / "bundle.zip").write_bytes(stream.getvalue())
    assert "directory" in po.verify_bundle(tmp_path / "bundle.zip").reason
    sixty_four = b"PK\x06\x07" + b"\0" * 16 + b"PK\x05\x06" + b"\0" * 18
    (tmp_path / "bundle.zip").write_bytes(b"\0" * 100 + sixty_four)
    assert not po.verify_bundle(tmp_path / "bundle.zip").ok


def test_a_receipt_of_the_version_before_is_read(folder: Path) -> None:
    document = json.loads((folder / "receipt.json").read_text(encoding="utf-8"))
    new = ("kept_leakage", "kept_how", "total_within", "delta")
    old = sealed({**{key: value for key, value in document.items() if key not in new}, "version": 1})
    assert Receipt.from_dict(old) == Receipt.load(folder / "receipt.json")


def test_words_that_were_changed_everywhere_are_not_believed(folder: Path, tmp_path: Path) -> None:
    parts = parts_of(folder / "bundle.zip")
    solution = json.loads(parts["solution.json"])
    solution["certificate"]["statement"] = "nothing at all is told"
    forged = {
        **parts,
        "solution.json": json.dumps(solution).encode(),
        "certificate.json": json.dumps(solution["certificate"]).encode(),
    }
    write_archive(
        tmp_path / "bad.zip",
        signed({name: content for name, content in forged.items() if name != "receipt.json"}),
    )
    told = po.verify_bundle(tmp_path / "bad.zip")
    assert "nothing at all" not in str(told)


def test_leaves_of_a_receipt_are_sealed_and_those_that_can_be_proved_are(folder: Path) -> None:
    document = json.loads((folder / "receipt.json").read_text(encoding="utf-8"))
    for leaf in leaves(document):
        if leaf == ("salt",):
            continue
        with pytest.raises(FileRefused):
            Receipt.from_dict(changed(document, leaf))
    receipt = Receipt.from_dict(document)
    wrong = "0" * 64
    assert "another mechanism" in str(replace(receipt, mechanism=wrong).fault(SOLUTION.mechanism))
    for name in ("problem", "certificate"):
        assert f"another {name}" in str(
            replace(receipt, **{name: wrong}).fault(SOLUTION.mechanism, SOLUTION.certificate)
        )
    assert "is not the file" in str(replace(receipt, sha256=wrong).fault_of_file(folder / "released.csv"))
    assert receipt.fault_of_data({"age": AGES}) is None
    assert "is not the one that was read" in str(receipt.fault_of_data({"age": AGES[::-1]}))
    assert "is not the one that was read" in str(replace(receipt, salt=wrong).fault_of_data({"age": AGES}))
    with pytest.raises(FileRefused, match="only the owner's copy"):
        receipt.public().fault_of_data({"age": AGES})
    assert receipt.once == NOT_RECORDED
    assert receipt.smallest == (40, min(receipt.smallest or (0,))) or receipt.smallest is not None


def test_a_table_of_another_release_is_refused(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "released.csv").read_text(encoding="utf-8").splitlines()
    lines[1], lines[2] = lines[2], lines[1]
    (tmp_path / "released.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    if lines[1] != lines[2]:
        told = po.verify_bundle(folder / "bundle.zip", tmp_path / "released.csv")
        assert "is not the file that was released" in told.reason


def test_a_public_bundle_holds_no_model_and_says_what_can_be_verified(folder: Path) -> None:
    parts = parts_of(folder / "public.zip")
    assert "problem.json" not in parts
    assert json.loads(parts["solution.json"])["dual"] is None
    assert json.loads(parts["receipt.json"])["salt"] == ""
    assert b'"table"' not in b"".join(parts.values())
    told = po.verify_bundle(folder / "public.zip", folder / "released.csv")
    assert "the parts of the bundle belong together" in told.reason
    assert any("byte for byte" in remark for remark in told.remarks)
    assert "What can still be verified" in json.loads(parts[MANIFEST])["says"][0]


def test_a_public_bundle_is_proved_where_a_bound_holds_for_everybody(tmp_path: Path) -> None:
    joint = po.JointDistribution([[0.4, 0.1], [0.1, 0.4]])
    problem = po.LocalInformationPrivacy(joint, 1.0)
    channel = po.Channel([[0.6, 0.4], [0.4, 0.6]])
    solution = po.Solution[Any](
        po.Status.FEASIBLE,
        answer=channel,
        utility=problem.evaluate(channel).utility,
        leakage=problem.evaluate(channel).leakage,
        objective=problem.evaluate(channel).objective,
        certificate=problem.certify(channel),
        guarantee=po.Guarantee.FEASIBLE,
        problem=problem.fingerprint,
    )
    po.bundle(tmp_path / "public.zip", problem, solution, public=True)
    told = po.verify_bundle(tmp_path / "public.zip")
    assert told.ok, told.reason
    assert told.assumption == "nothing: it holds for every distribution"
    assert told.leakage[1] <= 1.0


def test_what_is_not_proved_is_not_bundled(tmp_path: Path) -> None:
    with pytest.raises(InvalidMechanism, match="only what is proved"):
        po.bundle(tmp_path / "a.zip", PROBLEM, po.solve(PROBLEM, certify=False))
    with pytest.raises(InvalidMechanism, match="only what is proved"):
        po.bundle(tmp_path / "a.zip", PROBLEM.with_budget(0.4), SOLUTION)
    assert not list(tmp_path.iterdir())


def hostile(entries: list[tuple[str, bytes, int]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content, method in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
HOSTILE = {
    "no zip": (b"hello", "is not a bundle"),
    "empty": (hostile([]), "there is no manifest.json"),
    "traversal": (hostile([("../../evil.json", b"{}", STORED)]), "another name"),
    "absolute": (hostile([("/etc/passwd", b"{}", STORED)]), "another name"),
    "bomb": (hostile([(MANIFEST, b" " * 10**7, DEFLATED)]), "compressed"),
    "many": (hostile([(f"{i}", b"", STORED) for i in range(100)]), "100 parts"),
    "not JSON": (hostile([(MANIFEST, b"{", STORED)]), "not valid JSON"),
    "deep": (hostile([(MANIFEST, b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", STORED)]), "bundle.zip"),
    "other parts": (hostile([(MANIFEST, b'{"format": "privopt/bundle"}', STORED)]), "required property"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name: str, tmp_path: Path) -> None:
    content, said = HOSTILE[name]
    (tmp_path / "bundle.zip").write_bytes(content)
    told = po.verify_bundle(tmp_path / "bundle.zip")
    assert not told.ok
    assert said in told.reason
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "bundle.zip")]).exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bundle.zip"]


def test_cut_and_flipped_archives_never_verify(folder: Path, tmp_path: Path) -> None:
    content = (folder / "bundle.zip").read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(content), 60).tolist():
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "bad.zip").write_bytes(bytes(flipped))
        told = po.verify_bundle(tmp_path / "bad.zip")
        if told.ok:  # the bit belonged to a field of the zip file that nobody reads, such as a date
            assert parts_of(tmp_path / "bad.zip") == parts_of(folder / "bundle.zip")
        (tmp_path / "bad.zip").write_bytes(content[:place])
        assert not po.verify_bundle(tmp_path / "bad.zip").ok


ROWS = [("young",), ("old",), ("old",)]


def test_a_second_draw_is_answered_with_the_first(tmp_path: Path) -> None:
    place, key = tmp_path / "state.json", "1" * 64
    first = release_once(place, key, {"": ROWS}, lambda done: {"": ["a", ("b", 1), None]})
    again = release_once(place, key, {"": ROWS}, lambda done: {"": []})
    assert again.released == first.released == {"": ["a", ("b", 1), None]}
    assert (again.drawn, again.recorded) == (0, 3)
    more = release_once(place, key, {"": [*ROWS, ("new",)]}, lambda done: {"": ["c"] * (4 - done[""])})
    assert more.released[""] == ["a", ("b", 1), None, "c"]
    assert b"young" not in place.read_bytes()


def test_other_records_and_other_mechanisms_are_refused(tmp_path: Path) -> None:
    place, key = tmp_path / "state.json", "1" * 64
    release_once(place, key, {"": ROWS}, lambda done: {"": ["a", "b", "c"]})
    before = place.read_bytes()
    for rows, other, whole in (
        (ROWS[::-1], key, False),
        (ROWS[:2], key, False),
        (ROWS, "2" * 64, False),
        ([*ROWS, ("x",)], key, True),
    ):
        with pytest.raises(FileRefused, match="says more than the certificate allows"):
            release_once(place, other, {"": rows}, lambda done: {"": ["z"]}, whole)
    assert place.read_bytes() == before
    document = json.loads(before)
    for leaf in leaves(document):
        if leaf[-1] == "label":
            continue  # a release that is given out again is the owner's own file
        place.write_text(json.dumps(changed(document, leaf)), encoding="utf-8")
        with pytest.raises(FileRefused):
            release_once(place, key, {"": ROWS}, lambda done: {"": []})


def test_two_runs_at_once_draw_once(tmp_path: Path) -> None:
    place, drawn = tmp_path / "state.json", []

    def draw(done: Any) -> dict[str, list[Any]]:
        if done[""]:
            return {"": []}
        drawn.append(1)
        return {"": [len(drawn)] * 3}

    runs = [threading.Thread(target=release_once, args=(place, "1" * 64, {"": ROWS}, draw)) for _ in range(8)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert drawn == [1]
    assert not list(tmp_path.glob(".*"))


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [str(folder / w) if (folder / w).is_file() else w for w in words])
        assert done.exit_code == code, done.output
        return done.output

    text = run("explain", "problem.json", "solution.json", "--output", str(tmp_path / "a.html"))
    assert "at most 1.649 times" in text
    assert (tmp_path / "a.html").is_file()
    assert len(json.loads(run("explain", "problem.json", "solution.json", "--json"))["sentences"]) <= 8
    made = run(
        "bundle",
        "problem.json",
        "solution.json",
        "--receipt",
        "receipt.json",
        "--output",
        str(tmp_path / "b.zip"),
    )
    assert "CONFIDENTIAL" in made
    assert "PROVED" in run("verify", str(tmp_path / "b.zip"))
    assert "is plausible" in run("verify", "problem.json", "solution.json", "released.csv")
    assert "is plausible" in run(
        "verify", "problem.json", "solution.json", "released.csv", "--receipt", "receipt.json"
    )
    (tmp_path / "bad.csv").write_text("released\n" + "B0\n" * 100, encoding="utf-8")
    assert "The table is refused" in run(
        "verify", "problem.json", "solution.json", str(tmp_path / "bad.csv"), code=1
    )
    assert "NOT PROVED" in run("verify", "public.zip", code=1)
