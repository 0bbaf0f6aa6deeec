"""What is sealed opens with its key, at its place, and as it was, or not at all."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.server.secret import seal
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.seal import Owner, Place

FIRST, SECOND = Key.of(b"\1" * 32), Key.of(b"\2" * 32)
BOTH = Keys([FIRST, SECOND])
PLACE = Place(Owner("operation", "o1"), "source", "/variables/password")
VALUE = b'"hunter22"'


def test_a_sealed_value_has_version_key_and_nonce_before_it_and_nothing_of_the_value() -> None:
    sealed = seal.seal(FIRST, PLACE, VALUE)
    assert sealed[:9] == b"\1" + FIRST.id
    assert len(sealed) == 1 + 8 + 12 + len(VALUE) + 16
    assert b"hunter" not in sealed
    assert seal.open_sealed(BOTH, PLACE, sealed) == VALUE


def test_the_same_value_is_never_sealed_to_the_same() -> None:
    assert len({seal.seal(FIRST, PLACE, VALUE) for _ in range(100)}) == 100


def test_every_key_of_the_file_opens_what_it_has_sealed() -> None:
    for key in (FIRST, SECOND):
        assert seal.open_sealed(BOTH, PLACE, seal.seal(key, PLACE, VALUE)) == VALUE


def test_a_key_that_is_not_there_is_named() -> None:
    sealed = seal.seal(SECOND, PLACE, VALUE)
    with pytest.raises(errors.SecretsDisabled, match=f"key file lacks the key {SECOND.id.hex()}"):
        seal.open_sealed(Keys([FIRST]), PLACE, sealed)


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(PLACE, owner=Owner("release_revision", "o1")),
        dataclasses.replace(PLACE, owner=Owner("operation", "o2")),
        dataclasses.replace(PLACE, document="manifest"),
        dataclasses.replace(PLACE, pointer="/variables/passwor"),
        dataclasses.replace(PLACE, pointer=""),
    ],
)
def test_at_another_place_it_does_not_open(other: Place) -> None:
    with pytest.raises(seal.NotOpened, match="was changed, or was sealed for another place"):
        seal.open_sealed(BOTH, other, seal.seal(FIRST, PLACE, VALUE))


def test_no_changed_bit_goes_unnoticed() -> None:
    sealed = seal.seal(FIRST, PLACE, VALUE)
    for byte, bit in itertools.product(range(len(sealed)), range(8)):
        changed = bytearray(sealed)
        changed[byte] ^= 1 << bit
        with pytest.raises((seal.NotOpened, errors.SecretsDisabled)) as refused:
            seal.open_sealed(BOTH, PLACE, bytes(changed))
        assert "hunter" not in str(refused.value)
    # Under the id of another key that is known it does not open either.
    with pytest.raises(seal.NotOpened):
        seal.open_sealed(BOTH, PLACE, sealed[:1] + SECOND.id + sealed[9:])


def test_no_part_of_it_opens() -> None:
    sealed = seal.seal(FIRST, PLACE, b"")
    assert seal.open_sealed(BOTH, PLACE, sealed) == b""
    for length in range(len(sealed)):
        with pytest.raises(seal.NotOpened):
            seal.open_sealed(BOTH, PLACE, sealed[:length])
    with pytest.raises(seal.NotOpened):
        seal.open_sealed(BOTH, PLACE, sealed + b"\0")


WORDS = st.text(max_size=5)
PLACES = st.builds(Place, st.builds(Owner, WORDS, WORDS), WORDS, WORDS)


@given(PLACES, PLACES)
def test_different_places_have_different_data(one: Place, other: Place) -> None:
    assert (one == other) == (one.associated_data == other.associated_data)


@given(st.binary(max_size=200), PLACES)
def test_any_value_survives_the_round_trip(value: bytes, place: Place) -> None:
    assert seal.open_sealed(BOTH, place, seal.seal(SECOND, place, value)) == value
