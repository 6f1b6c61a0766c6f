"""Pictures; every public module registers some."""
