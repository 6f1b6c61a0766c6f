"""Markov chains: how successive records depend on each other."""
