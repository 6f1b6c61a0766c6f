"""Peers: what a user would pick instead of privopt, one self-registering file a tool; found by scanning this folder."""
