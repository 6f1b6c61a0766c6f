"""Where many users stand with one policy: one file, with all that was released to them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from privopt.errors import FileRefused, InvalidModel
from privopt.files.json import read_json, writing
from privopt.files.labels import Label, decode_labels, encode_labels
from privopt.mechanisms import SequencePolicy
from privopt.mechanisms.policy.journal import document, read_document
from privopt.mechanisms.policy.state import PolicyState


@dataclass
class Account:
    """One user: where the policy stands, and every letter released so far."""

    state: PolicyState
    released: list[Label] = field(default_factory=list)


@dataclass
class Journals:
    """The accounts of all users with one policy.

    A run records what it drew here before it writes any of it elsewhere, and a letter that is recorded is never drawn
    again: the same command run twice gives the same releases. The file holds no raw letter.

    Parameters
    ----------
    path : Path
    policy : SequencePolicy
    accounts : dict by user
    """

    path: Path
    policy: SequencePolicy
    accounts: dict[str, Account]

    @classmethod
    def open(cls, path: Path, policy: SequencePolicy) -> Self:
        """The accounts in a file; none if it does not exist.

        Raises
        ------
        FileRefused
            If it is not of this form, or of another policy.
        """
        found = cls(path, policy, {})
        if not path.exists():
            return found
        fields = read_json(path)
        if fields.get("type") != "policy_journals" or fields.get("version") != 1:
            raise FileRefused(f"{path}: is not a file of policy journals; give another --state")
        if fields.get("policy") != policy.fingerprint:
            raise FileRefused(f"{path}: holds the journals of another policy; give another --state")
        users = fields.get("users")
        if not isinstance(users, dict):
            raise FileRefused(f"{path}: has no users")
        found.accounts = {name: _account(f"{path}: user {name!r}", policy, users[name]) for name in users}
        return found

    def of(self, user: str) -> Account:
        """The account of a user, begun if there is none."""
        return self.accounts.get(user) or Account(self.policy.start())

    def write(self) -> None:
        """Replace the file whole; on return it is on the disk."""
        key = self.policy.fingerprint
        users = {name: _plain(key, account, self.policy.batch) for name, account in self.accounts.items()}
        with writing(self.path) as stream:
            json.dump(
                {"type": "policy_journals", "version": 1, "policy": key, "users": users},
                stream,
                allow_nan=False,
            )
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that the new name survives a loss of power
        finally:
            os.close(folder)


def _plain(policy: str, account: Account, batch: int) -> dict[str, Any]:
    word = tuple(account.released[-batch:])
    last = None if not word else (word[0] if batch == 1 else word)
    return {**document(policy, account.state, last), "released": encode_labels(account.released)}


def _account(what: str, policy: SequencePolicy, fields: object) -> Account:
    if not isinstance(fields, Mapping):
        raise FileRefused(f"{what}: is not a journal")
    state, _ = read_document(fields, what, policy.fingerprint, policy.chain.k)
    try:
        released = list(decode_labels(fields.get("released"), "released"))
    except InvalidModel as cause:
        raise FileRefused(f"{what}: {cause}") from cause
    if len(released) != state.step * policy.batch or state.ended:
        raise FileRefused(f"{what}: {len(released)} releases do not make {state.step} steps")
    return Account(state, released)
