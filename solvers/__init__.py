"""Algorithms, one a file, in one folder a question; they propose and are never believed."""
