"""Released tables: true ones pass, altered ones, swapped ones and ones with the secret beside them do not."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privopt as po
from privopt.errors import FileRefused
from privopt.publication.frequencies import hidden_counts, odd_count, odd_count_of, odd_total, summed, tail
from privopt.publication.released import Layout, read_released, written_as
from privopt.publication.table import check_table

Table = dict[str, list[str]]


def people(rows: int, seed: int = 0) -> tuple[list[str], list[tuple[str, str]]]:
    """Incomes, and pairs of an education and an age group that hang on them."""
    rng = np.random.default_rng(seed)
    income = rng.choice(["low", "high"], rows, p=[0.75, 0.25])
    chances = {"low": [0.5, 0.35, 0.15], "high": [0.2, 0.3, 0.5]}
    education = [str(rng.choice(["school", "college", "master"], p=chances[i])) for i in income.tolist()]
    age = [
        str(rng.choice(["young", "middle", "old"], p=[0.5, 0.3, 0.2] if i == "low" else [0.2, 0.5, 0.3]))
        for i in income.tolist()
    ]
    return income.tolist(), list(zip(education, age, strict=True))


def counted(income: list[str], pairs: list[tuple[str, str]]) -> po.JointDistribution:
    secrets, useful = ["low", "high"], sorted(set(pairs))
    table = np.zeros((2, len(useful)), dtype=int)
    for s, x in zip(income, pairs, strict=True):
        table[secrets.index(s), useful.index(x)] += 1
    return po.JointDistribution.normalised(table.tolist(), secrets, useful)


def released(
    problem: po.Problem[Any], mechanism: po.Channel, pairs: list[tuple[str, str]], seed: int = 1
) -> Table:
    drawn = mechanism.release(pairs, np.random.default_rng(seed)).tolist()
    return {"education": [d[0] for d in drawn], "age": [d[1] for d in drawn]}


def square(pairs: list[tuple[str, str]], joint: po.JointDistribution, stay: float = 0.7) -> po.Channel:
    n = len(joint.useful)
    return po.Channel(np.eye(n) * stay + (1 - stay) / n, joint.useful, joint.useful)


ROWS = 4000
INCOME, PAIRS = people(ROWS)
JOINT = counted(INCOME, PAIRS)
PROBLEM = po.LocalInformationPrivacy(JOINT, 3.0)
CHANNEL = square(PAIRS, JOINT)
TRUE = released(PROBLEM, CHANNEL, PAIRS)


def test_true_tables_pass_every_time() -> None:
    for seed in range(40):
        told = check_table(PROBLEM, CHANNEL, released(PROBLEM, CHANNEL, PAIRS, seed))
        assert told.ok, told.reason
    others = people(1500, seed=9)[1]
    assert check_table(PROBLEM, CHANNEL, released(PROBLEM, CHANNEL, others)).ok


def altered(table: Table, share: float, seed: int = 3) -> Table:
    """The same with some rows written anew with one of their values."""
    rng = np.random.default_rng(seed)
    rows = len(table["age"])
    places = rng.choice(rows, int(share * rows), replace=False).tolist()
    changed = {name: list(cells) for name, cells in table.items()}
    for i in places:
        changed["education"][i], changed["age"][i] = "master", "old"
    return changed


def test_a_table_with_five_per_cent_of_its_rows_altered_is_refused() -> None:
    told = check_table(PROBLEM, CHANNEL, altered(TRUE, 0.05))
    assert not told.ok
    assert "times, and should about" in told.reason


def test_swapped_columns_are_refused() -> None:
    swapped = {"education": TRUE["age"], "age": TRUE["education"]}
    assert "never released" in check_table(PROBLEM, CHANNEL, swapped, Layout(("education", "age"))).reason


def test_swapped_columns_of_one_alphabet_are_seen_by_their_frequencies() -> None:
    rng = np.random.default_rng(5)
    pairs = [
        (str(rng.choice(["a", "b"], p=[0.8, 0.2])), str(rng.choice(["a", "b"], p=[0.3, 0.7])))
        for _ in range(1000)
    ]
    joint = counted(rng.choice(["low", "high"], 1000).tolist(), pairs)
    problem, channel = po.LocalInformationPrivacy(joint, 3.0), square(pairs, joint)
    table = released(problem, channel, pairs)
    layout = Layout(("education", "age"))
    assert check_table(problem, channel, table, layout).ok
    assert not check_table(
        problem, channel, {"education": table["age"], "age": table["education"]}, layout
    ).ok


def merged(merging: po.Merging) -> list[str]:
    texts = dict(zip(merging.outputs, written_as(merging), strict=True))
    return [texts[y][0] for y in merging.release(PAIRS).tolist()]


def test_the_secret_and_raw_columns_beside_a_release_are_refused() -> None:
    merging = po.Merging([JOINT.useful[:4], JOINT.useful[4:]], JOINT.useful)
    table = {"released": merged(merging)}
    assert check_table(PROBLEM, merging, table).ok
    for name, cells, said in (
        ("wealth", INCOME, "holds values of the secret"),
        ("raw", [p[1] for p in PAIRS], "raw data"),
    ):
        told = check_table(PROBLEM, merging, {**table, name: cells})
        assert not told.ok
        assert said in told.reason
    assert check_table(PROBLEM, merging, {**table, "number": [str(i) for i in range(ROWS)]}).beside == (
        "number",
    )


def test_the_counts_of_a_merging_are_exact_where_its_people_were_counted() -> None:
    merging = po.Merging([JOINT.useful[:4], JOINT.useful[4:]], JOINT.useful)
    cells = merged(merging)
    one, other = sorted(set(cells))
    cells[cells.index(one)] = other
    told = check_table(PROBLEM, merging, {"released": cells})
    assert not told.ok
    assert "--others" in told.reason
    assert check_table(PROBLEM, merging, {"released": cells}, Layout(others=True)).ok


def test_false_alarms_are_as_rare_as_stated_and_bounds_are_exact() -> None:
    rng = np.random.default_rng(0)
    p = np.array([0.5, 0.3, 0.15, 0.05])
    people_counts = np.array([300, 500, 200])
    matrix = rng.dirichlet([1, 1, 1, 1], size=3)
    alarms = informed_alarms = 0
    for _ in range(2000):
        alarms += odd_count(rng.multinomial(400, p), p, alarm=0.05) is not None
        counts = sum(rng.multinomial(n, row) for n, row in zip(people_counts, matrix, strict=True))
        informed_alarms += odd_count_of(np.asarray(counts), people_counts, matrix, alarm=0.05) is not None
    assert alarms <= 0.05 * 2000
    assert informed_alarms <= 0.05 * 2000
    assert odd_total([52.0], [50.0], [25.0]) is None


CHAIN = po.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=["out", "in"])


def test_redacted_sequences() -> None:
    problem = po.Redaction(CHAIN, 12, 6, 1.0)
    mechanism = po.solve(problem).mechanism
    rng = np.random.default_rng(2)
    rows = []
    for _ in range(60):
        state, path = int(rng.random() < 1 / 3), []
        for _ in range(12):
            path.append(CHAIN.states[state])
            state = int(rng.random() < CHAIN.transition[state, 1])
        rows.append(["" if cell is None else cell for cell in mechanism.release(path, rng).tolist()])
    table = {
        "user": [f"u{i}" for i in range(60) for _ in range(12)],
        "place": [cell for row in rows for cell in row],
    }
    layout = Layout(("place",), kept=("user",), by="user")
    assert check_table(problem, mechanism, table, layout).ok
    shown = {**table, "place": list(table["place"])}
    shown["place"][6] = "in"
    assert "always hidden" in check_table(problem, mechanism, shown, layout).reason
    hidden = {**table, "place": ["" if i % 12 == 0 else cell for i, cell in enumerate(table["place"])]}
    assert "hidden though it never is" in check_table(problem, mechanism, hidden, layout).reason
    softer = po.RedactionMechanism(np.where(mechanism.probabilities < 1, 0.4, 1.0), mechanism.states)
    assert "should about" in check_table(problem, softer, table, layout).reason
    wrong = {**table, "place": ["nowhere", *table["place"][1:]]}
    assert "neither a state nor the mark" in check_table(problem, mechanism, wrong, layout).reason


def test_streams() -> None:
    problem = po.SequenceInformationPrivacy(CHAIN, 1.0, horizon=20)
    policy = po.SequencePolicy(CHAIN, 1.0)
    rng = np.random.default_rng(4)
    state, path = 0, []
    for _ in range(600):
        path.append(CHAIN.states[state])
        state = int(rng.random() < CHAIN.transition[state, 1])
    table = {"place": [str(y) for y in policy.release(path, rng)]}
    assert check_table(problem, policy, table).ok
    assert not check_table(problem, policy, {"place": ["in"] * 600}).ok
    assert not check_table(problem, policy, {"place": ["home", *table["place"][1:]]}, Layout(("place",))).ok


def test_noisy_answers() -> None:
    problem = po.BayesianPrivacy(po.GroupModel(2), "count", 1.0, mechanism="discrete_laplace")
    mechanism = po.solve(problem).mechanism
    assert check_table(problem, mechanism, {"query": ["count"], "released": ["17"]}).ok
    assert not check_table(problem, mechanism, {"query": ["count"], "released": ["17.5"]}).ok
    assert not check_table(problem, mechanism, {"query": ["sum"], "released": ["17"]}).ok


def test_columns_that_cannot_be_told_apart_are_asked_for() -> None:
    table = {**TRUE, "again": TRUE["age"]}
    with pytest.raises(FileRefused, match="--column"):
        check_table(PROBLEM, CHANNEL, table)
    assert "no column 'height'" in check_table(PROBLEM, CHANNEL, TRUE, Layout(("education", "height"))).reason


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / "a.csv"
    for content, said in (
        ("a,a\n1,2\n", "given twice"),
        ("a,b\n1\n", "row 1 has 1 cells"),
        ("a\n", "no rows"),
        ('a\n"b', "not a CSV"),
    ):
        place.write_text(content, encoding="utf-8")
        with pytest.raises(FileRefused, match=said):
            read_released(place)
    place.write_text("a,b\nNA,\n", encoding="utf-8")
    assert read_released(place) == {"a": ["NA"], "b": [""]}


def test_a_large_table_of_a_census_is_checked(adult: Table) -> None:
    pairs = list(zip(adult["education"], adult["sex"], strict=True))
    joint = counted(["low" if income == "<=50K" else "high" for income in adult["income"]], pairs)
    problem, channel = po.LocalInformationPrivacy(joint, 3.0), square(pairs, joint, 0.8)
    table = released(problem, channel, pairs)
    layout = Layout(("education", "age"))
    assert check_table(problem, channel, table, layout).ok
    useful = sorted(set(pairs))
    rng = np.random.default_rng(0)
    places = rng.choice(len(pairs), len(pairs) // 20, replace=False).tolist()
    for shuffled in (False, True):
        cells = [useful[i] for i in rng.integers(0, len(joint.useful), len(places)).tolist()]
        if shuffled:
            cells = [("Masters", "Female")] * len(places)
        changed = {name: list(column) for name, column in table.items()}
        for place, cell in zip(places, cells, strict=True):
            changed["education"][place], changed["age"][place] = cell
        assert not check_table(problem, channel, changed, layout).ok


@pytest.fixture(scope="module")
def adult() -> Table:
    folder = os.environ.get("PRIVOPT_DATA")
    place = Path(folder or "") / "adult" / "adult.csv.gz"
    if folder is None or not place.is_file():
        pytest.skip("needs the Adult data in the folder that PRIVOPT_DATA names")
    with gzip.open(place, "rt", encoding="utf-8", newline="") as stream:
        rows = [[cell.strip() for cell in row] for row in csv.reader(stream)]
    columns = list(zip(*rows[1:], strict=True))
    return {name: list(column) for name, column in zip(rows[0], columns, strict=True)}


def published(
    order: dict[str, list[str]] | None = None, epsilon: float = 1.0
) -> tuple[po.Publication, Table]:
    income, pairs = people(1500)
    frame = pd.DataFrame({"income": income, "school": [p[0] for p in pairs], "age": [p[1] for p in pairs]})
    made = po.publish(frame, secret="income", columns=["school", "age"], epsilon=epsilon, order=order)
    return made, {name: list(cells) for name, cells in made.drawn.table.items()}


@pytest.mark.parametrize(
    "order", [None, {"school": ["school", "college", "master"], "age": ["young", "middle", "old"]}]
)
def test_the_values_beside_messages_are_those_of_the_messages(order: dict[str, list[str]] | None) -> None:
    made, table = published(order)
    assert list(table) == ["released", "school", "age"]

    def told(**columns: list[str]) -> str:
        check = check_table(made.problem, made.solution.mechanism, {**table, **columns})
        return "" if check.ok and not check.beside else check.sentence()

    assert told() == ""
    assert "were columns swapped" in told(school=table["age"], age=table["school"])
    row = table["age"].index("old")
    changed = [*table["age"]]
    changed[row] = "young"
    assert f"row {row + 1}: the column 'age' holds what no value" in told(age=changed)
    assert "holds what no value" in told(age=["nonsense"] * len(changed))
    words = [["older people"], ["younger people"]]
    assert "holds what no value" in told(age=[words[c == "old"][0] for c in table["age"]])
    whole = {name: cells for name, cells in table.items() if name != "school"}
    assert check_table(made.problem, made.solution.mechanism, whole).beside == ()


def test_one_message_is_not_spelled_in_two_ways() -> None:
    made, table = published(epsilon=0.2)
    place = next((i for i, cell in enumerate(table["school"]) if "|" in cell or cell == "any"), None)
    assert place is not None
    message = table["released"][place]
    rows = [i for i, name in enumerate(table["released"]) if name == message]
    shorter = [*table["school"]]
    shorter[rows[-1]] = shorter[place].split("|")[0] if "|" in shorter[place] else "college"
    told = check_table(made.problem, made.solution.mechanism, {**table, "school": shorter})
    assert told.reason == f"the message {message!r} has two sets of values beside it"
    for i in rows:
        shorter[i] = shorter[rows[-1]]
    told = check_table(made.problem, made.solution.mechanism, {**table, "school": shorter})
    assert told.beside == ("school", "age")
    assert "nothing is proved of the columns beside it: 'school', 'age'" in told.sentence()


def test_a_column_called_released_and_one_column_alone() -> None:
    income, pairs = people(1500)
    for name in ("released", "age"):
        frame = pd.DataFrame({"income": income, name: [p[1] for p in pairs]})
        made = po.publish(frame, secret="income", columns=name, epsilon=0.2)
        told = check_table(made.problem, made.solution.mechanism, made.drawn.table)
        assert told.ok, told.reason
        assert told.beside == ()


def test_more_hidden_records_in_all_than_there_can_be_are_refused_at_the_rate_that_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No record and no sequence is odd by itself; against the sum over all sequences by enumeration."""
    from privopt.publication import sequences as module

    monkeypatch.setattr(module, "ALARM", 0.05)
    problem = po.Redaction(CHAIN, 4, 1, 3.0)
    hidden = np.array([[0.2, 0.4], [1.0, 1.0], [0.3, 0.1], [0.2, 0.2]])
    mechanism = po.RedactionMechanism(hidden, CHAIN.states)
    rng, alarms = np.random.default_rng(0), 0
    paths = np.array([[rng.choice(2, p=CHAIN.initial)] for _ in range(60)])
    for _ in range(3):
        paths = np.column_stack([paths, [rng.choice(2, p=CHAIN.transition[s]) for s in paths[:, -1]]])
    for seed in range(150):
        rows = mechanism.release(
            [[CHAIN.states[s] for s in row] for row in paths.tolist()], np.random.default_rng(seed)
        )
        table = {"place": ["" if cell is None else str(cell) for row in rows for cell in row]}
        alarms += not check_table(problem, mechanism, table, Layout(("place",))).ok
    assert alarms <= 0.05 * 150
    chances = hidden_counts([CHAIN.transition] * 3, CHAIN.initial, hidden)
    assert np.allclose(summed(chances, 5), np.real(np.fft.ifft(np.fft.fft(chances, 21) ** 5)))
    assert tail(np.array([0.2, 0.5, 0.3]), 0) == pytest.approx(0.2)
