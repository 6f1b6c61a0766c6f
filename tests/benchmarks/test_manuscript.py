"""Output for papers: numbers against numpy and the definition, LaTeX taken apart and compiled, sources of every solver."""

from __future__ import annotations

import csv
import math
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from instances.report_rows import HOSTILE, MANIFEST, failed, make_row, synthetic, write_folder
from typer.testing import CliRunner

from privopt.benchmarks.manuscript import cells
from privopt.benchmarks.manuscript.cells import Number, Table, Text, escape_latex
from privopt.benchmarks.manuscript.charts import COLOURED, LOOKS, PALE, charts
from privopt.benchmarks.manuscript.command import report_command
from privopt.benchmarks.manuscript.drawing import pgfplots, specification
from privopt.benchmarks.manuscript.references import (
    bibliography,
    documentation,
    problem_sources,
    publications,
    sources,
)
from privopt.benchmarks.manuscript.tables import COLUMNS, Manner, tables
from privopt.benchmarks.manuscript.write import document, manuscript
from privopt.benchmarks.report.judged import Judged, judged
from privopt.benchmarks.report.results import Sample, claimed, results
from privopt.benchmarks.runner.vocabulary import InstanceWords, Vocabulary, instance_key
from privopt.cli import app
from privopt.core.registry import problem_types, solvers_of
from privopt.core.words import Quantity
from privopt.errors import InvalidProblem

WORDS = Vocabulary(
    instances={
        instance_key("redaction", "stream"): InstanceWords(
            "A stream", "", Quantity("records released", "share", 1, "ε")
        ),
        instance_key("privacy_funnel", "survey"): InstanceWords(
            "A survey", "", Quantity("leakage", "nats", -1, "floor on I(X;Y)")
        ),
    }
)


def repeated(**changes: object) -> list[Judged]:
    """Three seeds of four solvers on three budgets: one best, one within its interval, one behind, one of fewer answers."""
    rng = np.random.default_rng(3)
    rows = []
    for budget in (0.1, 1.0, 3.0):
        for seed in range(3):
            noise = 0.01 * rng.standard_normal()
            for solver, value in (("ours", 0.5), ("near", 0.5 + noise), ("behind", 0.2), ("ill", 0.1)):
                row = make_row(
                    instance="stream", solver=solver, budget=budget, seed=seed, objective=value,
                    seconds=0.1 * (1 + seed), bound=0.55, gap=0.55 - value,
                )  # fmt: skip
                rows.append(failed(row, "TIME_OUT", "late") if solver == "ill" and seed == 2 else row)
    return list(judged([replace(row, **changes) for row in rows]))  # type: ignore[arg-type]


def by_case(made: tuple[Table, ...]) -> Table:
    return next(table for table in made if "by-case" in table.name)


def number(table: Table, solver: str, place: int) -> Number:
    line = next(line for line in table.lines if line[0] == Text(solver) or line[0].plain == solver)
    cell = line[place]
    assert isinstance(cell, Number)
    return cell


# numbers


def test_means_and_deviations_are_those_of_numpy() -> None:
    rows = repeated()
    table = by_case(tables(rows, WORDS, Manner()))
    for place, budget in enumerate((0.1, 1.0, 3.0), 1):
        values = [
            100 * (j.row.objective or 0.0) for j in rows if j.row.solver == "near" and j.row.budget == budget
        ]
        cell = number(table, "near", place)
        assert cell.mean == pytest.approx(np.mean(values))
        assert cell.sd == pytest.approx(np.std(values, ddof=1))
    assert number(table, "ours", 1).sd == 0.0
    assert number(table, "ill", 1).sign == "*"


def test_the_interval_of_a_mean_is_that_of_scipy() -> None:
    from scipy.stats import sem, t

    values = (0.3, 0.5, 0.9, 0.4)
    low, high = t.interval(0.95, 3, loc=np.mean(values), scale=sem(values))
    assert Sample(values).half == pytest.approx((high - low) / 2)


