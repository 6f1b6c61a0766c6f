"""The problem PointwiseMaximalLeakage: local information privacy that bounds one side."""

from privopt.problems.pointwise_maximal_leakage.problem import (
    PointwiseMaximalLeakage as PointwiseMaximalLeakage,
)
