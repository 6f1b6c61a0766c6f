"""The form of an answer: frozen objects that release data."""

from privopt.mechanisms.base import Mechanism as Mechanism
from privopt.mechanisms.channel import Channel as Channel
from privopt.mechanisms.colouring import Colouring as Colouring
from privopt.mechanisms.load import is_stored_kind as is_stored_kind
from privopt.mechanisms.load import mechanism_from_dict as mechanism_from_dict
from privopt.mechanisms.merging import Merging as Merging
from privopt.mechanisms.noise.noisy_query import NoisyQuery as NoisyQuery
from privopt.mechanisms.noise.statistics import Query as Query
from privopt.mechanisms.policy.journal import PolicyJournal as PolicyJournal
from privopt.mechanisms.policy.journal import PolicyState as PolicyState
from privopt.mechanisms.policy.policy import SequencePolicy as SequencePolicy
from privopt.mechanisms.redaction import RedactionMechanism as RedactionMechanism

__all__ = [
    "Channel",
    "Colouring",
    "Mechanism",
    "Merging",
    "NoisyQuery",
    "PolicyJournal",
    "PolicyState",
    "Query",
    "RedactionMechanism",
    "SequencePolicy",
    "is_stored_kind",
    "mechanism_from_dict",
]
