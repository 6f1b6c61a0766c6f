"""A release that is proved for every distribution that the rows allow: what it says, how it is checked, and what it costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from instances import tables
from instances.tables import write

import privopt as po
from privopt.errors import FileRefused
from privopt.publication.earlier import earlier
from privopt.publication.least import Wish
from privopt.publication.people import Rules, count_people, people_of

pytestmark = pytest.mark.usefixtures("plain_pictures")

RNG = np.random.default_rng(21)
OFTEN = {"low": 0.3, "middle": 0.45, "high": 0.6}


def people(rows: int) -> pd.DataFrame:
    school = RNG.choice(list(OFTEN), rows)
    votes = RNG.random(rows) < np.vectorize(OFTEN.get)(school)
    return pd.DataFrame({"vote": np.where(votes, "red", "blue"), "school": school})


PEOPLE = people(3000)


@pytest.fixture(scope="module")
def publication() -> po.Publication:
    return po.publish(PEOPLE, secret="vote", columns="school", epsilon=0.3, confidence=0.95, time_limit=5.0)


def test_the_release_is_proved_for_the_set_of_its_rows(publication: po.Publication) -> None:
    near = po.JointAmbiguity.from_frame(PEOPLE, ["vote"], ["school"], confidence=0.95)
    assert publication.problem.ambiguity is not None
    assert publication.problem.ambiguity.rows == near.rows
    certificate = publication.solution.certificate
    assert certificate is not None
    assert certificate.confidence == 0.95
    assert certificate.distributions == publication.problem.ambiguity.described
    level = po.measures.robust_level(publication.problem, publication.solution.mechanism, near)
    assert level[1] <= 0.3
    alone = po.publish(PEOPLE, secret="vote", columns="school", epsilon=0.3, time_limit=1.0)
    assert 0 < publication.told < alone.told
    told = publication.solution.audit(people(20_000))
    assert told.leakage <= 0.3


@pytest.mark.long
def test_the_picture_shows_several_budgets_where_no_optimum_is_proved() -> None:
    rows = 3000
    district = RNG.integers(0, 24, rows)
    votes = np.where(RNG.random(rows) < 0.3 + 0.02 * (district % 12), "red", "blue")
    frame = pd.DataFrame({"vote": votes, "district": [f"d{i:02}" for i in district]})
    made = po.publish(frame, secret="vote", columns="district", epsilon=0.5, confidence=0.95, time_limit=20.0)
    proved = [point for point in made.frontier if point.certified]
    assert len(proved) >= 4
    assert made.frontier.budgets[0] < 0.5 < made.frontier.budgets[-1]
    chosen = made.frontier.solutions[made.frontier.budgets.index(0.5)]
    for budget, point in zip(made.frontier.budgets, made.frontier, strict=True):
        assert point.leakage is not None
        assert point.leakage <= budget
        assert budget > 0.5 or (point.utility or 0.0) <= (chosen.utility or 0.0) + 1e-9


def test_it_says_so_in_words(publication: po.Publication) -> None:
    said = " ".join(publication.explain().sentences)
    assert "The bound holds however people are spread, as far as the 3000 rows allow" in said
    assert "drawn row by row from the population, 5 % at most" in said
    assert "If people are spread as they were counted, whoever guesses" in said
    near = publication.problem.ambiguity
    assert near is not None
    assert ("holds for", f"every distribution in the set {near.described}") in publication.facts()
    assert not any("a little too high" in note for note in publication.notes)


def test_it_is_verified_from_its_files_and_answered_once(publication: po.Publication, tmp_path: Path) -> None:
    place = tmp_path / "out"
    publication.save(place)
    proved = po.verify_bundle(place / "bundle.zip", place / "released.csv")
    assert proved.ok
    assert proved.confidence == 0.95
    assert any(text.startswith("Confidence: ") for text in proved.sentences())
    rules = Rules({}, {}, {}, None)
    rows = people_of(PEOPLE, ["vote", "school"])
    joint, _ = count_people(rows, ["vote"], ["school"], rules)
    before = earlier(place)
    assert before is not None
    wish = Wish(0.3, None, 6.0, confidence=0.95)
    assert "nothing was drawn" in before.answer(rows.cells, joint, wish)
    for other in (None, 0.9):
        with pytest.raises(FileRefused, match="read in another way"):
            before.answer(rows.cells, joint, Wish(0.3, None, 6.0, confidence=other))


def test_intervals_that_the_rows_chose_are_a_note() -> None:
    ages = RNG.integers(18, 80, 3000)
    frame = PEOPLE.assign(age=ages)
    options = {"secret": "vote", "columns": "age", "epsilon": 0.5, "confidence": 0.9, "time_limit": 0.8}
    chosen = po.publish(frame, **options)  # type: ignore[arg-type]
    assert any("these rows chose the intervals of age" in note for note in chosen.notes)
    given = po.publish(frame, bins={"age": [18, 40, 80]}, minimum_count=0, **options)  # type: ignore[arg-type]
    assert not any("these rows chose" in note for note in given.notes)


@pytest.mark.long
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("people.csv", ("vote", "school"), list(PEOPLE.itertuples(index=False, name=None)))
    command = ("publish", "people.csv", "--secret", "vote", "--columns", "school", "--epsilon", "0.4")
    said = tables.run(*command, "--confidence", "0.95", "--time-limit", "1.5", "--output", "out")
    assert "every distribution in the set from counts of 3000 rows at 95 % confidence" in said
    assert "Confidence: of such sets at least 95 %" in tables.run(
        "verify", "out/bundle.zip", "out/released.csv"
    )
    write("others.csv", ("vote", "school"), list(people(5000).itertuples(index=False, name=None)))
    assert "rows            5000" in tables.run("audit", "out/solution.json", "others.csv")
    released = tables.run("release", "out/solution.json", "others.csv", "--output", "others.out.csv")
    assert "draws once: a second draw of the same records voids the certificate" in released
    assert "which holds the population's with confidence 0.95" in released
