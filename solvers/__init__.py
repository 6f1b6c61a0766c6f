"""Algorithms, one a file, in one folder a problem; they propose and are never believed."""

from privopt.core.folders import own_folders

__path__ += own_folders("solvers")
