"""The command that goes from a table of places to a certified look-up table and a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import privopt as po
from privopt.cli import show
from privopt.cli.fit import Data
from privopt.cli.solve import Seed, TimeLimit
from privopt.errors import FileRefused, InvalidModel, InvalidProblem
from privopt.files.csv import read_coded, read_table, write_table
from privopt.files.json import write_json, writing
from privopt.files.text import number
from privopt.models.metric import Metric
from privopt.problems.metric_privacy.problem import MetricPrivacy

PROBLEM, SOLUTION, TABLE, MAP = "problem.json", "solution.json", "table.csv", "map.svg"

MOST_PAIRS = 3_000_000
"""Pairs of places times outputs above which a radius is asked for."""


@dataclass(frozen=True)
class Place:
    """A row of the table, rows of one name added up."""

    latitude: float
    longitude: float
    count: float


def places(
    data: Data,
    epsilon: Annotated[float, typer.Option(min=0.0, help="Nats per unit of distance.")],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="A new folder for what is written.")],
    latitude: Annotated[
        str, typer.Option(metavar="NAME", help="The column of latitudes, in degrees.")
    ] = "latitude",
    longitude: Annotated[
        str, typer.Option(metavar="NAME", help="The column of longitudes, in degrees.")
    ] = "longitude",
    count: Annotated[
        str | None, typer.Option(metavar="NAME", help="How often each place occurs; left out, all alike.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column that names places; left out, 'latitude longitude'."),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(min=0.0, help="Promise only places so near to each other; left out, all."),
    ] = None,
    unit: Annotated[str, typer.Option(help="Of distances: km, m or mi.")] = "km",
    loss: Annotated[
        str, typer.Option(help="What a report costs: its distance, or that squared.")
    ] = "distance",
    time_limit: TimeLimit = 30.0,
    seed: Seed = 0,
) -> None:
    """From places to a certified look-up table of what to report instead of each, and a map.

    The folder holds the problem, the solution for 'privopt verify' and 'privopt release', the look-up table with a row a
    place and a column a report, and a map where matplotlib is installed. Exit code 1 if there is no answer.
    """
    if output.exists():
        raise FileRefused(f"{output}: exists; name a new folder")
    show.check_output(output, data)
    problem = _problem(_read(data, latitude, longitude, count, name), epsilon, unit, loss, radius)
    with show.progress("solving") as progress:
        solution = po.solve(problem, time_limit=time_limit, seed=seed, progress=progress)
    if not solution.status.ok:
        show.facts(
            [("status", f"{solution.status.name}: {solution.status.value}"), ("reason", solution.reason)]
        )
        raise typer.Exit(1)
    output.mkdir()
    write_json(output / PROBLEM, problem.to_dict())
    solution.save(output / SOLUTION)
    _write_table(output / TABLE, solution.mechanism)
    drawn = _write_map(output / MAP, problem, solution.mechanism)
    show.facts(_facts(problem, solution, output, drawn))


def _read(data: Path, latitude: str, longitude: str, count: str | None, name: str | None) -> dict[str, Place]:
    """The places by name."""
    wanted = list(dict.fromkeys([latitude, longitude, *(c for c in (count, name) if c is not None)]))
    try:
        table = read_table(data, wanted)
    except FileRefused as cause:
        raise FileRefused(f"{cause}{_hint(data, latitude, longitude)}") from cause
    read: dict[str, Place] = {}
    for row in range(table.rows):
        place = Place(
            _number(data, table.columns[latitude][row], latitude, row),
            _number(data, table.columns[longitude][row], longitude, row),
            1.0 if count is None else _number(data, table.columns[count][row], count, row),
        )
        if place.count < 0:
            raise FileRefused(f"{data}: row {row + 1}: {count} is negative; give how often the place occurs")
        label = (
            f"{table.columns[latitude][row]} {table.columns[longitude][row]}"
            if name is None
            else table.columns[name][row]
        )
        known = read.get(label)
        if known is None:
            read[label] = place
        elif (known.latitude, known.longitude) != (place.latitude, place.longitude):
            raise FileRefused(
                f"{data}: row {row + 1}: {name} names a place that an earlier row puts elsewhere; make names of places distinct"
            )
        else:
            read[label] = Place(known.latitude, known.longitude, known.count + place.count)
    return read


def _hint(data: Path, latitude: str, longitude: str) -> str:
    """How columns of coordinates under other names are given, where the table lacks one; nothing where something else is wrong."""
    try:
        names = list(read_coded(data))
    except FileRefused:
        return ""
    lacking = [name for name in (latitude, longitude) if name not in names]
    if not lacking:
        return ""
    likely = [_likely(names, name) for name in ("latitude", "longitude")]
    return f"; name the columns of coordinates by --latitude {likely[0] or 'NAME'} --longitude {likely[1] or 'NAME'}"


def _likely(names: Sequence[str], wanted: str) -> str:
    """A column whose name begins as the word does, as lat, Lat or latitude_deg do."""
    starts = wanted[:3]
    return next((name for name in names if name.strip().casefold().startswith(starts)), "")


def _number(data: Path, cell: str, column: str, row: int) -> float:
    try:
        value = float(cell)
    except ValueError as cause:
        raise FileRefused(f"{data}: row {row + 1}: the cell of {column} is not a number") from cause
    if not np.isfinite(value):
        raise FileRefused(f"{data}: row {row + 1}: the cell of {column} is not a finite number")
    return value


def _problem(
    read: dict[str, Place], epsilon: float, unit: str, loss: str, radius: float | None
) -> MetricPrivacy:
    counts = np.array([place.count for place in read.values()])
    if not counts.sum() > 0:
        raise FileRefused("all counts are 0; leave the column out, and all places are alike")
    try:
        metric = Metric.great_circle(
            [[p.latitude, p.longitude] for p in read.values()], list(read), unit=unit
        )
        problem = MetricPrivacy(metric, counts / counts.sum(), loss, epsilon, radius=radius)
    except (InvalidModel, InvalidProblem) as cause:
        raise FileRefused(str(cause)) from cause
    if len(problem.pairs) * len(metric) > MOST_PAIRS:
        raise FileRefused(
            f"{len(metric)} places make {len(problem.pairs)} pairs, too many for every report; give --radius, or fewer places"
        )
    return problem


def _write_table(path: Path, channel: po.Channel) -> None:
    """A row a place, a column a report that occurs, exact to the digits of a float."""
    used = np.flatnonzero((channel.matrix > 0).any(axis=0)).tolist()
    reports = {str(channel.outputs[y]): [repr(p) for p in channel.matrix[:, y].tolist()] for y in used}
    first = "place"
    while first in reports:
        first = f"true {first}"
    write_table(path, {first: [str(label) for label in channel.inputs], **reports}, safe=True)


def _write_map(path: Path, problem: MetricPrivacy, channel: po.Channel) -> bool:
    """A map; nothing where matplotlib is missing."""
    from privopt.errors import MissingExtra
    from privopt.plots.places import places_figure

    try:
        figure = places_figure(problem, channel)
    except MissingExtra:
        return False
    with writing(path) as stream:
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return True


def _facts(
    problem: MetricPrivacy, solution: po.Solution[po.Channel], output: Path, drawn: bool
) -> list[tuple[str, object]]:
    certificate = solution.certificate
    unit = problem.metric.unit if problem.loss == "distance" else f"{problem.metric.unit} squared"
    gap = "" if solution.gap is None else f", at most {number(solution.gap, 3)} above the least possible"
    return [
        ("places", f"{len(problem.metric)}, {len(problem.pairs)} promised pairs"),
        ("promise", "" if certificate is None else f"{certificate.statement}; PROVED"),
        (
            "components",
            ""
            if problem.component_count == 1
            else f"{problem.component_count}: nothing is promised across them",
        ),
        ("expected loss", f"{number(-(solution.utility or 0.0))} {unit}{gap}"),
        ("status", f"{solution.status.name} by {solution.solver}"),
        ("written", [str(output / file) for file in (PROBLEM, SOLUTION, TABLE, *((MAP,) if drawn else ()))]),
        ("check it", f"privopt verify {output / PROBLEM} {output / SOLUTION}"),
        ("release", f"privopt release {output / SOLUTION} VISITS.csv --column PLACE --output RELEASED.csv"),
    ]
