"""What the words of a report mean."""

from __future__ import annotations

WORDS = (
    (
        "utility, leakage, budget",
        "Of the mechanism that is sampled, with integer weights. Leakage is in nats; the budget is in the question's own unit.",
    ),
    (
        "seconds",
        (
            "Wall time of solving and judging: s in a process that has solved such a question before, cold s the first time in "
            "a fresh process, imports included. MiB is the largest resident size of the run's own process."
        ),
    ),
    (
        "certified",
        (
            "The budget was proved in exact arithmetic from the integer weights, and proved again after the solution was "
            "written and read back."
        ),
    ),
    (
        "gap",
        (
            "Room between the objective and a bound that the question itself checked. A bound that a solver merely claims is not "
            "counted: such rows have no bound."
        ),
    ),
    (
        "best",
        (
            "Certified, with an objective of at least best − 1e-6 max(1, |best|), where best is the largest certified objective "
            "that any solver reached for the instance and budget."
        ),
    ),
    (
        "over as proposed",
        (
            "How often a solver's own proposal leaked more than the budget, beyond what rounding explains, before it was "
            "repaired. After repair there must be none."
        ),
    ),
    (
        "refused",
        "A solver that does not take an instance says so in a sentence. A refusal is a row, and counts as not answered.",
    ),
)
