"""Messages: the closed form at every belief, with what is known after a letter divided among its messages at no cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.formulas.messages import MOST_LETTERS, copies_of_letters
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy


@register
@dataclass(frozen=True)
class Messages(Solver[SequenceInformationPrivacy]):
    """The closed form at every belief, with what is known after a letter divided among its messages at no cost.

    Releases of the same letter that leave different beliefs distort as much as one of them would, and say more for the releases to come.

    The step is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", with the formula that
    holds for every belief.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "messages"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Private; it looks at one letter at a time, and the bound is for others to prove."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Nothing but what judging takes."""
        return 0.02 + 1e-4 * problem.chain.k**2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse one message for each letter, other distortions, words, and sets of chains."""
        if problem.robust:
            return "it takes a chain, not a set of chains"
        if min(problem.batch, problem.span) > 1:
            return "it takes single letters, not words"
        if problem.chain.k != len(problem.chain.letters) or problem.chain.k > MOST_LETTERS:
            return f"it takes chains of up to {MOST_LETTERS} letters, whose states are letters"
        columns = copies_of_letters(problem.setting(1))
        if columns is None or columns.shape[1] < 2:
            return "it takes two messages or more for each letter, and the Hamming distortion"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy."""
        return Proposal(problem.answer(self.name))
