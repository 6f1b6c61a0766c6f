"""The tools that are asked; every public module registers some."""
