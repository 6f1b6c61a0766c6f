"""The problem InformationBottleneck: declared, judged, certified, bounded."""

from privopt.problems.information_bottleneck.problem import InformationBottleneck as InformationBottleneck