def test_bold_is_what_is_within_1e_6_of_the_best() -> None:
    rows = judged(
        [make_row(solver=s, objective=v) for s, v in (("a", -3.0), ("b", -3.0 - 2.9e-6), ("c", -3.0 - 3.1e-6))]
        + [make_row(solver="d", objective=9.0, verified=False)]
    )  # fmt: skip
    (said,) = claimed(results(rows)).values()
    assert set(said.best) == {"a", "b"}


def test_of_repetitions_bold_is_what_quartiles_allow_and_a_sign_what_they_do_not_tell() -> None:
    rows = repeated()
    table = by_case(tables(rows, WORDS, Manner()))
    signs = set()
    for place, budget in enumerate((0.1, 1.0, 3.0), 1):
        own = [j.row.objective or 0.0 for j in rows if (j.row.solver, j.row.budget) == ("near", budget)]
        low, high = np.quantile(own, [0.25, 0.75])
        ours, near = (number(table, solver, place) for solver in ("ours", "near"))
        assert (ours.best, near.best) == (high <= 0.5 + 1e-6, low >= 0.5 - 1e-6)
        assert (ours.sign, near.sign) == ("≈" if low <= 0.5 < high else "", "≈" if low < 0.5 <= high else "")
        signs |= {ours.sign, near.sign}
    assert "≈" in signs
    assert "≈ not distinguishable from the best" in table.caption
    assert "$^{\\approx}$" in Number(0.5, 0.01, 2, sign="≈").latex()


def test_only_certified_answers_are_numbers() -> None:
    rows = judged(
        [
            make_row(solver="a"),
            make_row(solver="b", verified=False),
            failed(make_row(solver="c"), "REFUSED", "too large"),
            failed(make_row(solver="d"), "NOT_PRIVATE", "leaks"),
            make_row(solver="b", budget=2.0),
            make_row(solver="c", budget=2.0),
            make_row(solver="d", budget=2.0),
        ]
    )
    table = by_case(tables(rows, WORDS, Manner()))
    assert [number(table, solver, 1).markdown() for solver in "abcd"] == ["**0.5000**", "!", "–", "✕"]
    for sign in "!–✕":
        assert sign in table.caption


def test_bits_are_nats_by_ln_2_and_shares_are_per_cent() -> None:
    rows = judged([make_row(question="privacy_funnel", instance="survey", objective=-0.25, leakage=0.25)])
    nats, bits = (by_case(tables(rows, WORDS, Manner(units=units))) for units in ("nats", "bits"))
    assert number(nats, "optimal", 1).mean == 0.25
    assert number(bits, "optimal", 1).mean == pytest.approx(0.25 / math.log(2))
    assert "leakage (bits), lower is better" in bits.caption
    assert number(by_case(tables(repeated(), WORDS, Manner())), "ours", 1).mean == 50.0


def test_no_quantity_is_shown_negated() -> None:
    rows = judged([make_row(instance="unknown", objective=-v, budget=b) for b, v in ((1.0, 4.5), (2.0, 2.0))])
    (chart,) = charts(rows, Vocabulary(), Manner())
    assert [point.y for point in chart.curves[0].points] == [4.5, 2.0]
    assert chart.y.title == "loss"


def test_tables_have_the_columns_that_were_chosen() -> None:
    manner = Manner(columns=("worse", "memory"))
    table = next(t for t in tables(repeated(), WORDS, manner) if "every-case" in t.name)
    assert [column.text for column in table.columns] == [
        "instance",
        "budget",
        "solver",
        "worse than the best (%)",
        "memory (MiB)",
    ]
    behind = next(line for line in table.lines if line[2].plain == "behind")
    top = max(j.row.objective or 0.0 for j in repeated() if j.row.budget == 0.1)
    assert behind[3].plain == pytest.approx(100 * (top - 0.2) / top)


