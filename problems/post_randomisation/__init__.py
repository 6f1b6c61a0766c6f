"""The problem PostRandomisation: declared, judged, certified, bounded."""

from privopt.problems.post_randomisation.problem import PostRandomisation as PostRandomisation
