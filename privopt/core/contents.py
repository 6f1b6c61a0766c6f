"""By which a ledger knows its data: keyed hashes of the columns that were read, beside a label."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from privopt.errors import FileRefused, InvalidMechanism

OTHER_DATA = (
    "this ledger is for other data than {!r}; open theirs. Answers about the same people share a ledger if all read one file: "
    "leave rows out of it once, before the first"
)
"""What is said of a file whose columns a ledger does not know."""


def _salt() -> str:
    return secrets.token_hex(32)


@dataclass(frozen=True)
class Contents:
    """Keyed hashes of columns, each by the name under which it was read first.

    Parameters
    ----------
    digests : mapping of names to hexadecimal texts
    salt : str
        The key of the hashes.

    Examples
    --------
    >>> contents = Contents().read({"age": ["31", "40"]}, "people.csv", True)
    >>> contents.read({"age": ["31", "40"]}, "copy.csv", False) == contents
    True
    """

    digests: Mapping[str, str] = field(default_factory=dict)
    salt: str = field(default_factory=_salt)

    def read(self, columns: Mapping[str, Sequence[str]], data: str, labelled: bool) -> Self:
        """What is known after some columns are read.

        Parameters
        ----------
        columns : mapping of names to cells
        data : str
            The label of the data, for messages.
        labelled : bool
            Whether the data have the label of those that are known; if not, each column must be a known one.

        Raises
        ------
        InvalidMechanism
            If these are other data, or a column has changed.
        """
        now = {name: self._digest(cells) for name, cells in columns.items()}
        if not labelled and not set(now.values()) <= set(self.digests.values()):
            raise InvalidMechanism(OTHER_DATA.format(data))
        changed = [name for name, digest in now.items() if self.digests.get(name, digest) != digest]
        if changed:
            raise InvalidMechanism(
                f"the column {changed[0]!r} of {data!r} is not the one that this ledger was charged for: its cells have changed. "
                "What several answers leak together is proved for the same records: give the column as it was, or, for other "
                "records, another ledger"
            )
        return replace(self, digests={**self.digests, **now})

    def _digest(self, cells: Sequence[str]) -> str:
        key, content = bytes.fromhex(self.salt), json.dumps(list(cells)).encode()
        return hmac.new(key, content, hashlib.sha256).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        return {"salt": self.salt, "columns": dict(self.digests)}

    @classmethod
    def from_dict(cls, fields: object) -> Self:
        """What :meth:`to_dict` wrote, or nothing where an earlier version wrote none.

        Raises
        ------
        FileRefused
            If it is not of that form.
        """
        if fields is None:
            return cls()
        digests = fields.get("columns") if isinstance(fields, Mapping) else None
        if not isinstance(fields, Mapping) or not isinstance(digests, Mapping):
            raise FileRefused("the contents of a ledger are a salt and the hashes of columns")
        for text in (fields.get("salt"), *digests.values()):
            if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{64}", text):
                raise FileRefused("the contents of a ledger are no hexadecimal hashes")
        return cls(dict(digests), fields["salt"])
