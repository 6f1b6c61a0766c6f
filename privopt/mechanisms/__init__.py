"""The form of an answer: frozen objects that release data."""

from privopt.mechanisms._base import Mechanism as Mechanism
from privopt.mechanisms._load import mechanism_from_dict as mechanism_from_dict
from privopt.mechanisms._policy_journal import PolicyJournal as PolicyJournal
from privopt.mechanisms._policy_state import PolicyState as PolicyState
from privopt.mechanisms.channel import Channel as Channel
from privopt.mechanisms.colouring import Colouring as Colouring
from privopt.mechanisms.merging import Merging as Merging
from privopt.mechanisms.noisy_query import NoisyQuery as NoisyQuery
from privopt.mechanisms.query import Query as Query
from privopt.mechanisms.redaction import RedactionMechanism as RedactionMechanism
from privopt.mechanisms.sequence_policy import SequencePolicy as SequencePolicy

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
    "mechanism_from_dict",
]
