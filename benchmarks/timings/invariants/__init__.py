"""What must hold whatever the instance; every public module registers some."""
