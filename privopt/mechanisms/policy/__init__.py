"""Policies that release sequences letter by letter."""
