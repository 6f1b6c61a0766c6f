"""Wrote all files of this folder, with version 0.1.0: ``python write.py FOLDER``. It is not run by the tests.

``OPENBLAS_CORETYPE=Haswell python write.py FOLDER haswell`` wrote those of ``other_processors``, likewise ``prescott``.

Only what version 0.1.0 proves itself is kept; answers without a mechanism, or that nothing proves, go to ``unsolved``.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

import privopt as po

QUESTIONS: tuple[type[po.Problem[Any]], ...] = (
    po.Redaction,
    po.LocalInformationPrivacy,
    po.DistortionPrivacy,
    po.PrivacyFunnel,
    po.InformationBottleneck,
    po.BoundaryColouring,
    po.BeliefRelease,
    po.SequenceInformationPrivacy,
    po.BayesianPrivacy,
)
LARGEST = 150_000
SLOWEST = 1.0
"""Seconds that a proof may take."""

LEFT_OUT = {
    "binary-1",
    "binary-2",
    "binary-4",
    "binary-6",
    "five-words",
    "noisy-bit",
    "lecture",
    "lecture-merging",
}
"""Examples of which others say as much in less space."""

DELICATE = {
    "bayesian_privacy-reports",
    *(
        f"sequence_information_privacy-{name}"
        for name in (
            "dependent",
            "five-coins",
            "line",
            "one-letter",
            "short-last-word",
            "steps",
            "three-letters-words",
            "weather-words",
        )
    ),
}

LETTERS = [list("abaabbabaaab"), list("babbaabab")]
PEOPLE = pd.DataFrame(
    {
        "vote": list("yynnyynynnyn"),
        "age": ["young", "old", "old"] * 4,
        "school": [1, 1, 2, 2, 1, 2] * 2,
    }
)
WEATHER = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5], ["dry", "wet"])
TURNING = po.MarkovChain(
    [[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]]], [0.5, 0.5]
)
WORDS = po.MarkovChain.fit(LETTERS, order=2, smoothing=0.5)
SURVEY = po.JointDistribution.from_frame(PEOPLE, sensitive=["vote"], useful=["age", "school"])
LECTURE = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2], [2, 2, 3, 3]])
APART = [[abs(i - j) for j in range(4)] for i in range(4)]
HIDDEN = po.ObservedJoint.full_data(po.JointDistribution.normalised([[3, 1], [1, 2]]))


def more() -> Iterator[tuple[str, po.Problem[Any]]]:
    """Questions of kinds that the examples of the library lack."""
    yield "steps", po.Redaction(TURNING, 4, 1, 1.0)
    yield "words", po.Redaction(WORDS, 5, 2, 1.0)
    yield "constant", po.Redaction(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [1, 0]), 4, 0, 1.0)
    yield "no-limit", po.Redaction(WEATHER, 4, 1, math.inf)
    yield "long", po.Redaction(po.MarkovChain([[0.95, 0.05], [0.3, 0.7]]), 60, 20, 0.7)
    yield (
        "long-sequential",
        po.Redaction(po.MarkovChain([[0.95, 0.05], [0.3, 0.7]]), 30, 10, 0.7, form="sequential"),
    )
    yield "survey", po.LocalInformationPrivacy(SURVEY, 0.2)
    yield "two-bounds", po.LocalInformationPrivacy(LECTURE, lower=0.5, upper=0.3)
    yield "ldp", po.LocalInformationPrivacy(LECTURE, 0.4, notion="ldp")
    yield "lecture-delta", po.LocalInformationPrivacy(LECTURE, 0.2, delta=0.1)
    yield "observed-distortion", po.LocalInformationPrivacy(HIDDEN, 0.2, utility=[[0, 1], [2, 0]])
    yield "observed-perfect", po.LocalInformationPrivacy(HIDDEN, 0.0)
    yield (
        "survey",
        po.DistortionPrivacy(
            SURVEY, [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]], max_leakage=0.05
        ),
    )
    for leakage in ("mutual_information", "maximal_leakage", "ldp", "lip"):
        yield f"lecture-{leakage}", po.DistortionPrivacy(LECTURE, APART, max_distortion=0.3, leakage=leakage)
    yield "sibson", po.DistortionPrivacy(LECTURE, APART, max_leakage=0.1, leakage="sibson", alpha=3.0)
    yield "survey", po.PrivacyFunnel(SURVEY, theta_fraction=0.6)
    yield "weighed", po.PrivacyFunnel(LECTURE, trade_off=0.2)
    yield "capped-merging", po.PrivacyFunnel(LECTURE, max_leakage=0.05, form="merging")
    yield "observed", po.PrivacyFunnel(HIDDEN, max_leakage=0.02)
    yield "survey", po.InformationBottleneck(SURVEY, max_rate=0.5)
    yield "rate-merging", po.InformationBottleneck(LECTURE, max_rate=0.7, form="merging")
    yield "prescribed", po.BoundaryColouring(DATASETS, 0.5, boundary=(0.65, 0.55))
    yield "labelled-weights", po.BoundaryColouring(DATASETS, 0.5, boundary=None, weights=[1, 2, 3, 4])
    yield "votes", po.BoundaryColouring(po.DatasetGraph.votes(4), 0.5)
    yield "counts-delta", po.BoundaryColouring(po.DatasetGraph.counts(8, 0.4), 0.7, 0.05, boundary=None)
    yield (
        "three-worst",
        po.BoundaryColouring(
            po.DatasetGraph.grid([[1, 1, 2], [3, 2, 2]]), 0.7, boundary=None, objective="worst_case"
        ),
    )
    yield "named", po.BeliefRelease([0.5, 0.3, 0.2], 0.7, letters=["home", "work", "away"])
    yield "steps", po.SequenceInformationPrivacy(TURNING, 0.5)
    yield "order-two", po.SequenceInformationPrivacy(WORDS, 0.7, horizon=4)
    yield (
        "rectangular",
        po.SequenceInformationPrivacy(WEATHER, 0.5, distortion=[[0, 1, 0.4], [1, 0, 0.4]], horizon=3),
    )
    yield "short-last-word", po.SequenceInformationPrivacy(WEATHER, 0.4, batch=3, horizon=7)
    yield "three-letters-words", po.SequenceInformationPrivacy(THREE, 0.5, batch=2, horizon=5)
    yield "dependent", po.SequenceInformationPrivacy(THREE, 0.5, horizon=4)
    yield "group-mean", po.BayesianPrivacy(po.GroupModel(2), "mean", 1.0, clip=(-1, 4), length=20)
    yield (
        "group-state",
        po.BayesianPrivacy(po.GroupModel(2), ("count", "ill"), 0.8, mechanism="discrete_laplace"),
    )
    yield "fitted", po.BayesianPrivacy(FITTED, "sum", 1.0, clip=(0, 5))
    yield "histogram", po.BayesianPrivacy(WEATHER_STATIONARY, "histogram", 1.0, length=12)
    yield "state", po.BayesianPrivacy(WEATHER_STATIONARY, ("count", "wet"), 1.0)


THREE = po.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]], states=["home", "work", "away"])
WEATHER_STATIONARY = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["dry", "wet"])
DATASETS = po.DatasetGraph(
    [("a", "b"), ("b", "c"), ("c", "d")],
    ["no", "no", "yes", "yes"],
    vertices=["a", "b", "c", "d"],
    palette=["yes", "no"],
)
FITTED = po.GaussianModel.fit(pd.DataFrame({"he": [1.0, 2, 3, 4, 6], "she": [1.5, 1.0, 3.5, 3, 5]}))


def questions() -> Iterator[tuple[str, po.Problem[Any]]]:
    """Every example of the library, then the others; names are those of folders."""
    for ask in QUESTIONS:
        for example in ask.examples():
            if example.name not in LEFT_OUT:
                yield f"{ask.kind}-{example.name}", example.problem
    for name, problem in more():
        yield f"{problem.kind}-{name}", problem


def proved(problem: po.Problem[Any], path: Path) -> str:
    """Empty if the file holds a proved answer and is small; else why it is not kept."""
    begun = time.perf_counter()
    certificate = po.verify(problem, po.Solution[Any].load(path))
    seconds, size = time.perf_counter() - begun, path.stat().st_size
    if not certificate.ok:
        return certificate.reason
    if size > LARGEST or seconds > SLOWEST:
        return f"too large: {size} bytes, {seconds:.2f} s to prove"
    return ""


def answers(folder: Path) -> None:
    """A folder a question: the default answer, and one of each solver that answers no earlier question of its kind."""
    used: set[tuple[str, str]] = set()
    for name, problem in questions():
        place = folder / name
        place.mkdir(parents=True)
        write(place / "problem.json", problem.to_dict())
        others = [c.name for c in po.candidates(problem) if c.refusal is None]
        for solver in (None, *others):
            if (problem.kind, solver) in used:
                continue
            path = place / f"{solver or 'default'}.json"
            solution = po.solve(problem, solver, time_limit=5.0)
            solution.save(path)
            fault = (
                proved(problem, path) if solution.status.ok else f"{solution.status.name}: {solution.reason}"
            )
            if fault:
                print(name, solver, fault, sep=" | ")
                path.unlink()
            else:
                used.add((problem.kind, solution.solver))
        if len(list(place.iterdir())) == 1:
            (place / "problem.json").unlink()
            place.rmdir()


def by_hand(folder: Path) -> None:
    """Questions as users write them, with nothing that has a default; solved by the command line."""
    chain = {"transition": [[0.75, 0.25], [0.5, 0.5]]}
    graph = {"edges": [[0, 1], [1, 2]], "colours": ["no", "yes", "yes"]}
    texts: dict[str, dict[str, Any]] = {
        "redaction": {"chain": {**chain, "states": ["out", "in"]}, "length": 5, "private": 2, "epsilon": 1.0},
        "local_information_privacy": {"joint": {"file": "joint.json"}, "epsilon": 0.3},
        "distortion_privacy": {
            "joint": {"file": "joint.json"},
            "distortion": [[0, 1], [1, 0]],
            "max_distortion": 0.1,
        },
        "privacy_funnel": {"joint": {"file": "joint.json"}, "theta_fraction": 0.5},
        "information_bottleneck": {"joint": {"file": "joint.json"}, "max_rate": 0.2},
        "boundary_colouring": {"graph": {"type": "dataset_graph", **graph}, "epsilon": 1},
        "belief_release": {"belief": [0.5, 0.3, 0.2], "epsilon": 1},
        "sequence_information_privacy": {"chain": chain, "epsilon": 0.5, "horizon": 4},
        "bayesian_privacy": {"model": {"type": "group", "size": 3}, "query": {"count": "move"}, "epsilon": 1},
    }
    for kind, fields in texts.items():
        place = folder / f"{kind}-by-hand"
        place.mkdir(parents=True)
        write(place / "problem.json", {"type": kind, **fields})
        if "joint" in fields:
            write(place / "joint.json", {"type": "joint_distribution", "table": [[0.4, 0.1], ["1/5", 0.3]]})
        privopt("solve", place / "problem.json", "--output", place / "default.json")


def models(folder: Path) -> None:
    """Every kind of model; three of them fitted by the command line."""
    folder.mkdir()
    half = Fraction(1, 3), Fraction(2, 3)
    by_name: dict[str, Any] = {
        "joint": po.JointDistribution([[0.3, 0.2], [0.1, 0.4]], ["ill", "well"], [0, 1.5]),
        "joint-counts": LECTURE,
        "joint-frame": SURVEY,
        "joint-fractions": po.JointDistribution([[half[0], 0], [0, half[1]]]),
        "observed": po.ObservedJoint(
            [[[0.1, 0.2], [0.0, 0.2]], [[0.3, 0.0], [0.1, 0.1]]], observed=["u", "v"]
        ),
        "observed-full": HIDDEN,
        "chain": WEATHER_STATIONARY,
        "chain-initial": WEATHER,
        "chain-fractions": po.MarkovChain([half, half[::-1]]),
        "chain-counts": po.MarkovChain.normalised([[3, 1], [2, 2]], [1, 1]),
        "chain-steps": TURNING,
        "chain-fitted": po.MarkovChain.fit(LETTERS),
        "chain-order-two": WORDS,
        "graph": DATASETS,
        "graph-votes": po.DatasetGraph.votes(3),
        "graph-grid": po.DatasetGraph.grid([[1, 1, 2], [3, 2, 2]]),
        "gaussian": po.GaussianModel([[225, 100.8675], [100.8675, 225]], [170.0, 160.0], ["he", "she"]),
        "gaussian-fitted": FITTED,
        "group": po.GroupModel(3),
    }
    for name, model in by_name.items():
        write(folder / f"{name}.json", model.to_dict())
    PEOPLE.assign(height=[170.0 + i * i % 7 for i in range(12)]).to_csv(folder / "people.csv", index=False)
    people = folder / "people.csv"
    joint = ("--sensitive", "vote", "--useful", "age", "--useful", "school")
    privopt("fit", people, *joint, "--output", folder / "fitted-joint.json")
    privopt(
        "fit",
        people,
        "--column",
        "vote",
        "--order",
        2,
        "--smoothing",
        1,
        "--output",
        folder / "fitted-chain.json",
    )
    privopt(
        "fit", people, "--record", "height", "--record", "school", "--output", folder / "fitted-gaussian.json"
    )


def mechanisms(folder: Path, answered: Path) -> None:
    """Mechanisms by themselves: the first three of each kind among the answers, and the anchor of each question."""
    folder.mkdir()
    count: Counter[str] = Counter()
    for path in sorted(answered.glob("*/default.json")):
        mechanism = po.Solution[Any].load(path).mechanism
        what = (
            f"{mechanism.kind}-{mechanism.noise}" if isinstance(mechanism, po.NoisyQuery) else mechanism.kind
        )
        count[what] += 1
        if count[what] <= 3:
            write(folder / f"{what}-{count[what]}.json", mechanism.to_dict())
    for ask in QUESTIONS:
        write(folder / f"anchor-{ask.kind}.json", ask.examples()[0].problem.anchor().to_dict())
    write(
        folder / "redaction-sequential.json",
        po.Redaction(WEATHER, 3, 1, 1.0, form="sequential").anchor().to_dict(),
    )


def certificates(folder: Path, answered: Path) -> None:
    """What ``privopt verify --json`` says of the answers to questions written by hand."""
    folder.mkdir()
    for place in sorted(answered.glob("*-by-hand")):
        text = privopt("verify", place / "problem.json", place / "default.json", "--json")
        (folder / f"{place.name.removesuffix('-by-hand')}.json").write_text(text, encoding="utf-8")


def unsolved(folder: Path) -> None:
    """Answers that hold no proof: refused, impossible, not private, and made without a certificate."""
    chain = WEATHER_STATIONARY
    cases: dict[str, tuple[po.Problem[Any], str | None, bool]] = {
        "refused": (po.Redaction(chain, 4, 1, 0.5, form="sequential"), "optimal", True),
        "infeasible": (po.BoundaryColouring(DATASETS, 0.5, boundary=(0.8, 0.4)), None, True),
        "not-private": (
            po.SequenceInformationPrivacy(chain, 0.2, horizon=3),
            "randomised-response-double",
            True,
        ),
        "not-certified": (po.Redaction(chain, 5, 2, 1.0), None, False),
        "not-certified-policy": (po.SequenceInformationPrivacy(chain, 0.5, batch=2, horizon=4), None, False),
    }
    for name, (problem, solver, certify) in cases.items():
        (folder / name).mkdir(parents=True)
        write(folder / name / "problem.json", problem.to_dict())
        po.solve(problem, solver, certify=certify).save(folder / name / "solution.json")


def ledgers(folder: Path) -> None:
    """Accounts of releases, open for more."""
    folder.mkdir()
    chain = po.BudgetLedger(WEATHER_STATIONARY, 2.0, "weather", length=12)
    family = po.BudgetLedger(FITTED, 3.0, "family", clip=(0, 5))
    group = po.BudgetLedger(po.GroupModel(2), 1.0, "survey")
    chain.save(folder / "empty.json")
    for _ in range(2):
        chain = chain.charge(
            po.NoisyQuery("count", "discrete_laplace", 20.0, 0.05, 0.4, length=12), "weather"
        )
        family = family.charge(po.NoisyQuery("sum", "laplace", 50.0, 0.1, 0.2, clip=(0, 5)), "family")
    of_a_function = po.NoisyQuery(po.Query(len, 1.0), "laplace", 10.0, 0.1, 0.2)
    chain.save(folder / "chain.json")
    family.save(folder / "gaussian.json")
    group.charge(of_a_function, "survey").save(folder / "group.json")


def releases(folder: Path) -> None:
    """What was released, with what released it; of policies also where they stand."""
    chain, words = WEATHER_STATIONARY, po.SequenceInformationPrivacy(WEATHER, 0.4, batch=3, horizon=7)
    days = pd.DataFrame({"user": ["ann"] * 7 + ["bob"] * 5, "day": ["dry", "wet", "dry", "dry"] * 3})
    heights = pd.DataFrame({"height": [1.0, 2, 3, 4, 5, 2, 1, 0, 3, 4]})
    by, plain = ("--column", "day", "--by", "user"), ("--column", "day")
    one = po.SequenceInformationPrivacy(THREE, 0.5, horizon=4)
    places = pd.DataFrame({"day": ["home", "home", "away", "work", "work", "home"]})
    jobs: dict[str, tuple[po.Problem[Any], pd.DataFrame, tuple[str, ...], bool]] = {
        "policy": (one, places, plain, True),
        "policy-words": (words, days, by, True),
        "redaction": (po.Redaction(chain, 5, 2, 1.0), days[:5], plain, False),
        "redaction-users": (
            po.Redaction(chain, 4, 1, 1.0),
            days[3:11].assign(user=["ann", "bob"] * 4),
            by,
            False,
        ),
        "channel": (
            po.LocalInformationPrivacy(SURVEY, 0.2),
            PEOPLE,
            ("--column", "age", "--column", "school"),
            False,
        ),
        "merging": (
            po.PrivacyFunnel(SURVEY, theta_fraction=0.6, form="merging"),
            PEOPLE,
            ("--column", "age", "--column", "school"),
            False,
        ),
        "count": (
            po.BayesianPrivacy(chain, ("count", "wet"), 1.0, mechanism="discrete_laplace"),
            days,
            plain,
            False,
        ),
        "histogram": (
            po.BayesianPrivacy(chain, "histogram", 1.0, mechanism="discrete_laplace"),
            days,
            plain,
            False,
        ),
        "mean": (
            po.BayesianPrivacy(FITTED, "mean", 1.0, clip=(0, 5), length=10),
            heights,
            ("--column", "height"),
            False,
        ),
    }
    for name, (problem, data, columns, remembered) in jobs.items():
        place = folder / name
        place.mkdir(parents=True)
        write(place / "problem.json", problem.to_dict())
        po.solve(problem).save(place / "solution.json")
        data.to_csv(place / "data.csv", index=False)
        state = ("--state", place / "state.json") if remembered else ()
        privopt(
            "release",
            place / "solution.json",
            place / "data.csv",
            *columns,
            "--output",
            place / "released.csv",
            *state,
        )
    journals = folder / "journals"
    journals.mkdir()
    policy = po.solve(words).mechanism
    write(journals / "policy.json", policy.to_dict())
    letters = ["dry", "wet", "wet", "dry", "dry", "dry", "wet"]
    for name, count in (("open", 6), ("ended", 7)):
        list(policy.release(iter(letters[:count]), state=policy.state(journals / f"{name}.json")))


def elsewhere(folder: Path, processor: str) -> None:
    """The default answers of which a certificate shows on what processor its sums of floats were taken."""
    for name, problem in questions():
        if name in DELICATE:
            (folder / name).mkdir(parents=True, exist_ok=True)
            write(folder / name / "problem.json", problem.to_dict())
            po.solve(problem, time_limit=5.0).save(folder / name / f"{processor}.json")


def write(path: Path, fields: dict[str, Any]) -> None:
    """One JSON document."""
    path.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


def privopt(*arguments: object) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "privopt", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(folder: Path) -> None:
    """All of them."""
    answers(folder / "answers")
    by_hand(folder / "answers")
    models(folder / "models")
    mechanisms(folder / "mechanisms", folder / "answers")
    certificates(folder / "certificates", folder / "answers")
    unsolved(folder / "unsolved")
    ledgers(folder / "ledgers")
    releases(folder / "releases")
    run = ("month-middle", "-s", "windows", "-s", "optimal", "-j", 1, "--output", folder / "run")
    privopt("bench", "run", "quick", "-i", *run, "--report", folder / "report.html")
    (folder / "report.html").unlink()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        elsewhere(Path(sys.argv[1], "other_processors"), sys.argv[2])
