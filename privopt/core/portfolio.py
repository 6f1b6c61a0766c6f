"""The order in which solvers run, and for how long: an anytime portfolio."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol

from privopt.core.alarm import raise_alarm
from privopt.core.beside import CUT, GRACE, STARTING, Ended, Lane, Outcome, may_run_beside, two_cores
from privopt.core.expected import (
    FITTING,
    HOPE,
    PROVING,
    SLICE,
    ends_surely,
    last_resorts,
    predicted,
    proving,
    ready_after,
)
from privopt.core.isolate import PATIENCE, is_isolated, may_have_children, of_the_package
from privopt.core.judge import contradicts, with_bound
from privopt.core.problem import M, Problem
from privopt.core.solution import Solution, Status, standing
from privopt.core.solver import Candidate, Guarantee, ran_out
from privopt.core.trace import Reached

QUICK = 0.1
"""Predicted seconds of a prover that runs before anything else."""
INSTANT = 0.02
"""Predicted seconds of a solver that may run although the limit has passed: the first answer in a process waits for imports."""
COLD = 0.5
"""Seconds that such a solver gets."""
PROBE = 1.5
"""Seconds that such a prover gets at first; one that is stopped runs again among those that prove."""
FEASIBLE_SHARE = 0.15
"""Share of the time limit that feasible solvers get, at most, before those that prove."""
BEFORE = 0.1
"""How much of its predicted seconds feasible solvers get before a proof that is expected to end long before the limit."""
CHEAP = 0.25
"""Share of the time left up to which a feasible solver that did not fit in its share runs before a long proof all the same."""
ALIKE = 1e-9
"""Objectives that differ by less, relative to the problem's scale, count as equal."""
LONGER = 1.2
"""How many times as long as before a solver that cannot be stopped must have to run again when nobody else is left."""
HARDLY = 1e-3
"""A gap up to this, relative to the problem's scale, is nearly closed: who came so far may soon be done."""
NEARLY = 2.0
"""A prediction of this many times what is left may still be met: the first answer has all of it."""
OVERTIME = 1.0
"""Seconds past what is left that the second process has at most until its deadline: what is kept for judging may be for long checks of bounds."""

MOSTLY = 0.8
"""Share of what is left that one gets at most which is sure to close the gap in half of it, or beside none that may end.

And that those who improve have together where there is a bound, and no other soon."""


class Call(Protocol[M]):
    """One call of solve, as the search sees it."""

    @property
    def problem(self) -> Problem[M]:
        """What is to be answered."""
        ...

    @property
    def time_limit(self) -> float:
        """Seconds of the whole call."""
        ...

    @property
    def seed(self) -> int:
        """For the solvers."""
        ...

    @property
    def progress(self) -> Callable[[float, str], None]:
        """To be told how far it is."""
        ...

    @property
    def left(self) -> float:
        """Seconds that solvers may still take."""
        ...

    @property
    def judgings(self) -> list[float]:
        """Seconds of judging what was proposed so far."""
        ...

    def grant(self, seconds: float) -> bool:
        """Let that much time be left, if the limit is not long past."""
        ...

    def run(
        self,
        candidate: Candidate,
        seconds: float | None = None,
        incumbent: M | None = None,
        least: float = -math.inf,
        known: float = math.inf,
    ) -> Solution[M]:
        """Run one candidate within some seconds, from an incumbent, and judge what it proposes.

        Below ``least`` by its reading only, and no bound that it claims to be as loose as the one ``known``.
        """
        ...

    def judged(
        self, candidate: Candidate, outcome: Outcome, least: float, known: float = math.inf
    ) -> Solution[M]:
        """Judge what a candidate proposed elsewhere, or take down why it did not."""
        ...


