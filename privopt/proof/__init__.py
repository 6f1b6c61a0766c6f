"""Proof files, which small programs check that import nothing of this package, and what writes them."""
