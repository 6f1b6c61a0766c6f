"""Data sets that ship with the package; LICENCES.md says where each comes from and on what terms."""

from privopt.core.folders import own_folders

__path__ += own_folders("data")
