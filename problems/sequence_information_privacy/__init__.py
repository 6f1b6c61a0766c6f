"""The problem SequenceInformationPrivacy: declared, judged, certified, bounded."""

from privopt.problems.sequence_information_privacy.problem import (
    SequenceInformationPrivacy as SequenceInformationPrivacy,
)
