"""Column generation over posteriors, for questions that weigh one entropy of a posterior against another."""
