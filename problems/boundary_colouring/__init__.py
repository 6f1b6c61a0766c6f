"""The problem BoundaryColouring: declared, judged, certified, bounded."""

from privopt.problems.boundary_colouring.problem import BoundaryColouring as BoundaryColouring
