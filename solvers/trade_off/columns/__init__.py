"""Column generation over posteriors, for problems that weigh one entropy of a posterior against another."""
