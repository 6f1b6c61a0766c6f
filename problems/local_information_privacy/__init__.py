"""The problem LocalInformationPrivacy: declared, judged, certified, bounded."""

from privopt.problems.local_information_privacy.problem import (
    LocalInformationPrivacy as LocalInformationPrivacy,
)
