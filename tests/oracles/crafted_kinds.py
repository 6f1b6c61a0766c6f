"""All files made by hand beside the linear ones: those that hold, those that one rule refuses, and all that differ in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from oracles import crafted_edges, crafted_ends, crafted_releases, crafted_sets, crafted_streams
from oracles.crafted_files import Planted, changed, neighbours
from oracles.planted_proofs import Lines

MADE: dict[str, Callable[[], Iterator[Lines]]] = {
    f.__name__: f
    for f in (
        crafted_releases.information, crafted_releases.exceptions, crafted_releases.post_randomisation,
        crafted_streams.redaction, crafted_streams.redaction_bounds, crafted_streams.sequence, crafted_sets.sets,
        crafted_sets.set_bounds, crafted_streams.gaussian_noise, crafted_streams.chain_noise, crafted_releases.trade_off,
        crafted_releases.lift_family,
    )
}  # fmt: skip

PLANTED: Planted = {**crafted_releases.PLANTED, **crafted_sets.PLANTED, **crafted_streams.PLANTED}
"""Changes of which each is refused by one rule only, and all are by some."""


def planted(kind: str) -> Iterator[Lines]:
    """Files that a checker refuses: for each of its rules one that nothing else refuses."""
    made = list(MADE[kind]())
    for place, path, value in PLANTED[kind]:
        yield changed(made[place], path, value)
    for more in (
        crafted_releases.more,
        crafted_sets.more,
        crafted_streams.more,
        crafted_edges.wrong,
        crafted_ends.wrong,
    ):
        yield from (file for file in more() if file[0]["kind"] == kind)


def edges(kind: str) -> Iterator[Lines]:
    """Files that are accepted, of which only programs with a small mistake say otherwise."""
    found = {**crafted_edges.EDGES, **crafted_ends.EDGES}
    if kind in found:
        yield from found[kind]()


def corpus(kind: str) -> Iterator[Lines]:
    """All files of a kind: those made by hand first."""
    made = list(MADE[kind]())
    yield from made
    for file in edges(kind):
        yield from (file, *crafted_edges.near(file))
    yield from planted(kind)
    for file in made:
        yield from neighbours(file)
