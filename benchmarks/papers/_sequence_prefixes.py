"""Every sequence with every release: joint laws by enumeration, for short sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.benchmarks.papers._sequence_kernels import Kernels, leakages, mended
from privopt.mechanisms._hamming_cases import Floats


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Joint law after each step, ``joints[k]`` of shape (m^(k+1), n^(k+1)): a row a sequence of releases.

    ``leakage`` is the largest leakage of the one letter read by each step.
    """

    joints: tuple[Floats, ...]
    leakage: tuple[float, ...]

    def logs(self) -> tuple[Floats, Floats]:
        """Ln Pr(x, y) / (Pr(x) Pr(y)) of whole sequences, and their probabilities, for those of positive probability."""
        law = self.joints[-1]
        apart = np.outer(law.sum(axis=1), law.sum(axis=0))
        used = law > 0
        return np.log(law[used] / apart[used]), law[used]

    @property
    def sequence_leakage(self) -> float:
        """The largest |ln Pr(x | y) / Pr(x)| of whole sequences."""
        return float(np.abs(self.logs()[0]).max())

    def prefix_leakage(self) -> tuple[float, ...]:
        """The largest |ln Pr(x prefix | y prefix) / Pr(x prefix | y before)| of each step, by enumeration."""
        found = []
        for law in self.joints:
            before = law.reshape(-1, self._releases, law.shape[1]).sum(axis=1)
            given, after = _given(before), law / np.maximum(law.sum(axis=1, keepdims=True), 1e-300)
            prior = np.repeat(given, self._releases, axis=0)
            used = after > 0
            found.append(float(np.abs(np.log(after[used] / prior[used])).max()))
        return tuple(found)

    @property
    def _releases(self) -> int:
        return len(self.joints[0])


def enumerate_releases(initial: Floats, transition: Floats, kernels: Kernels, steps: int) -> Enumerated:
    """The joint law of sequences and releases if each step's kernel reads one letter and the releases before.

    Examples
    --------
    >>> from privopt.benchmarks.papers._sequence_kernels import optimum
    >>> half = np.full((2, 2), 0.5)
    >>> found = enumerate_releases(half[0], half, optimum(1.0), 3)
    >>> found.joints[-1].shape, round(found.sequence_leakage, 9), [round(v, 9) for v in found.prefix_leakage()]
    ((8, 8), 3.0, [1.0, 1.0, 1.0])
    """
    n, law = len(initial), np.asarray(initial, dtype=np.float64)[None, :]
    joints, leaks = [], []
    for step in range(steps):
        if step:
            law = (law.reshape(len(law), -1, n)[:, :, :, None] * transition).reshape(len(law), -1)
        last = law.reshape(len(law), -1, n)
        beliefs = _given(last.sum(axis=1))
        kernel = kernels(beliefs)
        leaks.append(float(leakages(beliefs, kernel).max()))
        law = np.einsum("pax,pxy->pyax", last, kernel).reshape(len(law) * kernel.shape[2], -1)
        joints.append(law)
    return Enumerated(tuple(joints), tuple(leaks))


def _given(table: Floats) -> Floats:
    """Rows divided by their sums; what cannot happen gets a uniform row, which counts for nothing."""
    sums = table.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), 1.0 / table.shape[1]))


def random_chain(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Start and transitions drawn from Dirichlet laws."""
    return np.asarray(rng.dirichlet(np.ones(n))), np.asarray(rng.dirichlet(np.ones(n), n))


def random_kernels(rng: np.random.Generator, epsilon: float | None = None) -> Kernels:
    """New random kernels at every belief, mixed down to a budget if there is one."""

    def kernels(beliefs: Floats) -> Floats:
        m, n = beliefs.shape
        found = np.asarray(rng.dirichlet(np.full(n, 0.5), (m, n)) * (1 - 1e-9) + 1e-9 / n)
        if epsilon is None:
            return found
        return np.array([mended(k, b, epsilon) for k, b in zip(found, beliefs, strict=True)])

    return kernels
