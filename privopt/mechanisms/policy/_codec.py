"""Arguments of a sequence policy validated, and read from plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from privopt.errors import FileRefused, InvalidMechanism, InvalidModel, UnsuitableSolver
from privopt.files.labels import short
from privopt.files.numbers import decode_float, decode_table
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.lasting import MOST_ROUNDING, felt
from privopt.mechanisms.policy.rules import find_rule
from privopt.mechanisms.policy.setting import Setting
from privopt.mechanisms.policy.stepwise import Prepared
from privopt.models import ChainAmbiguity, MarkovChain

P = TypeVar("P")

LARGEST_LIMIT = 2**40
_FIELDS = (
    "type", "version", "chain", "epsilon", "batch", "distortion", "rule", "enforced", "limit", "prepared",
    "simulation_only", "ambiguity", "rounding",
)  # fmt: skip


def check(chain: object, epsilon: object, batch: object, limit: object) -> None:
    """Refuse arguments that are out of their range."""
    if not isinstance(chain, MarkovChain):
        raise InvalidMechanism(f"chain must be a MarkovChain, got {type(chain).__name__}")
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, np.integer, np.floating)):
        raise InvalidMechanism(f"epsilon must be a number of nats, got {epsilon!r}")
    if not float(epsilon) >= 0:
        raise InvalidMechanism(f"epsilon must be >= 0 nats, got {epsilon}")
    for name, value, most in (("batch", batch, 1000), ("limit", limit, LARGEST_LIMIT)):
        if name == "limit" and type(value) is float and value == math.inf:
            continue
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or not 1 <= value <= most:  # type: ignore[operator]  # an integer, as checked
            raise InvalidMechanism(f"{name} must be an integer in 1 .. {most}, got {value!r}")


def check_lasting(
    chain: MarkovChain,
    nats: float,
    batch: int,
    limit: float,
    ambiguity: ChainAmbiguity | None,
    rounding: object,
) -> None:
    """Refuse streams without end where beliefs do not forget, and rounded beliefs elsewhere."""
    if isinstance(rounding, bool) or not isinstance(rounding, (int, np.integer)):
        raise InvalidMechanism(f"rounding must be an integer in 0 .. {MOST_ROUNDING}, got {rounding!r}")
    if not 0 <= rounding <= MOST_ROUNDING:
        raise InvalidMechanism(f"rounding must be an integer in 0 .. {MOST_ROUNDING}, got {rounding!r}")
    if limit != math.inf:
        if rounding:
            raise InvalidMechanism("only policies for streams of any length round beliefs: give limit=inf")
        return
    if batch > 1 or ambiguity is not None:
        raise InvalidMechanism(
            "a limit of inf is for single letters of one chain: give batch=1 and no set of chains, or a finite limit="
        )
    if nats < math.inf and felt(chain, nats) is None:
        raise InvalidMechanism(
            "a limit of inf needs a chain of equal steps, some number of which lead from every state to the same states: "
            "give a finite limit="
        )


def prepared(pairs: Sequence[tuple[ArrayLike, Channel]], setting: Setting) -> Prepared:
    """Beliefs over inputs with their kernels, checked against the setting; words at the end of data may be shorter."""
    checked = []
    whole = setting
    for i, (belief, kernel) in enumerate(pairs):
        p = np.array(belief, dtype=np.float64)
        setting = _setting_of(kernel, whole)
        if p.shape != (len(setting.inputs),) or not (p >= 0).all() or abs(p.sum() - 1) > 1e-9:
            raise InvalidMechanism(
                f"prepared[{i}]: the belief must be {len(setting.inputs)} probabilities that sum to 1, one an input"
            )
        if not isinstance(kernel, Channel) or (kernel.inputs, kernel.outputs) != (
            setting.inputs,
            setting.outputs,
        ):
            raise InvalidMechanism(
                f"prepared[{i}]: the kernel must be a Channel from the inputs to the outputs of the policy's setting"
            )
        checked.append((tuple(p.tolist()), kernel))
    return tuple(checked)


def _setting_of(kernel: object, whole: Setting) -> Setting:
    """The setting of words of the length that a kernel reads; that of a full release where it reads none of them."""
    reads = kernel.inputs if isinstance(kernel, Channel) else whole.inputs
    if reads == whole.inputs:
        return whole
    first = reads[0]
    length = len(first) if isinstance(first, tuple) and first not in whole.letters else 1
    if not 1 <= length < whole.batch:
        return whole
    each = whole.epsilon / whole.batch
    return Setting(whole.chain, length, length * each, whole.distortion)


def decode(fields: Mapping[str, Any], make: Callable[..., P]) -> P:
    """The policy of the arguments in a file."""
    odd = sorted(set(map(str, fields)) - set(_FIELDS))
    if odd:
        raise InvalidMechanism(f"a sequence policy has no field {odd[0]!r}: remove it")
    if not isinstance(fields.get("chain"), Mapping):
        raise InvalidMechanism('a sequence policy needs "chain": a Markov chain document')
    rule, named = fields.get("rule", "closed-form"), fields.get("distortion", "hamming")
    if not isinstance(rule, str) or not isinstance(named, (str, list)):
        raise InvalidMechanism('"rule" must be a name, "distortion" a name or a list of rows')
    try:
        chain = MarkovChain.from_dict(fields["chain"])
        epsilon = decode_float(fields.get("epsilon"))
        costs = named if isinstance(named, str) else decode_table(named, "distortion")
        over = _set(fields.get("ambiguity"))
    except (InvalidModel, ValueError) as cause:
        raise InvalidMechanism(str(cause)) from cause
    for name in ("enforced", "simulation_only"):
        if not isinstance(fields.get(name, True), bool):
            raise InvalidMechanism(f'"{name}" must be true or false, got {short(fields[name])}')
    try:
        find_rule(rule)
    except UnsuitableSolver as cause:
        raise FileRefused(str(cause)) from cause
    return make(
        chain,
        epsilon,
        fields.get("batch", 1),
        costs,
        rule,
        enforced=fields.get("enforced", True),
        limit=math.inf if fields.get("limit") == "inf" else fields.get("limit", 2**20),
        prepared=_prepared(fields.get("prepared", [])),
        simulation_only=fields.get("simulation_only", False),
        ambiguity=over,
        rounding=fields.get("rounding", 0),
    )


def _set(value: object) -> ChainAmbiguity | None:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidMechanism('"ambiguity" must be a set of chains')
    return None if value is None else ChainAmbiguity.from_dict(value)


def _prepared(value: object) -> Prepared:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InvalidMechanism('"prepared" must be a list of {"belief": [...], "kernel": {...}}')
    pairs = []
    for item in value:
        belief, kernel = item.get("belief"), item.get("kernel")
        if not isinstance(belief, list) or not all(type(p) in (int, float) for p in belief):
            raise InvalidMechanism('"prepared" holds a belief that is not a list of numbers')
        if not isinstance(kernel, dict):
            raise InvalidMechanism('"prepared" holds a kernel that is not a channel document')
        if not all(math.isfinite(p) for p in belief):
            raise InvalidMechanism('"prepared" holds a belief that is not finite')
        pairs.append((tuple(map(float, belief)), Channel.from_dict(kernel)))
    return tuple(pairs)
