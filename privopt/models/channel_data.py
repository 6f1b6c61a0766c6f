"""What a channel problem knows of its data: the distribution of (S, W), and how X is seen through W."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Labels
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.models import JointDistribution, ObservedJoint
from privopt.models.ambiguity.joint import JointAmbiguity

Joint: TypeAlias = JointDistribution | ObservedJoint
JointOrSet: TypeAlias = Joint | JointAmbiguity
Release: TypeAlias = Channel | Merging


@dataclass(frozen=True)
class Observation:
    """The distribution of S and of the observation W that a channel reads, and that of X where X is not W.

    ``useful`` is None where W is X itself.
    """

    leaking: JointDistribution
    useful: JointDistribution | None

    @property
    def observed(self) -> Labels:
        """Labels of W, the inputs of the channel."""
        return self.leaking.useful

    @property
    def p_w(self) -> Floats:
        """Distribution of W, shape (n_w,)."""
        return self.leaking.p_x

    @property
    def p_s(self) -> Floats:
        """Distribution of S, shape (n_s,)."""
        return self.leaking.p_s

    @property
    def p_x(self) -> Floats:
        """Distribution of X, shape (n_x,)."""
        return self.p_w if self.useful is None else self.useful.p_s

    @cached_property
    def s_given_w(self) -> Floats:
        """Pr(S=s | W=w), shape (n_s, n_w)."""
        return self.leaking.s_given_x

    @cached_property
    def x_given_w(self) -> Floats:
        """Pr(X=x | W=w), shape (n_x, n_w); the identity where W is X."""
        return np.eye(len(self.p_w)) if self.useful is None else self.useful.s_given_x

    @property
    def values(self) -> Labels:
        """Labels of X."""
        return self.observed if self.useful is None else self.useful.sensitive

    @property
    def is_whole(self) -> bool:
        """Whether the secret is the very symbol that is read, each possible: P(y | s) is then a row, however the data are spread."""
        table = self.leaking.table > 0
        square = table.shape[0] == table.shape[1]
        return square and bool((table == np.eye(len(table), dtype=np.bool_)).all())

    def release_labels(self, matrix: Floats | None) -> Labels | None:
        """Labels of X where a distortion D[x, y] is square, so that its columns are these values; else None."""
        return self.values if matrix is not None and matrix.shape[1] == len(self.values) else None

    @property
    def support(self) -> NDArray[np.int64]:
        """Positions of the observations of positive probability."""
        return np.flatnonzero(self.p_w > 0)

    @cached_property
    def unseen(self) -> tuple[int, ...]:
        """Positions of the observations of probability 0."""
        return tuple(w for w, weight in enumerate(self.weights) if weight == 0)

    @property
    def weights(self) -> list[int]:
        """Integer weights of the distribution of W."""
        n = len(self.observed)
        return [sum(self.leaking.exact.weights[w::n]) for w in range(n)]

    def with_release(self, release: Release) -> tuple[Floats, Floats]:
        """Distributions of (S, Y) and of (X, Y), shapes (n_s, n_y) and (n_x, n_y)."""
        return self.leaking_distribution(release), self.useful_distribution(release)

    def leaking_distribution(self, release: Release) -> Floats:
        """Distribution of (S, Y), shape (n_s, n_y)."""
        return _released(self.leaking.table, release)

    def useful_distribution(self, release: Release) -> Floats:
        """Distribution of (X, Y), shape (n_x, n_y)."""
        if self.useful is None:
            return np.asarray(self.p_w[:, None] * release.matrix)
        return _released(self.useful.table, release)

    def check(self, mechanism: Mechanism, problem: str) -> Release:
        """The mechanism, if it is a channel or a merging of these observations.

        Raises
        ------
        InvalidMechanism
            If it is another kind of mechanism, or reads other symbols.
        """
        if not isinstance(mechanism, (Channel, Merging)):
            raise InvalidMechanism(
                f"{problem} is answered by a Channel or a Merging, got {type(mechanism).__name__}"
            )
        if mechanism.inputs != self.observed:
            raise InvalidMechanism(
                f"the mechanism reads {_few(mechanism.inputs)}, the problem's symbols are {_few(self.observed)}"
            )
        return mechanism


def observation(joint: Joint) -> Observation:
    """The observation of a joint: W is X unless the joint says otherwise."""
    if isinstance(joint, ObservedJoint):
        return Observation(joint.sensitive_observed, joint.useful_observed)
    if isinstance(joint, JointDistribution):
        return Observation(joint, None)
    if isinstance(joint, JointAmbiguity):
        raise InvalidProblem(
            "this problem has no form that holds for every distribution in a set: give it the set's .nominal, or use "
            "LocalInformationPrivacy, PointwiseMaximalLeakage, DistortionPrivacy or PrivacyFunnel"
        )
    raise InvalidProblem(f"joint must be a JointDistribution or an ObservedJoint, got {type(joint).__name__}")


def nominal_of(joint: JointOrSet) -> Joint:
    """The joint by which utilities are read: that of a set, or the joint itself."""
    return joint.nominal if isinstance(joint, JointAmbiguity) else joint


def release_name(release: Release, y: int) -> str:
    """A release as sentences name it: as a table holds it where the mechanism remembers the columns of one, else its label.

    Examples
    --------
    >>> from privopt.mechanisms import Merging
    >>> release_name(Merging([["a"], ["b", "c"]]), 1)
    "'b | c'"
    """
    if release.columns is None:
        return repr(release.outputs[y])
    return repr(", ".join(map(str, release.cells[y])))


def release_rows(release: Release, which: Sequence[int]) -> list[IntegerRow]:
    """The integer rows of some inputs."""
    if isinstance(release, Channel):
        rows = release.exact()
        return [rows[w] for w in which]
    blocks = len(release.blocks)
    places = [int(release.assignment[w]) for w in which]
    return [IntegerRow(tuple(int(y == place) for y in range(blocks)), 1) for place in places]


def _released(table: Floats, release: Release) -> Floats:
    if not isinstance(release, Merging):
        return np.asarray(table @ release.matrix)
    merged = np.zeros((len(release.blocks), len(table)))
    np.add.at(merged, release.assignment, table.T)
    return merged.T


def _few(labels: Labels) -> str:
    shown = ", ".join(map(repr, labels[:6]))
    return f"{len(labels)} symbols {shown}" + (", ..." if len(labels) > 6 else "")
