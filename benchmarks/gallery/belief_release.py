"""One release under a belief: the optimum, the published formula, randomised response."""

from __future__ import annotations

from functools import partial

from privopt._dispatch import solve
from privopt.benchmarks._pictures import Drawn, register_picture
from privopt.benchmarks.gallery._budgets import LEAKS, PRINTED, RESPONSE, draw_budgets
from privopt.problems.belief_release import BeliefRelease

BELIEF = (0.7, 0.2, 0.1)
BUDGETS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)


@register_picture(
    "belief_release",
    ("belief_release",),
    "One release under a belief: error by budget",
    "Readers believe a letter to be (0.7, 0.2, 0.1). The published conditional randomised response (Jiang, Li, Tandon) errs less than the optimum "
    "wherever it is hollow, because there it leaks more than ε. It joins the optimum once each belief is at least 1/(e^ε + 1).",
    "belief_release.md",
)
def make() -> Drawn:
    """Errors by budget, and what the published formula leaks."""
    import pandas as pd

    frame = pd.DataFrame({"ε": BUDGETS})
    for name, solver in (("optimum", None), (PRINTED, "published"), (RESPONSE, "randomised-response")):
        found = [solve(BeliefRelease(BELIEF, budget), solver) for budget in BUDGETS]
        frame[name] = [-float(s.stats["raw_utility"]) for s in found]
        if name == PRINTED:
            frame[LEAKS] = [float(s.stats["raw_leakage"]) for s in found]
    return Drawn(frame, partial(draw_budgets, frame, "ε (nats)", "probability of a wrong letter"))
