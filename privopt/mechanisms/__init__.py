"""The form of an answer: frozen objects that release data."""

from privopt.mechanisms._base import Mechanism as Mechanism
from privopt.mechanisms._load import mechanism_from_dict as mechanism_from_dict
from privopt.mechanisms.redaction import RedactionMechanism as RedactionMechanism

__all__ = ["Mechanism", "RedactionMechanism", "mechanism_from_dict"]
