"""Questions, one a file: the data, the objective, the judgement; never a search."""
