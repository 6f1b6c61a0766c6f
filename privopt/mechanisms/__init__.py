"""The form of an answer: frozen objects that release data."""

from privopt.mechanisms._base import Mechanism as Mechanism
from privopt.mechanisms._load import mechanism_from_dict as mechanism_from_dict
from privopt.mechanisms.channel import Channel as Channel
from privopt.mechanisms.colouring import Colouring as Colouring
from privopt.mechanisms.merging import Merging as Merging
from privopt.mechanisms.redaction import RedactionMechanism as RedactionMechanism

__all__ = ["Channel", "Colouring", "Mechanism", "Merging", "RedactionMechanism", "mechanism_from_dict"]