@dataclass
class Search(Generic[M]):
    """An anytime search over takers: quick proofs, cheap feasible solvers, those that prove, then the rest.

    It ends when the gap is closed, the time is spent, or every taker has run to its end. With two cores, improvers
    run beside the provers in a process of their own.
    """

    call: Call[M]
    takers: Sequence[Candidate]
    runs: list[Solution[M]] = field(default_factory=list)
    """What was judged, in order; a solver that ran twice is there twice."""
    tried: dict[str, Solution[M]] = field(default_factory=dict)
    """The best run of each solver."""
    cut: dict[str, float] = field(default_factory=dict)
    """Seconds of solvers that were stopped before their end: they may run again, for longer."""
    given: dict[str, float] = field(default_factory=dict)
    """Seconds that each solver was given the last time."""
    lane: Lane | None = None

    def run(self) -> None:
        """Run takers until the gap is closed, the time is spent, or all of them have run."""
        try:
            self._run()
        finally:
            if self.lane is not None:
                self.lane.end()

    def _run(self) -> None:
        feasible = sorted(
            (c for c in self.takers if c.guarantee is Guarantee.FEASIBLE),
            key=lambda c: (predicted(c), c.name),
        )
        provers = proving(self.takers, self.call.left)
        for c in self._quick(provers, feasible):
            self._try(c, min(PROBE, self.call.left / 3))
        if self.settled:
            return
        soonest = min((predicted(c) for c in provers if self._unfinished(c)), default=math.inf)
        until = self.call.left - self._before_proofs(soonest)
        # Where a proof is expected soon, what it takes to judge another answer counts.
        judging = max(self.call.judgings, default=0.0) if self._soon(soonest) else 0.0
        for c in feasible:
            seconds = self.call.left - until
            if self._affords(c, seconds - judging):
                self._try(c, max(seconds, self._first_answer(c, soonest)))
        self._begin_beside([c for c in feasible if self._unfinished(c)], provers)
        if self.lane is None and soonest <= self.call.left:
            self._before_long_proofs(feasible, soonest)
        self._prove([c for c in provers if self._unfinished(c)], feasible)
        self._rest()
        self._wait_beside()
        self._cold()

    def _quick(self, provers: Sequence[Candidate], feasible: Sequence[Candidate]) -> list[Candidate]:
        """Quick provers, the quickest first; whoever is quicker still goes before one whose bound may stay loose."""
        quick = sorted((c for c in provers if predicted(c) <= QUICK), key=predicted)
        bounded = [predicted(c) for c in quick if c.guarantee is Guarantee.BOUNDED]
        before = [c for c in feasible if c.polls and predicted(c) < max(bounded, default=0.0)]
        return sorted([*before, *quick], key=predicted)

    def _cold(self) -> None:
        """Solvers of milliseconds that did not run, as all the time went to imports before the first answer."""
        quick = [c for c in self.takers if predicted(c) <= INSTANT and c.name not in self.tried]
        here = [c for c in quick if c.polls and of_the_package(c.solver)]
        for c in sorted(here, key=lambda c: (c.guarantee not in PROVING, predicted(c), c.name)):
            if self.settled or (self.call.left <= 0 and not self.call.grant(COLD)):
                return
            self._try(c, self.call.left)

    def _before_proofs(self, soonest: float) -> float:
        """Seconds of feasible solvers before the soonest proof: few where that is expected to end long before the limit."""
        left = self.call.left
        if self._soon(soonest):
            return BEFORE * max(QUICK, soonest)
        # Between a half of what is left and all of it the part grows to what the proof itself is expected to take.
        late = 1.0 if soonest >= left else max(0.0, NEARLY * soonest / left - 1)
        before = (BEFORE + (1 - BEFORE) * late) * soonest
        return min(FEASIBLE_SHARE * self.call.time_limit, max(QUICK, before))

    def _soon(self, soonest: float) -> bool:
        """Whether the soonest proof is expected long before the limit."""
        return HOPE * soonest <= self.call.left or self._ends_surely(self.call.left / SLICE)

    def _first_answer(self, c: Candidate, soonest: float) -> float:
        """Seconds in which the first answer is expected from a solver that may fit in what is left, where no proof may.

        Or where only bounds may that are expected later than it: they may come without an answer.
        """
        left = self.call.left
        if self._only_hope(c, left):
            return left
        if (
            self._answered
            or predicted(c) > NEARLY * left
            or (soonest <= left and self._ends_surely(left))
            or (soonest <= NEARLY * left and predicted(c) > soonest)
        ):
            return 0.0
        others = [o for o in self.takers if o is not c and self._unfinished(o)]
        if all(predicted(o) > HOPE * left for o in others):
            return left
        waiting = any(o.polls and self._unfinished(o) for o in self.takers if o.guarantee in PROVING)
        return min(FITTING * predicted(c), left / 2 if waiting else left)

    def _only_hope(self, c: Candidate, seconds: float) -> bool:
        """Whether there is no answer, nobody is expected to end in twice some seconds, and this one the soonest, may be."""
        if self._answered or not seconds < predicted(c) <= HOPE * seconds:
            return False
        least = max(predicted(c), NEARLY * seconds)
        return all(predicted(o) > least for o in self.takers if o is not c and self._unfinished(o))

    def _before_long_proofs(self, feasible: Sequence[Candidate], soonest: float) -> None:
        """Whoever has not run and is far quicker than any proof, where nothing else runs it beside that.

        Where no proof is expected in what is left, whoever fits in half of it, or in all of it while there is no answer, and again the best so far if it
        was stopped. Whoever improves until it is stopped has a part even so: its end may be far and its first answers good.
        Where no proof is in sight, the best so far has most of it, and whoever improves needs to leave it nothing; nor much where there
        is a bound, and the next is expected in several times what is left.
        """
        for c in sorted(feasible, key=lambda c: c.name in self.cut):
            left = self.call.left
            again = c.name in self.cut
            leads = self._best is not None and self._best.solver == c.name
            if again and (leads or not self._answered) and soonest > HOPE * left and predicted(c) <= left:
                if self._longer(c, FITTING * left / 2):
                    self._try(c, FITTING * left / 2)
                continue
            if c.name in self.tried and not (again and leads):
                continue
            share = CHEAP * left if again or soonest <= left else self._half(left, soonest)
            if self._expected(c) <= min(share, math.inf if soonest > left else soonest / SLICE):
                part = CHEAP * left if again else self._part(c, feasible, soonest)
                if self._longer(c, part):
                    self._try(c, min(SLICE * self._expected(c), part))
            elif (
                soonest > NEARLY * left
                and c.polls
                and not again
                and predicted(c) <= HOPE * self.call.time_limit
            ):
                waiting = sum(o.name not in self.tried for o in feasible)
                bounded = soonest > SLICE * left and math.isfinite(self._bound)
                share = MOSTLY / waiting if bounded else 1 / (waiting + (soonest <= HOPE * left))
                self._try(c, share * left)

    def _half(self, left: float, soonest: float) -> float:
        """What a feasible solver may use: half; all of it where no proof is in sight, or none is expected and there is no answer."""
        return left if soonest > (NEARLY if self._answered else 1.0) * left else left / 2

    def _part(self, c: Candidate, feasible: Sequence[Candidate], soonest: float) -> float:
        """What one gets of that, where others have not run either: an equal part, and what it is expected to take."""
        left = self.call.left
        half = self._half(left, soonest)
        waiting = sum(o.name not in self.tried for o in feasible)
        return min(half, max(left / max(1, waiting), FITTING * self._expected(c)))

    def _rest(self) -> None:
        """Everybody who has not run to the end: first what fits, then what can be stopped, each with half of what is left."""
        while left := self._waiting():
            c = min(left, key=self._hope)
            last = not c.polls or predicted(c) <= self.call.left / 2 or self._alone(c, left)
            seconds = self.call.left / 2
            self._try(c, self.call.left if last or not self._longer(c, seconds) else seconds)
            if self.settled or self.call.left <= 0:
                return

    def _waiting(self) -> list[Candidate]:
        """Who has not run, or may have twice as long as before; else whoever was ended with nothing and may have longer."""
        left = self.call.left
        unfinished = [
            c
            for c in self.takers
            if self._unfinished(c) and self._worth_a_process(c) and self._longer(c, left)
        ]
        longer = [c for c in unfinished if 2 * self._stopped(c) < self.call.left]
        return longer or [c for c in unfinished if not c.polls and LONGER * self._stopped(c) < self.call.left]

    def _longer(self, c: Candidate, seconds: float) -> bool:
        """Whether a solver that was stopped would get more than the last time: with less it would do no better."""
        return c.name not in self.cut or min(seconds, self.call.left) > self.given[c.name]

    def _stopped(self, c: Candidate) -> float:
        return self.cut.get(c.name, 0.0)

    def _expected(self, c: Candidate) -> float:
        """Predicted seconds, or twice those after which it was stopped."""
        return max(predicted(c), 2 * self._stopped(c))

    def _hope(self, c: Candidate) -> tuple[bool, bool, bool, float, str]:
        """First what fits; then what can be stopped, whoever has not run before whoever was stopped and does not lead."""
        fits = self._expected(c) <= self.call.left
        leads = self._answered and self._best is not None and self._best.solver == c.name
        again = c.name in self.cut and not leads
        return not fits, not c.polls, again, max(predicted(c), self._stopped(c)), c.name

    def _ends_surely(self, seconds: float) -> bool:
        """Whether a proof that has not run to its end is sure to close the gap, and predicted to end in some seconds."""
        return any(ends_surely(c, seconds) for c in self.takers if self._unfinished(c))

    def _unfinished(self, c: Candidate) -> bool:
        beside = self.lane is not None and c.name in self.lane.names
        return (c.name not in self.tried or c.name in self.cut) and not beside

    def _prove(self, provers: Sequence[Candidate], feasible: Sequence[Candidate]) -> None:
        """The last that can be stopped gets all the time that is left; those before it several predictions.

        Feasible solvers that have not run come before the first that is not expected to end.
        """
        waiting = self.lane is None
        for i, c in enumerate(provers):
            if waiting and predicted(c) > self.call.left:
                self._before_long_proofs(feasible, min(predicted(o) for o in provers[i:]))
                waiting = False
            if self.lane is None and not any(o.polls for o in provers[i + 1 :]):
                self._improve_before(c, feasible)
            if c.solver.proves_only and self._awaits_answer(provers[i + 1 :]):
                continue
            left = self.call.left
            if not c.polls and self._answered:
                after = [predicted(o) for o in provers[i + 1 :] if o.polls and self._unfinished(o)]
                if after and min(after) <= left < ready_after(c) + min(after):
                    continue  # it would take the time of one that ends in it, and may still run afterwards
            seconds = self._slice(c, provers[i:])
            if self._longer(c, seconds):
                self._try(c, seconds)
                if self._gave_up(c) and self._longer(c, MOSTLY * self.call.left):
                    self._try(c, MOSTLY * self.call.left)
        if waiting:
            self._before_long_proofs(feasible, math.inf)

    def _awaits_answer(self, provers: Sequence[Candidate]) -> bool:
        """Whether nothing is better than the anchor yet, and some of these may find what is."""
        anchor, best = next((s for s in self.runs if s.solver == "anchor"), None), self._best
        if anchor is None or best is None or self._least > (anchor.objective or 0.0):
            return False
        return any(not c.solver.proves_only and self._unfinished(c) for c in provers)

    def _gave_up(self, c: Candidate) -> bool:
        """Whether a solver that leads ended before its time, as what it would do next did not fit in that."""
        leads = self._best is not None and self._best.solver == c.name
        return leads and c.name in self.cut and self.cut[c.name] < CUT * self.given[c.name]

    def _slice(self, c: Candidate, provers: Sequence[Candidate]) -> float:
        """Seconds for the first of the provers that are left."""
        left = self.call.left
        others = [o for o in self.takers if self._unfinished(o)]
        if not c.polls:
            waiting = [o for o in provers if self._unfinished(o)]
            share = left if c in last_resorts(waiting, left) else left / 3
            return min(SLICE * predicted(c) + PATIENCE, share) if len(others) > 1 else left
        if self._alone(c, others):
            return left
        if self._nearly_closed(c) or c.solver.proves_only:  # the latter would begin from nothing again
            return MOSTLY * left
        if not any(after.polls for after in provers[1:]):
            if self._bound_may_improve(c, left / 2):
                return left / 2
            if c.name in self.cut and any(ready_after(o) <= left / SLICE for o in provers[1:]):
                return left / 3  # it has taken longer than predicted: those that are soon done come first
            return left if self._answered or not self._may_answer(c, 0.4 * left) else 0.6 * left
        sure = [predicted(o) for o in provers[1:] if o.polls and o.guarantee is Guarantee.OPTIMAL]
        if c.guarantee is not Guarantee.OPTIMAL and min(sure, default=math.inf) <= left:
            return min(SLICE * predicted(c), left / 3, max(predicted(c), left - FITTING * min(sure)))
        hopeless = all(predicted(o) > HOPE * left for o in provers[1:] if o.polls)
        most = MOSTLY if hopeless or ends_surely(c, left / 2) else 0.6
        several = min(max(SLICE * predicted(c), left / 3), most * left)
        return max(several, min(FITTING * predicted(c), left)) if predicted(c) <= left else several

    def _improve_before(self, c: Candidate, feasible: Sequence[Candidate]) -> None:
        """Where nothing runs beside, whoever improves until it is stopped has a part if a search takes longer than predicted.

        Its bound may stay open. Where it closes in a short time, nobody waits.
        """
        left = self.call.left
        within, short = NEARLY * left, min(PROBE, CHEAP * left)
        waiting = [o for o in feasible if o.polls and o.name not in self.tried and predicted(o) <= within]
        soon = c.polls and c.name not in self.cut and predicted(c) <= short
        if c.guarantee is not Guarantee.BOUNDED or not soon or not waiting:
            return
        self._try(c, short)
        for k, o in enumerate(waiting if c.name in self.cut else ()):
            self._try(o, self.call.left / 2 / (len(waiting) - k))

    def _nearly_closed(self, c: Candidate) -> bool:
        """Whether the best answer is of this one, which was stopped where its own bound left next to nothing open."""
        best = self._best
        if c.name not in self.cut or best is None or best.solver != c.name or best.gap is None:
            return False
        return best.gap <= HARDLY * self.call.problem.scale(best)

    def _bound_may_improve(self, c: Candidate, seconds: float) -> bool:
        """Whether the tightest bound is of another one that was stopped before its end, and may have more than the last time."""
        bounded = [s for s in self.runs if s.bound is not None]
        tightest = min(bounded, key=lambda s: math.inf if s.bound is None else s.bound, default=None)
        name = None if tightest is None else tightest.solver
        proves = any(o.name == name and o.guarantee in PROVING for o in self.takers)
        return proves and name != c.name and name in self.cut and seconds > self.given[name]

    def _may_answer(self, c: Candidate, seconds: float) -> bool:
        """Whether another one that has not run may end in some seconds."""
        waiting = (o for o in self.takers if o is not c and self._unfinished(o) and o.name not in self.cut)
        return any(predicted(o) <= NEARLY * seconds for o in waiting)

    def _alone(self, c: Candidate, others: Sequence[Candidate]) -> bool:
        """Whether all that is left is for this one: no other could end in it, or all are far slower where none can."""
        left = self.call.left
        could = [o for o in others if o is not c and (o.polls or ready_after(o) <= left)]
        slower = max(left, 2 * predicted(c))
        return not could or (2 * predicted(c) > left and all(predicted(o) > slower for o in could))

    def _worth_a_process(self, c: Candidate) -> bool:
        """Whether a solver may be of use: one that needs a process of its own is started for no fraction of its time."""
        return c.polls or predicted(c) <= (SLICE if self._answered else HOPE) * self.call.left

    def _affords(self, c: Candidate, seconds: float) -> bool:
        """Whether a solver is worth starting: it fits, or it can be stopped and there is no answer yet, nor one expected soon with its proof."""
        if seconds <= 0 or predicted(c) <= seconds:
            return seconds > 0
        return c.polls and not self._answered and not self._ends_surely(self.call.left / SLICE)

    @property
    def settled(self) -> bool:
        """Whether the best answer meets the least bound, whoever proved it, or it is proved that there is none."""
        if any(s.status in (Status.OPTIMAL, Status.INFEASIBLE) for s in self.runs):
            return True
        bounds = [s.bound for s in self.runs if s.bound is not None]
        best = self._best
        if best is None or best.objective is None or not bounds:
            return False
        least = max(best.objective, min(bounds))
        return standing(best.objective, least, self.call.problem.scale(best))[1] is Status.OPTIMAL

    @property
    def _best(self) -> Solution[M] | None:
        return max((s for s in self.runs if s.status.ok), key=_rank, default=None)

    @property
    def _least(self) -> float:
        """The objective below which an answer is not worth a certificate: it will not be the one."""
        best = self._best
        if best is None or best.objective is None:
            return -math.inf
        return best.objective - ALIKE * abs(self.call.problem.scale(best))

    @property
    def _bound(self) -> float:
        """The least bound that is proved; one that is claimed to be looser is not worth a check."""
        return min((s.bound for s in self.runs if s.bound is not None), default=math.inf)

    @property
    def _answered(self) -> bool:
        """Whether some solver did better than the anchor."""
        return self._best is not None and self._best.solver != "anchor"

    def _try(self, c: Candidate, seconds: float) -> None:
        self._collect()
        if not self._unfinished(c) or min(seconds, self.call.left) <= 0 or self.settled:
            return
        best = self._best
        seconds = self.given[c.name] = min(seconds, self.call.left)
        begun, judged = time.monotonic(), len(self.call.judgings)
        answer = None if best is None else best.answer
        least = math.inf if self._for_now(c) else self._least
        solution = self.call.run(c, seconds, answer, least, self._bound)
        self._record(c, solution)
        spent = time.monotonic() - begun - sum(self.call.judgings[judged:])
        self.cut.pop(c.name, None)
        if spent >= CUT * seconds or ran_out(solution.stats):
            self.cut[c.name] = spent

    def _for_now(self, c: Candidate) -> bool:
        """Whether what a solver finds is expected to be beaten: its certificate can wait.

        By a proof that is sure to end long before the limit; where judging is so quick that a certificate after the limit is late by
        little, also by one that is sure to end about then, and where nothing is proved by any that is expected long before.
        """
        if c.polls and c.guarantee is Guarantee.OPTIMAL:
            return False
        left = self.call.left
        quick = max(self.call.problem.judging_seconds, *self.call.judgings, 0.0) <= QUICK
        if self._ends_surely(left * (NEARLY if quick else 0.5)):
            return True
        provers = (o for o in self.takers if o.polls and o.guarantee in PROVING and self._unfinished(o))
        expected = any(predicted(o) <= left / 2 for o in provers)
        return quick and expected and c.guarantee is Guarantee.FEASIBLE

    def _record(self, c: Candidate, solution: Solution[M]) -> None:
        self.runs.append(solution)
        if solution.status.ok or solution.bound is not None:
            limit = self.call.time_limit
            spent = 0.0 if math.isinf(limit) else 1 - max(0.0, self.call.left) / limit
            self.call.progress(spent, Reached(solution.objective, solution.bound))
        before = self.tried.get(c.name)
        if before is None or not before.status.ok or (solution.status.ok and _rank(solution) > _rank(before)):
            self.tried[c.name] = solution

    def _begin_beside(self, improvers: Sequence[Candidate], provers: Sequence[Candidate]) -> None:
        """Start the second lane with the improvers that are left, where there is a prover for this one.

        Where a proof is expected soon, not before that: two processes may share what makes a core fast.
        """
        beside = sorted((c for c in improvers if may_run_beside(c)), key=lambda c: c.name in self.cut)
        busy = any(self._unfinished(c) for c in provers) or len(beside) > 1
        if not (beside and busy) or self.settled or self.call.left < STARTING:
            return
        if is_isolated() or not two_cores() or not may_have_children():
            return
        best = self._best
        self.lane = Lane(self.call.problem, None if best is None else best.answer, self.call.seed)
        self.lane.add(beside, time.monotonic() + self.call.left - GRACE, self._alone_first(provers))

    def _alone_first(self, provers: Sequence[Candidate]) -> float:
        """Seconds that the provers have for themselves."""
        soonest = min((predicted(c) for c in provers if self._unfinished(c)), default=0.0)
        if soonest < max(STARTING, self.call.left / NEARLY):
            return max(FITTING * soonest, STARTING / 2)
        return soonest if self._ends_surely(self.call.left / FITTING) else 0.0

    def _collect(self) -> None:
        """Judge what has ended in the lane."""
        for ended in [] if self.lane is None else self.lane.finished():
            self._record_beside(ended)

    def _record_beside(self, ended: Ended) -> None:
        judged = self.call.judged(ended.candidate, ended.outcome, self._least, self._bound)
        self._record(ended.candidate, replace(judged, seconds=ended.seconds))
        if ended.cut:
            self.cut[ended.candidate.name] = self.given[ended.candidate.name] = ended.seconds

    def _wait_beside(self) -> None:
        """Run here what the lane has not begun; then wait for it until its deadline, which may be later than what long checks have left."""
        while self.lane is not None and not self.settled:
            self._collect()
            if not self.lane.names:
                return
            waiting = self.lane.give_back() if self.call.left > 0 else None
            if waiting is not None:
                self._try(waiting, self.call.left / (2 if self.lane.waiting else 1))
                continue
            until = time.monotonic() + self.call.left
            for ended in self.lane.wait(max(until, min(self.lane.deadline, until + OVERTIME))):
                self._record_beside(ended)
            return


