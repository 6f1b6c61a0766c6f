"""Measurements and headlines; every public module registers some."""
