"""Numbers in files: a boolean, a string or null in place of a number is refused wherever numbers are read."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from oracles.leaves import at, leaves, put

import privopt as po
from privopt.files.numbers import decode_table
from privopt.mechanisms import mechanism_from_dict
from privopt.models import model_from_dict

CHAIN = po.MarkovChain([[1.0, 0.0], [0.5, 0.5]], [1.0, 0.0], ["in", "out"])
MECHANISMS: dict[str, tuple[po.Mechanism, tuple[str, ...]]] = {
    "channel": (po.Channel([[1.0, 0.0], [0.5, 0.5]]), ("matrix",)),
    "colouring": (po.Colouring([[1.0, 0.0], [0.25, 0.75]]), ("levels", "level")),
    "noise": (
        po.NoisyQuery("sum", "laplace", 2.0, 1.0, 1.0, clip=(0, 1)),
        ("clip", "scale", "tau", "leakage"),
    ),
    "policy": (po.SequencePolicy(CHAIN, 1.0), ("chain", "epsilon", "batch", "limit")),
    "policy-costs": (
        po.SequencePolicy(CHAIN, 1.0, distortion=[[0.0, 1.0], [1.0, 0.0]], rule="exact-lp"),
        ("distortion",),
    ),
    "redaction": (po.RedactionMechanism([[1.0, 0.0], [0.0, 1.0]]), ("probabilities", "weights")),
}
MODELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "chain": (CHAIN, ("transition", "initial")),
    "counts": (po.MarkovChain.fit(["a", "b", "b", "a", "b"]), ("counts",)),
    "gaussian": (po.GaussianModel([[1.0, 0.5], [0.5, 1.0]]), ("covariance", "mean")),
    "graph": (po.DatasetGraph.line(1, 1), ("edges",)),
    "group": (po.GroupModel(1), ("size",)),
    "joint": (po.JointDistribution([[1.0, 0.0], [0.0, 0.0]]), ("table",)),
}


@pytest.mark.parametrize("kind", [*MECHANISMS, *MODELS])
def test_only_numbers_are_numbers(kind: str) -> None:
    written, names = (MECHANISMS | MODELS)[kind]
    read = mechanism_from_dict if kind in MECHANISMS else model_from_dict
    fields = json.loads(json.dumps(written.to_dict()))
    assert read(fields).to_dict() == written.to_dict()
    places = [
        p
        for p in leaves(fields)
        if set(p) & set(names) and not set(p) & {"type", "version", "states", "letters"}
    ]
    places = [p for p in places if type(at(fields, p)) in (int, float)]
    assert places
    for place in places:
        for bad in (True, False, None, repr(at(fields, place)), {}):
            changed = copy.deepcopy(fields)
            put(changed, place, bad)
            with pytest.raises((po.errors.InvalidMechanism, po.errors.InvalidModel)) as refusal:
                read(changed)
            assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("bad", [None, "1", True, {}, [[0.5], [None]], [0.5, False], [["0.5"]], [[[1], "x"]]])
def test_a_table_holds_numbers_only(bad: object) -> None:
    with pytest.raises(ValueError, match=r'^"levels" .*number'):
        decode_table(bad, "levels")
    assert decode_table([[1, 0.5], []], "levels") == [[1, 0.5], []]