def best_of(problem: Problem[M], runs: Sequence[Solution[M]]) -> Solution[M]:
    """The best judged objective with the best checked bound; failures are remembered in the statistics."""
    winner = winner_of(problem, runs)
    if winner is None:
        failures = runs[::-1]
        return next((s for s in failures if s.status is Status.INFEASIBLE), failures[0])
    bounded = [s for s in runs if s.bound is not None]
    tightest = min(bounded, key=lambda s: s.bound if s.bound is not None else math.inf, default=None)
    if tightest is None or tightest.bound is None:
        return winner
    if contradicts(problem, winner, tightest.bound):
        return raise_alarm(problem, winner, tightest)
    return with_bound(problem, winner, tightest.bound, tightest.dual)


def winner_of(problem: Problem[M], runs: Sequence[Solution[M]]) -> Solution[M] | None:
    """The run with the best answer; None where there is none.

    One whose own bound closed wins over another that is better in its last digits only, else one that is certified already.
    """
    ok = [s for s in runs if s.status.ok and s.objective is not None]
    if not ok:
        return None
    best = max(ok, key=_rank)
    room = ALIKE * problem.scale(best)
    alike = [s for s in ok if _rank(s)[0] >= _rank(best)[0] - room]
    closed = [s for s in alike if s.status is Status.OPTIMAL]
    certified = [s for s in alike if s.certificate is not None]
    return max(closed or certified or [best], key=_rank)


def _rank(solution: Solution[Any]) -> tuple[float, bool]:
    """The objective; between equal ones, the answer whose own bound closed."""
    objective = -math.inf if solution.objective is None else solution.objective
    return objective, solution.status is Status.OPTIMAL
