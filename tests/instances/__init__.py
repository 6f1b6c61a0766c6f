"""Instances and helpers that several tests share."""
