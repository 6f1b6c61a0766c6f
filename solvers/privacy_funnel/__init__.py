"""Solvers for the privacy funnel: mergings and channels that say much of X and little of S."""
