"""The problem BayesianPrivacy: declared, judged, certified, bounded."""

from privopt.problems.bayesian_privacy.problem import BayesianPrivacy as BayesianPrivacy
