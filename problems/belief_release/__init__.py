"""The problem BeliefRelease: declared, judged, certified, bounded."""

from privopt.problems.belief_release.problem import BeliefRelease as BeliefRelease
