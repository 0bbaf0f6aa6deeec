"""Seals a value to its place, and opens it there and nowhere else.

    version (1 byte) · id of the key (8) · nonce (12) · what AES-256-GCM makes of the value (as many as it has, and 16)

The place is the associated data: a sealed value that was moved to another row does not open. Nonces are random, so that
a key should seal at most 2³² values.
"""

import json
import os
from dataclasses import dataclass

from cryptography import exceptions
from cryptography.hazmat.primitives.ciphers import aead

from tinkwell.core import errors
from tinkwell.server.secret import keys
from tinkwell.server.secret.keys import Key, Keys

_VERSION = 1
_NONCE_BYTES = 12
_TAG_BYTES = 16
_ID_END = 1 + keys.ID_BYTES
_HEAD_BYTES = _ID_END + _NONCE_BYTES
_TABLE = "sealed_value"


class NotOpened(Exception):
    """The stored value was not sealed for this place: it was changed, moved, or cut off."""


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """The owner of documents: the name of a table, and an id in it, in the form that the table's room uses."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place of a value: a document of an owner, and a JSON pointer."""

    owner: Owner
    document: str
    pointer: str

    @property
    def associated_data(self) -> bytes:
        """The place as bytes that no other place has."""
        row = [_TABLE, _VERSION, self.owner.kind, self.owner.id, self.document, self.pointer]
        return json.dumps(row).encode()


@dataclass(frozen=True, slots=True)
class Sealed:
    """The number of values that are sealed of a document of an owner."""

    owner: Owner
    document: str
    values: int


def seal(key: Key, place: Place, value: bytes) -> bytes:
    """Seal a value for its place."""
    nonce = os.urandom(_NONCE_BYTES)
    sealed = aead.AESGCM(key.sealing).encrypt(nonce, value, place.associated_data)
    return bytes([_VERSION]) + key.id + nonce + sealed


def open_sealed(known: Keys, place: Place, sealed: bytes) -> bytes:
    """Open a value that was sealed for a place.

    Raises `NotOpened`, and `errors.SecretsDisabled` if the key is not known.
    """
    if len(sealed) < _HEAD_BYTES + _TAG_BYTES or sealed[0] != _VERSION:
        raise NotOpened(f"{place}: this is no sealed value of version {_VERSION}")
    key = known.find(sealed[1:_ID_END])
    if key is None:
        raise errors.SecretsDisabled(
            f"this server's key file lacks the key {sealed[1:_ID_END].hex()}, which has sealed what is asked for"
        )
    try:
        return aead.AESGCM(key.sealing).decrypt(
            sealed[_ID_END:_HEAD_BYTES], sealed[_HEAD_BYTES:], place.associated_data
        )
    except exceptions.InvalidTag as error:
        raise NotOpened(f"{place}: what is stored there was changed, or was sealed for another place") from error
