"""Solvers of the privacy funnel and the information bottleneck."""
