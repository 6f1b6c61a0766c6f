"""The optimal local redaction of a binary chain: sides, plans of one, candidates for both, and the solver."""

from privopt.solvers.redaction.optimal.solver import Optimal as Optimal
