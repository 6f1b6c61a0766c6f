"""A folder of one's own to begin with: one data set, one solver, one suite."""
