"""Data sets that do not ship: files in a folder of your own, checked by checksum before use."""

from __future__ import annotations

from privopt.benchmarks.data.external import FOLDER, External, external_sets, load_external

__all__ = ["FOLDER", "External", "external_sets", "load_external"]
