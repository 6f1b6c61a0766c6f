"""The problem PrivacyFunnel: declared, judged, certified, bounded."""

from privopt.problems.privacy_funnel.problem import PrivacyFunnel as PrivacyFunnel
