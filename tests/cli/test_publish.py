"""One command from a CSV file to a folder with a release, and what it says to a second one."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from instances import tables
from instances.tables import read, write

import privopt as po
from privopt.errors import FileRefused
from privopt.publication.receipt import Receipt, file_digest

pytestmark = pytest.mark.usefixtures("plain_pictures")

RNG = np.random.default_rng(11)
HEADER = ("vote", "school", "age", "size")
ROWS = [
    (vote, str(RNG.choice(["low", "middle", "high"], p=[0.5, 0.3, 0.2] if vote == "red" else [0.2, 0.3, 0.5])), str(age), size)
    for vote, age, size in zip(
        RNG.choice(["red", "blue"], 600).tolist(),
        RNG.integers(18, 80, 600).tolist(),
        RNG.choice(["1", "2", "10"], 600).tolist(),
        strict=True,
    )
]  # fmt: skip
COMMAND = ("publish", "people.csv", "--secret", "vote", "--columns", "school,age", "--output", "out")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("people.csv", HEADER, ROWS)
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    return " ".join(tables.run(*words, code=code).split())


def stored() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path("out").iterdir()}


def test_from_a_table_to_a_release_that_is_verified_and_answered_once(folder: Path) -> None:
    said = run(*COMMAND, "--epsilon", "0.3")
    assert "age was put into" in said
    assert "at most 1.35 times as likely" in said
    assert "check it privopt verify out/bundle.zip out/released.csv" in said
    assert {path.name for path in folder.iterdir()} == {"people.csv", "people.csv.published.json", "out"}
    released = read("out/released.csv")
    assert list(released[0]) == ["released", "school", "age"]
    assert len(released) == len(ROWS)
    assert Path("out/released.csv").stat().st_size < 2 * Path("people.csv").stat().st_size
    assert "is plausible" in run("verify", "out/bundle.zip", "out/released.csv")
    files = ("out/problem.json", "out/solution.json", "out/released.csv", "--receipt", "out/receipt.json")
    assert "is plausible" in run("verify", *files)
    assert "PROVED: private" in run("prove", "out/bundle.zip", "--output", "proof.txt")
    Path("proof.txt").unlink()
    assert "this is a solution, not a problem" in run(
        "verify", "out/solution.json", "out/released.csv", code=2
    )
    assert "is the count of the 600 rows of people.csv" in run("verify", "out", "--data", "people.csv")
    write("true.csv", HEADER, [(str(RNG.choice(["red", "blue"])), *row[1:]) for row in ROWS])
    assert "not counted from true.csv" in run("verify", "out", "--data", "true.csv", code=1)
    explained = run("explain", "out")
    assert "rises most by the release" in explained
    assert (
        explained == run("explain", "out/bundle.zip") == run("explain", "out/bundle.zip", "out/released.csv")
    )
    assert "is plausible" in run("verify", "out")
    assert "is not the file that was released" in run("explain", "out/bundle.zip", "people.csv", code=1)
    assert "is a folder without bundle.zip" in run("explain", str(folder), code=2)
    assert "Missing argument 'SOLUTION.json'" in run("explain", "out/problem.json", code=2)
    before = stored()

    again = run(*COMMAND, "--epsilon", "0.3")
    assert "stands as it was, and nothing was drawn" in again
    assert "a second draw of the same records says more than the certificate allows" in again
    other = run(*COMMAND, "--epsilon", "0.5", code=2)
    assert "these rows were released with epsilon 0.3" in other
    assert "a second draw" in other
    # Another way to read the same rows is another release of them.
    assert "a second draw" in run(*COMMAND, "--epsilon", "0.3", "--bins", "age=18,40,80", code=2)
    write("people.csv", HEADER, [("red", "low", "18", "1"), *ROWS[1:]])
    assert "the release of other rows or columns" in run(*COMMAND, "--epsilon", "0.3", code=2)
    assert stored() == before


def test_a_dry_run_shows_what_would_be_released_and_leaves_nothing_behind(folder: Path) -> None:
    said = run(*COMMAND[:6], "--epsilon", "0.3", "--dry-run")
    for part in (
        "protected vote",
        "PROVED (privacy)",
        "rises most by the release",
        "suggested name",
        "epsilon keeps status",
    ):
        assert part in said
    assert "nothing was drawn, recorded or written" in said
    assert {path.name for path in folder.iterdir()} == {"people.csv"}
    run(*COMMAND, "--epsilon", "0.3")
    before = stored()
    again = run(*COMMAND, "--epsilon", "0.5", "--dry-run")
    assert "people.csv.published.json says that something of this file was published before" in again
    assert stored() == before
    assert "Missing option '--output'" in run(*COMMAND[:6], "--epsilon", "0.3", code=2)
    unnamed = run("publish", "people.csv", "--secret", "vote", "--epsilon", "0.3", code=2)
    assert "Missing option '--columns'" in unnamed
    assert all(repr(name) in unnamed for name in Path("people.csv").read_text().splitlines()[0].split(","))


def test_a_release_that_says_nothing_is_neither_drawn_nor_recorded(folder: Path) -> None:
    silent = (
        "--secret",
        "vote",
        "--columns",
        "school",
        "--order",
        "school=low,middle,high",
        "--epsilon",
        "0.01",
        "--time-limit",
        "5",
    )
    said = run("publish", "people.csv", *silent, "--output", "out", code=2)
    assert "the best release says nothing about school" in said
    assert "--allow-constant" in said
    assert "says nothing about school" in run("publish", "people.csv", *silent, "--dry-run", code=2)
    assert {path.name for path in folder.iterdir()} == {"people.csv"}
    run("publish", "people.csv", *silent, "--output", "out", "--allow-constant")
    assert {row["school"] for row in read("out/released.csv")} == {"any"}


def test_columns_that_look_like_identifiers_are_named(folder: Path) -> None:
    rows = [(*row, str(1000 + i), f"{i / 7:.5f}") for i, row in enumerate(ROWS)]
    write("people.csv", (*HEADER, "account", "weight"), rows)
    wish = ("--secret", "vote", "--epsilon", "1", "--dry-run", "--allow-constant")
    said = run("publish", "people.csv", "--columns", "size,account", *wish)
    assert "column 'account' has 600 different values in 600 rows, like an identifier" in said
    assert "like an identifier" not in run("publish", "people.csv", "--columns", "size,weight", *wish)
    ruled = run("publish", "people.csv", "--columns", "size,account", "--bins", "account=equal:2", *wish)
    assert "like an identifier" not in ruled
    assert "'account' has 600 different" in run(
        "fit", "people.csv", "--sensitive", "vote", "--useful", "account"
    )


def test_values_that_differ_by_blanks_or_capitals_are_named(folder: Path) -> None:
    place = HEADER.index("vote")
    rows = [
        tuple(f"{c} ".upper() if k == place and i < 40 else c for k, c in enumerate(row))
        for i, row in enumerate(ROWS)
    ]
    write("people.csv", HEADER, rows)
    said = "differ only by blanks or capitals and are counted as different: "
    assert said in run("fit", "people.csv", "--sensitive", "vote", "--useful", "size")
    wish = ("--secret", "vote", "--columns", "size", "--epsilon", "1", "--dry-run", "--allow-constant")
    assert said in run("publish", "people.csv", *wish)


def to(output: str, *options: str, code: int = 0, columns: str = "size") -> str:
    words = ("--secret", "vote", "--columns", columns, "--epsilon", "0.3", "--output", output, *options)
    return run("publish", "people.csv", *words, code=code)


def test_a_copy_of_the_rows_is_not_published_either(folder: Path) -> None:
    to("out")
    write("copy.csv", ("colour", "school", "years", "size"), ROWS)
    said = run(
        "publish",
        "copy.csv",
        "--secret",
        "colour",
        "--columns",
        "years",
        "--output",
        "other",
        "--epsilon",
        "1",
        code=2,
    )
    assert (
        "copy.csv: these rows were published from another file into out with epsilon 0.3, as people.csv.published.json says"
        in said
    )
    assert not Path("other").exists()
    write("others.csv", HEADER, ROWS[1:])  # other rows, as far as can be known
    run(
        "publish",
        "others.csv",
        "--secret",
        "vote",
        "--columns",
        "school",
        "--output",
        "other",
        "--epsilon",
        "1",
    )


def test_the_same_rows_are_not_drawn_again_into_another_folder(folder: Path) -> None:
    said = to("out")
    assert "recorded people.csv.published.json: these rows are not drawn again" in said
    record = Path("people.csv.published.json")
    before = record.read_bytes()
    assert not any(cell in before.decode() for cell in ('"red"', '"blue"', '"10"'))
    for columns in ("size", "school"):  # with other columns the same secret is told more of
        said = to("other", columns=columns, code=2)
        assert (
            "people.csv: these rows were published into out with epsilon 0.3, and records are released once only"
            in said
        )
        assert "two draws of a mechanism that says nothing of a secret can name it" in said
        assert "delete people.csv.published.json too" in said
    write("people.csv", HEADER, [("red", "low", "18", "1"), *ROWS[::-1]])
    said = to("other", code=2)
    assert "when it had other rows (600); whether some of them are the same people cannot be known" in said
    assert not Path("other").exists()
    assert record.read_bytes() == before
    to("other", "--state", "others.json")
    assert sorted(path.name for path in folder.iterdir()) == [
        "other", "others.json", "out", "people.csv", "people.csv.published.json",
    ]  # fmt: skip
    assert "published into other" in to("third", "--state", "others.json", code=2)


def test_what_was_not_written_is_not_recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: po.Publication, place: object) -> None:
        raise FileRefused("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(po.Publication, "save", failing)
        assert "the disk is full" in to("out", code=2)
    assert {path.name for path in folder.iterdir()} == {"people.csv"}
    to("out")
    with monkeypatch.context() as patch:
        patch.setattr(po.Publication, "save", failing)
        to("other", "--state", "new.json", code=2)
    assert not Path("new.json").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"format": "privopt/releases"}', "does not say what was published; give another --state"),
        ('{"format": "privopt/published", "version": 1, "salt": "0", "releases": []}', "salt"),
        ("[", "state.json"),
    ],
)
def test_another_file_in_the_place_of_the_record_is_refused(folder: Path, content: str, said: str) -> None:
    Path("state.json").write_text(content, encoding="utf-8")
    assert said in to("out", "--state", "state.json", code=2)
    assert Path("state.json").read_text(encoding="utf-8") == content
    assert not Path("out").exists()
    assert "is also read" in to("out", "--state", "people.csv", code=2)


def test_a_changed_release_is_not_answered_with(folder: Path) -> None:
    run(*COMMAND, "--epsilon", "0.3")
    path = Path("out/released.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("B1,", "B2,"), encoding="utf-8")
    assert "released.csv is not the file that was released" in run(*COMMAND, "--epsilon", "0.3", code=2)
    assert "is not the file that was released" in run("verify", "out/bundle.zip", "out/released.csv", code=1)


def test_the_release_command_answers_the_same_rows_from_the_state(folder: Path) -> None:
    run(*COMMAND, "--epsilon", "0.3")
    run("release", "out/solution.json", "people.csv", "--state", "out/state.json", "--output", "again.csv")
    assert [row["released"] for row in read("again.csv")] == [
        row["released"] for row in read("out/released.csv")
    ]


def test_the_solution_runs_on_other_people(folder: Path) -> None:
    run(*COMMAND, "--epsilon", "0.3")
    write("others.csv", HEADER, ROWS[:50])
    run("release", "out/solution.json", "others.csv", "--output", "others_out.csv")
    names = {row["release"] for row in read("out/codebook.csv")}
    assert {row["released"] for row in read("others_out.csv")} <= names


def test_the_least_budget_for_a_part_of_what_the_columns_say(folder: Path) -> None:
    said = run(*COMMAND, "--min-utility", "0.9")
    assert "keeps 90 %" in said
    problem = po.load_problem("out/problem.json")
    solution = po.Solution[po.Channel].load("out/solution.json")
    assert isinstance(problem, po.LocalInformationPrivacy)
    joint = problem.joint
    assert isinstance(joint, po.JointDistribution)
    assert (solution.utility or 0.0) >= 0.9 * po.measures.entropy(joint.p_x) - 1e-9
    assert "stands as it was" in run(*COMMAND, "--min-utility", "0.9")


def test_rules_on_the_command_line(folder: Path) -> None:
    Path("school.csv").write_text("low;school;*\nmiddle;school;*\nhigh;degree;*\n", encoding="utf-8")
    run(
        "publish", "people.csv", "--secret", "vote", "--columns", "school,age,size", "--epsilon", "1", "--bins", "age=18,40,80",
        "--order", "size=10,2,1", "--hierarchy", "school=school.csv", "--minimum-count", "0", "--output", "out",
    )  # fmt: skip
    problem = po.load_problem("out/problem.json")
    assert isinstance(problem, po.LocalInformationPrivacy)
    assert problem.joint.columns is not None
    school, age, size = problem.joint.columns.useful
    assert school.levels
    assert age.labels == ("18-39", "40-80")
    assert (size.kind, size.labels) == ("ordered", ("10", "2", "1"))


@pytest.mark.long
def test_few_numbers_keep_their_order(folder: Path) -> None:
    run("publish", "people.csv", "--secret", "vote", "--columns", "size", "--epsilon", "1", "--output", "out")
    problem = po.load_problem("out/problem.json")
    assert isinstance(problem, po.LocalInformationPrivacy)
    assert problem.joint.columns is not None
    assert problem.joint.columns.useful[0].labels == ("1", "2", "10")


def test_empty_cells_are_a_value(folder: Path) -> None:
    write("people.csv", HEADER, [(vote, "" if i % 6 == 0 else school, "" if i % 5 == 0 else age, size) for i, (vote, school, age, size) in enumerate(ROWS)])  # fmt: skip
    said = run(*COMMAND, "--epsilon", "2")
    assert "200 of 600 rows have a missing value" in said
    assert len(read("out/released.csv")) == 600


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--secret", "votes", "--columns", "school", "--epsilon", "1"), "there is no column 'votes'"),
        (("--secret", "vote", "--columns", "school,vote", "--epsilon", "1"), "'vote' is the secret"),
        (("--secret", "vote", "--columns", "school,,age", "--epsilon", "1"), "holds an empty name"),
        (("--secret", "vote", "--columns", "school"), "neither of epsilon and min_utility"),
        (("--secret", "vote", "--columns", "school", "--epsilon", "1", "--min-utility", "1"), "both of epsilon"),
        (("--secret", "vote", "--columns", "school", "--epsilon", "-1"), "epsilon is -1.0"),
        (("--secret", "vote", "--columns", "age", "--epsilon", "1", "--bins", "school=3"), "name the column 'school'"),
        (("--secret", "vote", "--columns", "school", "--epsilon", "1", "--bins", "school=3"), "row 1: 'school' is not a number"),
        (("--secret", "vote", "--columns", "school", "--epsilon", "1", "--bins", "age"), "give NAME=RULE"),
    ],
)  # fmt: skip
def test_mistakes_leave_nothing_behind(folder: Path, options: tuple[str, ...], words: str) -> None:
    assert words in run("publish", "people.csv", "--output", "out", *options, code=2)
    assert {path.name for path in folder.iterdir()} == {"people.csv"}


def test_an_empty_table_and_a_folder_of_something_else(folder: Path) -> None:
    write("people.csv", HEADER, [])
    assert "has a header but no rows" in run(*COMMAND, "--epsilon", "1", code=2)
    Path("out").mkdir()
    Path("out/letter.txt").write_text("mine", encoding="utf-8")
    assert "is there already and not empty" in run(*COMMAND, "--epsilon", "1", code=2)
    assert "there is no folder no" in run(*COMMAND, "--epsilon", "1", "--output", "no/out", code=2)


def test_swapped_values_are_refused_without_a_receipt_and_with_a_forged_one(folder: Path) -> None:
    run(*COMMAND, "--epsilon", "0.3")
    with Path("out/released.csv").open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["released", "school", "age"]
    files = ("out/problem.json", "out/solution.json")
    assert "nothing is proved of the columns" not in run("verify", *files, "out/released.csv")
    with Path("swapped.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["released", "age", "school"], *rows])
    assert "were columns swapped" in run("verify", *files, "swapped.csv", code=1)
    receipt = Receipt.load("out/receipt.json")
    forged = replace(
        receipt, columns=("released", "age", "school"), sha256=file_digest("swapped.csv")
    )  # and it is sealed anew
    forged.save("forged.json")
    assert "were columns swapped" in run("verify", *files, "swapped.csv", "--receipt", "forged.json", code=1)


def counted() -> po.JointDistribution:
    problem = po.load_problem("out/problem.json")
    assert isinstance(problem, po.LocalInformationPrivacy)
    assert isinstance(problem.joint, po.JointDistribution)
    return problem.joint


def test_missing_cells_are_dropped_or_refused_where_that_is_wished(folder: Path) -> None:
    rows = [
        (vote, "" if i % 6 == 0 else school, age, size) for i, (vote, school, age, size) in enumerate(ROWS)
    ]
    write("people.csv", HEADER, rows)
    command = (
        "publish",
        "people.csv",
        "--secret",
        "vote",
        "--columns",
        "school",
        "--epsilon",
        "1",
        "--output",
        "out",
    )
    assert "values are missing: column 'school' in 100 rows" in run(*command, "--missing", "refuse", code=2)
    assert not Path("out").exists()
    said = run(*command, "--missing", "drop")
    assert "100 of 600 rows have a missing value and were left out" in said
    assert len(read("out/released.csv")) == 500
    columns = counted().columns
    assert columns is not None
    assert (columns.rows, columns.dropped) == (500, 100)
    assert {column.missing for column in columns.useful} == {"drop"}
    assert "is plausible" in run("verify", "out/bundle.zip", "out/released.csv")
    assert "nothing was drawn" in run(*command, "--missing", "drop")
    assert "a second draw" in run(*command, "--missing", "symbol", code=2)


@pytest.mark.parametrize(
    ("options", "contiguous"),
    [
        (("--contiguous",), True),
        (("--order", "school=low,middle,high", "--any"), False),
    ],
)
def test_neighbours_only_can_be_wished_for_with_or_without_an_order(
    folder: Path, options: tuple[str, ...], contiguous: bool
) -> None:
    said = run(*COMMAND, "--epsilon", "0.3", "--time-limit", "0.8", *options)
    assert po.load_problem("out/problem.json").contiguous is contiguous
    assert ("neighbouring values and nodes of hierarchies only" in said) is contiguous


def test_what_reads_na_is_a_value_of_a_column_of_text_and_refused_among_numbers(folder: Path) -> None:
    rows = [
        (vote, "NA" if i % 6 == 0 else school, age, size) for i, (vote, school, age, size) in enumerate(ROWS)
    ]
    rows[3] = (*rows[3][:2], "NA", rows[3][3])
    write("people.csv", HEADER, rows)
    assert "row 4: 'age' is not a number" in run(*COMMAND, "--epsilon", "0.3", code=2)
    run(
        "publish",
        "people.csv",
        "--secret",
        "vote",
        "--columns",
        "school",
        "--epsilon",
        "1",
        "--output",
        "out",
    )
    assert "NA" in counted().useful


def test_texts_that_a_spreadsheet_would_run_are_made_safe_and_verified(folder: Path) -> None:
    rows = [
        (vote, {"low": "=1+1", "middle": "@b", "high": "plain"}[school], "-1") for vote, school, *_ in ROWS
    ]
    write("people.csv", ("vote", "town", "size"), rows)
    run(
        "publish",
        "people.csv",
        "--secret",
        "vote",
        "--columns",
        "town,size",
        "--epsilon",
        "2",
        "--output",
        "out",
    )
    for name in ("released", "codebook"):
        towns = {row["town"] for row in read(f"out/{name}.csv")}
        assert towns & {"'=1+1", "'@b"}
        assert not any(town.startswith(("=", "@")) for town in towns)
    assert {row["size"] for row in read("out/released.csv")} == {"-1"}, "numbers are left alone"
    assert "is plausible" in run("verify", "out/bundle.zip", "out/released.csv")


def test_what_the_owner_keeps_is_for_the_owner_alone(folder: Path) -> None:
    run(*COMMAND, "--epsilon", "0.3")
    run("fit", "people.csv", "--sensitive", "vote", "--useful", "school", "--output", "joint.json")
    for name in ("people.csv.published.json", "out/receipt.json", "out/state.json", "joint.json"):
        assert Path(name).stat().st_mode & 0o077 == 0, name


def test_names_with_commas_and_blanks_are_found_and_options_may_come_again(folder: Path) -> None:
    header = ("vote", "school, level", " age", "size")
    write("odd.csv", header, [("" if i < 4 else row[0], *row[1:]) for i, row in enumerate(ROWS)])
    again = ("--columns", "school, level", "--columns", "size, age")
    said = run("publish", "odd.csv", "--secret", "vote", *again, "--epsilon", "0.5", "--dry-run")
    assert "released school, level, size, age" in said
    assert '4 of 600 rows have no vote: "(missing)" is protected' in said


def test_numbers_with_words_among_them_and_dates_are_told(folder: Path) -> None:
    rows = [(row[0], "N/A" if i == 6 else str(i % 20), f"{i % 28 + 1:02d}/03/{1930 + i % 90}", row[3]) for i, row in enumerate(ROWS)]  # fmt: skip
    write("odd.csv", HEADER, rows)
    words = ("publish", "odd.csv", "--secret", "vote", "--epsilon", "1", "--dry-run", "--columns")
    assert "row 7: 'school' is not a number" in run(*words, "school", code=2)
    assert "column 'age' holds dates" in run(*words, "age", code=2)
    assert "column 'age' holds dates" in run(*words, "age", "--bins", "age=3", code=2)
