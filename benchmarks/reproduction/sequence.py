"""Every item of the paper on sequences, as the paper's own page computes it."""

from __future__ import annotations

from privopt.benchmarks._reproduction import Reproduced, Setting, reproduces
from privopt.benchmarks.papers._sequence_items import Check
from privopt.benchmarks.papers.sequence import checks


def _register(name: str, check: Check) -> None:
    @reproduces(name)
    def again(setting: Setting) -> Reproduced:
        found = check(setting.quick)
        return Reproduced(found.ours, found.finding, found.why)


for _name, _check in checks().items():
    _register(_name, _check)
