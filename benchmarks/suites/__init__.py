"""Suites, one self-registering file each; they are found by scanning this folder."""
