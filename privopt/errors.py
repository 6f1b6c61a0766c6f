"""What privopt raises: misuse and bad data, each saying what was wrong, where, and what to do.

A problem that has no answer (infeasible, out of time, not private) is not an error: it is a
:class:`privopt.Status`.
"""

from __future__ import annotations


class PrivoptError(Exception):
    """The root of every exception that privopt raises on purpose."""


class InvalidModel(PrivoptError, ValueError):
    """The data or numbers given do not make a model (probabilities off 1, unknown labels, ...)."""


class InvalidProblem(PrivoptError, ValueError):
    """The problem is not well posed (a negative budget, a record outside the window, ...)."""


class InvalidMechanism(PrivoptError, ValueError):
    """The numbers given do not make a mechanism, or it does not fit the problem or the data."""


class UnsuitableSolver(PrivoptError, ValueError, TypeError):
    """No such solver, or it answers another kind of problem."""


class FileRefused(PrivoptError, ValueError):
    """A file is too large, too deep, not of the expected form, or of another version."""


class NotSolved(PrivoptError, ValueError):
    """The mechanism of a solution that has none was asked for."""


class MissingExtra(PrivoptError, RuntimeError):
    """An optional package that the call needs is not installed; the message says how to get it."""


class ContradictionWarning(UserWarning):
    """A certified answer is above a checked bound: one of two proofs is wrong, and both are written down."""