def test_a_highlighted_solver_stands_last_in_tables_and_first_in_figures() -> None:
    table = by_case(tables(repeated(), WORDS, Manner(highlight=("behind",))))
    assert table.lines[-1][0].plain == "behind"
    assert table.last == 1
    (frontier,) = charts(repeated(), WORDS, Manner(highlight=("behind",)))
    assert dict(frontier.legend)["behind"] == LOOKS[0]


def test_a_wide_problem_becomes_several_tables_that_keep_instances_together() -> None:
    rows = judged([make_row(instance=f"i{i}", budget=b) for i in range(5) for b in (0.1, 0.5, 1.0)])
    made = [table for table in tables(rows, WORDS, Manner()) if "by-case" in table.name]
    assert [[span for _, span in table.groups] for table in made] == [[3, 3], [3, 3], [3]]
    assert len({table.name for table in made}) == 3


# figures


def test_figures_are_named_by_what_they_show_and_have_units_but_no_title() -> None:
    pytest.importorskip("altair")
    rows = [j for j in repeated() if j.row.solver != "near"]
    frontier, profile = charts(judged([j.row for j in rows]), WORDS, Manner())
    assert (frontier.name, profile.name) == ("redaction-stream-frontier", "redaction-profile")
    spec = specification(frontier)
    assert "title" not in spec
    axes = {spec["layer"][-1]["encoding"][letter]["title"] for letter in "xy"}
    assert axes == {"ε", "records released (%)"}


