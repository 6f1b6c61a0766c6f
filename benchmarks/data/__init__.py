"""Data sets that ship with the package; LICENCES.md says where each comes from and on what terms."""
