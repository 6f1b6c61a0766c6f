"""The problem Redaction: declared, judged, certified, bounded."""

from privopt.problems.redaction.problem import Redaction as Redaction
