"""Drawings of released mechanisms: one file a type of mechanism, found by scanning this folder."""
