"""The vertex form: every vertex of the polytope of allowed posteriors, and their best mixture."""
