"""Problems, a folder each: the data, the objective, the judgement; never a search."""

from privopt.core.folders import own_folders

__path__ += own_folders("problems")
