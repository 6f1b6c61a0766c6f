"""The problem MetricPrivacy: declared, judged, certified, bounded."""

from privopt.problems.metric_privacy.problem import MetricPrivacy as MetricPrivacy
