"""The problem DistortionPrivacy: declared, judged, certified, bounded."""

from privopt.problems.distortion_privacy.problem import DistortionPrivacy as DistortionPrivacy
