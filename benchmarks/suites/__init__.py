"""Suites, one self-registering file each; they are found by scanning this folder."""

from privopt.core.folders import own_folders

__path__ += own_folders("suites")
