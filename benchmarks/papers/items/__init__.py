"""What the papers print, item by item; every public module registers some."""
