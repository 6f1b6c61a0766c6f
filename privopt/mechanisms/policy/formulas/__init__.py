"""The formulas of the rules: how each turns a belief into a kernel, by arithmetic or by a small optimisation."""