@pytest.mark.long
def test_a_picture_holds_its_axes_and_not_its_caption(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    folder = write_folder(tmp_path / "run", [j.row for j in repeated()])
    report_command(folder, ["svg"], tmp_path / "page.html")
    path = folder / "report" / "figures" / "redaction-stream-frontier.svg"
    words = {" ".join(t.itertext()) for t in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")}
    assert "budget" in words
    assert not any("against" in word for word in words)


def test_at_most_five_solvers_are_coloured_and_no_two_alike() -> None:
    rows = judged(
        [
            make_row(solver=f"s{i}", budget=b, objective=i * 0.05 + b / 10)
            for i in range(9)
            for b in (1.0, 2.0)
        ]
    )
    (frontier, *_) = charts(rows, WORDS, Manner())
    coloured = [curve.look for curve in frontier.curves if curve.look != PALE]
    assert len(coloured) == COLOURED
    for one, other in combinations(coloured, 2):
        assert one.colour != other.colour
        assert one.dash != other.dash
        assert one.marker != other.marker


def test_points_of_latex_and_of_data_are_the_rows(tmp_path: Path) -> None:
    rows = repeated(seed=0)
    folder = write_folder(tmp_path / "run", [j.row for j in rows])
    report_command(folder, ["csv"], tmp_path / "page.html")
    path = folder / "report" / "figures" / "redaction-stream-frontier.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    for solver in ("ours", "behind"):
        ours = [(float(x["x"]), float(x["y"])) for x in lines if x["solver"] == solver]
        rows_of = {(j.row.budget, j.row.objective) for j in rows if j.row.solver == solver}
        assert sorted(ours) == [pytest.approx(point) for point in sorted(rows_of)]
    chart = charts(rows, Vocabulary(), Manner())[0]
    drawn = re.findall(r"\(([\d.e-]+),([\d.e-]+)\)", pgfplots(chart))
    assert {(float(x), float(y)) for x, y in drawn} >= {(r[1], r[2]) for r in chart.records}


def test_a_profile_of_few_tasks_is_left_out() -> None:
    rows = judged([make_row(instance=f"i{i}") for i in range(7)])
    assert charts(rows, WORDS, Manner()) == ()
    assert [c.name for c in charts(judged([make_row(instance=f"i{i}") for i in range(8)]), WORDS, Manner())] == [
        "redaction-profile"
    ]  # fmt: skip


# LaTeX


def test_gaps_of_a_case_are_to_one_bound_and_the_caption_says_to_which() -> None:
    rows = [
        make_row(instance="stream", solver="prover", objective=0.4, bound=0.6, gap=0.2),
        make_row(instance="stream", solver="improver", objective=0.5, bound=0.9, gap=0.4),
        make_row(instance="stream", solver="greedy", objective=0.3),
    ]
    made = tables(judged(rows), Vocabulary(), Manner(columns=("value", "bound", "gap")))
    table = next(table for table in made if "every-case" in table.name)
    gaps = {str(line[2].plain): line[-1] for line in table.lines}
    assert {name: cell.plain for name, cell in gaps.items()} == {
        "prover": pytest.approx(0.2), "improver": pytest.approx(0.1), "greedy": pytest.approx(0.3),
    }  # fmt: skip
    assert "Gap: between the value and the tightest checked bound of the case" in table.caption
    assert "Bound: the checked bound that the solver itself came with." in table.caption


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with names that try to break out, in every text format."""
    rows = [*(j.row for j in repeated()), *synthetic(sizes=(4, 8, 16), budgets=(0.5, 1.0))]
    folder = write_folder(tmp_path_factory.mktemp("manuscript") / "run", rows)
    report_command(folder, ["tex", "md", "csv"], folder / "page.html", columns=("value", "gap", "seconds"))
    return folder / "report"


def environments(text: str) -> list[str]:
    """Names of environments that are open at the end, or that close another."""
    stack: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        elif not stack or stack.pop() != name:
            return [name]
    return stack


@pytest.mark.long
def test_latex_is_sound_in_structure(written: Path) -> None:
    for path in written.rglob("*.tex"):
        text = path.read_text(encoding="utf-8")
        assert environments(text) == [], path
        plain = re.sub(r"\\[\\{}]", "", text.replace(r"\\", ""))
        depth = 0
        for character in plain:
            depth += {"{": 1, "}": -1}.get(character, 0)
            assert depth >= 0, path
        assert depth == 0, path
        assert all(ord(c) < 128 or c.isalpha() for c in text), path
        assert text.count("$") % 2 == text.count(r"\$") % 2, path
        for body in re.findall(
            r"\\begin\{(?:tabular|longtable)\}(.*?)\\end\{(?:tabular|longtable)\}", text, re.DOTALL
        ):
            columns = len(re.match(r"\{([lr]+)\}", body)[1])  # type: ignore[index]
            for line in body.splitlines():
                if line.endswith(r" \\") and "multicolumn" not in line:
                    assert len(re.findall(r"(?<!\\)&", line)) == columns - 1, line


def test_the_document_finds_what_it_reads_and_cites(written: Path) -> None:
    text = (written / "paper.tex").read_text(encoding="utf-8")
    parts = re.findall(r"\\input\{([^}]*)\}", text)
    assert {f"{part}.tex" for part in parts} == {
        path.relative_to(written).as_posix() for path in written.rglob("*/*.tex")
    }
    cited = {
        key
        for path in written.rglob("*.tex")
        for keys in re.findall(r"\\cite\{([^}]*)\}", path.read_text(encoding="utf-8"))
        for key in keys.split(",")
    }
    entries = set(
        re.findall(r"^@\w+\{([^,]+),", (written / "references.bib").read_text("utf-8"), re.MULTILINE)
    )
    assert cited
    assert cited <= entries
    labels = re.findall(r"\\label\{([^}]*)\}", "".join(p.read_text("utf-8") for p in written.rglob("*.tex")))
    assert len(set(labels)) == len(labels)


@pytest.mark.long
def test_the_document_compiles(written: Path, tmp_path: Path) -> None:
    engine = next(filter(shutil.which, ("pdflatex", "lualatex", "xelatex", "tectonic")), None)
    if engine is None:
        pytest.skip("no TeX (pdflatex, lualatex, xelatex or tectonic) is installed")
    place = tmp_path / "paper"
    shutil.copytree(written, place)
    arguments = ["-interaction=nonstopmode", "-halt-on-error"] if engine != "tectonic" else []
    ran = subprocess.run([engine, *arguments, "paper.tex"], cwd=place, capture_output=True, text=True, check=False, errors="replace")  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert (place / "paper.pdf").read_bytes()[:5] == b"%PDF-"
    assert "Overfull" not in ran.stdout


def test_names_from_outside_are_words() -> None:
    assert escape_latex(r"\input{x}") == r"\textbackslash{}input\{x\}"
    rows = judged([make_row(solver=HOSTILE, instance=HOSTILE)])
    told = manuscript(HOSTILE, [HOSTILE], rows, Vocabulary(), Manner())
    assert HOSTILE not in document(told)
    assert all(HOSTILE not in cells.latex(table) for table in told.tables)
    assert all("/" not in table.name for table in told.tables)


def test_a_minus_is_a_minus() -> None:
    assert Number(-0.5, decimals=2).latex() == "$-0.50$"
    assert Number(-0.5, decimals=2).markdown() == "−0.50"
    assert Number(-math.inf).latex() == r"$-\infty$"


# Markdown


def test_markdown_holds_every_table_of_cases(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    assert "<b" not in text
    for table in (written / "tables").glob("*by-case*.tex"):
        caption = re.search(r"\\caption\{(.*?)[:(]", table.read_text("utf-8"))
        assert caption is not None
        assert caption[1].strip() in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


# sources


def test_every_solver_rests_on_a_publication_of_the_table() -> None:
    for kind, cls in problem_types().items():
        for name, solver in solvers_of(cls).items():
            keys = sources(solver) or problem_sources(kind)
            assert keys, (
                f"{kind}: the documentation of {name} and of its problem name no publication of references.bib"
            )
            assert bibliography(keys).count("@") == len(keys)


def test_every_publication_is_named_somewhere_and_is_complete() -> None:
    named = {
        key
        for cls in problem_types().values()
        for solver in solvers_of(cls).values()
        for key in sources(solver)
    }
    named |= {key for kind in problem_types() for key in problem_sources(kind)}
    assert named == set(publications())
    for one in publications().values():
        assert re.fullmatch(r"\d{4}", one.year)
        assert one.title
        assert re.search(r"\b(journal|booktitle|note)\s*=", one.entry), one.key


def test_every_title_that_a_solver_quotes_behind_names_is_in_the_table() -> None:
    quoted = re.compile(r'[A-Z]\w+, (?:\(?")([A-Z][^"]{15,})"')
    for cls in problem_types().values():
        for solver in solvers_of(cls).values():
            text = " ".join(documentation(solver).split())
            for title in quoted.findall(text):
                known = any(one.named_in(f'"{title}"') for one in publications().values())
                assert known, f"{solver.name} quotes “{title}”, which references.bib does not have"


# the command


def test_misuse_is_one_sentence_and_writes_nothing(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", [make_row()])
    for arguments, said in (
        (["--columns", "beauty"], "no column beauty; choose with commas among value"),
        (["--units", "bytes"], "give --units nats or bits"),
        (["--highlight", "mine"], "no solver mine to highlight; it has optimal"),
        (["--formats", "docx"], "cannot be written as docx; there are html"),
    ):
        ran = CliRunner().invoke(app, ["bench", "report", str(folder), *arguments])
        assert ran.exit_code == 2
        assert said in " ".join(ran.output.split())
    assert sorted(path.name for path in folder.iterdir()) == ["rows.jsonl", "run.json"]


def test_the_choice_of_columns_in_the_help_is_all_of_them() -> None:
    ran = CliRunner().invoke(
        app, ["bench", "report", "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"}
    )
    assert ", ".join(COLUMNS).replace("value, worse", "value, worse") is not None
    for name in COLUMNS:
        assert name in ran.output


def test_a_run_without_rows_is_a_document(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", [], MANIFEST)
    report_command(folder, ["tex", "md", "csv"], tmp_path / "page.html")
    assert environments((folder / "report" / "paper.tex").read_text(encoding="utf-8")) == []


def test_an_unknown_unit_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="nats or bits"):
        report_command(tmp_path / "nothing", ["tex"], tmp_path / "page.html", units="bytes")
