"""Rules: how a policy turns a belief into a kernel. Those of the package are declared here; anyone may register another."""

from __future__ import annotations

from collections.abc import Callable

from privopt.errors import UnsuitableSolver
from privopt.mechanisms.policy.formulas.closed import (
    ConstantRule,
    HammingRule,
    PublishedGradientRule,
    PublishedRule,
    RandomisedResponseCalibratedRule,
    RandomisedResponseRule,
    TemporalRandomisedResponseRule,
)
from privopt.mechanisms.policy.formulas.formula import Cost, Formula, Rule, program_seconds
from privopt.mechanisms.policy.formulas.look_ahead import LookAheadRule
from privopt.mechanisms.policy.formulas.messages import MessagesRule
from privopt.mechanisms.policy.formulas.steps import DEFINITION, INTERVALS, STRUCTURE
from privopt.mechanisms.policy.formulas.word_groups import AGGREGATION, WORD_GROUPS
from privopt.mechanisms.policy.formulas.words import EXACT_LP, IID_CLOSED_FORM, ORBIT_LP, RESTRICTED_OUTPUTS
from privopt.mechanisms.policy.setting import Setting

__all__ = [
    "Cost",
    "Formula",
    "Rule",
    "Setting",
    "cost_of",
    "find_rule",
    "on_missing_rule",
    "register_rule",
    "rule_names",
    "seconds_of",
]

_DECLARED: tuple[Formula, ...] = (
    HammingRule(),
    ConstantRule(),
    PublishedRule(),
    PublishedGradientRule(),
    RandomisedResponseRule(),
    RandomisedResponseRule("randomised-response-double", 2.0),
    RandomisedResponseCalibratedRule(),
    TemporalRandomisedResponseRule(),
    LookAheadRule(),
    MessagesRule(),
    STRUCTURE,
    INTERVALS,
    DEFINITION,
    EXACT_LP,
    RESTRICTED_OUTPUTS,
    ORBIT_LP,
    IID_CLOSED_FORM,
    AGGREGATION,
    WORD_GROUPS,
)
_rules: dict[str, Rule] = {formula.name: formula for formula in _DECLARED}
_discover: list[Callable[[], object]] = []


def register_rule(rule: Rule) -> Rule:
    """Enter a rule of your own under its name; one that is a :class:`Formula` declares its class of cost.

    A policy with such a rule works while the rule is registered. A file that names it is read only where it is.

    Raises
    ------
    ValueError
        If the name is taken by a rule of another class.
    """
    taken = _rules.get(rule.name)
    if taken is not None and type(taken).__qualname__ != type(rule).__qualname__:
        raise ValueError(f"rule {rule.name!r} is registered twice, by {taken!r} and {rule!r}")
    _rules[rule.name] = rule
    return rule


def on_missing_rule(discover: Callable[[], object]) -> None:
    """Call this before a rule is given up as unknown: it may register rules of one's own, never one of the package."""
    _discover.append(discover)


def rule_names() -> tuple[str, ...]:
    """Every known rule."""
    return tuple(sorted(_rules))


def find_rule(name: str) -> Rule:
    """A rule by its name.

    Raises
    ------
    UnsuitableSolver
        If there is none of that name, after a look into folders of one's own.

    Examples
    --------
    >>> find_rule("closed-form").name
    'closed-form'
    """
    if name not in _rules:
        for discover in _discover:
            discover()
    if name not in _rules:
        raise UnsuitableSolver(
            f"no rule is called {name!r}; there are {', '.join(rule_names())}. Import the module that registers a rule of "
            "your own first, or name its folder in PRIVOPT_SOLVERS, or carry its kernels as prepared= of one of these"
        )
    return _rules[name]


def cost_of(name: str) -> Cost:
    """The class of cost of a rule; a rule that declares none counts as an optimisation.

    Examples
    --------
    >>> cost_of("constant").same_everywhere, cost_of("structure-lp").quick
    (True, False)
    """
    rule = find_rule(name)
    return rule.cost if isinstance(rule, Formula) else Cost.PROGRAM


def seconds_of(name: str, cells: int, level: float) -> float:
    """About how long a rule looks for a kernel of so many cells at a level in nats, where an optimisation finds it.

    Examples
    --------
    >>> seconds_of("interval", 40_000, 8.0) < 0.2 < seconds_of("structure-lp", 40_000, 8.0)
    True
    """
    rule = find_rule(name)
    return rule.seconds(cells, level) if isinstance(rule, Formula) else program_seconds(cells, level)
