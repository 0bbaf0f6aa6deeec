"""What is taken out of texts that people read."""

import base64
import json
import urllib.parse

import pytest

from tinkwell.core.process_log.redaction import MAX_SECRETS, Redactor

SECRET = 'c4n4ry/p4ss & w"rd\\'


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        f"before{SECRET}after",
        repr(SECRET),
        repr([SECRET]),
        json.dumps(SECRET),
        urllib.parse.quote(SECRET),
        urllib.parse.quote(SECRET, safe=""),
        urllib.parse.quote_plus(SECRET),
    ],
)
def test_a_secret_is_hidden_however_a_library_writes_it(written: str) -> None:
    redactor = Redactor()
    redactor.register(SECRET)
    hidden = redactor.redact(f"a {written} b")
    assert "c4n4ry" not in hidden
    assert hidden.startswith("a ")
    assert hidden.endswith(" b")
    assert "***" in hidden


def test_a_secret_that_was_given_escaped_is_hidden_where_it_is_not() -> None:
    redactor = Redactor()
    redactor.register("/hook%2Fc4n4ry?x=%C3%A9")
    assert redactor.redact("POST /hook/c4n4ry?x=é failed") == "POST *** failed"


def test_of_two_secrets_the_longer_one_is_hidden_whole() -> None:
    redactor = Redactor()
    redactor.register("c4n4ry-1", "c4n4ry-1-and-more")
    assert redactor.redact("c4n4ry-1-and-more c4n4ry-1") == "*** ***"


def test_each_line_of_a_secret_file_is_hidden() -> None:
    redactor = Redactor()
    redactor.register("first line\nsecond line\n")
    assert redactor.redact("second line, first line") == "***, ***"


@pytest.mark.parametrize("word", ["", "a", "secret"])
def test_what_is_too_short_to_be_told_from_words_is_left(word: str) -> None:
    redactor = Redactor()
    redactor.register(word)
    assert redactor.redact("a secret") == "a secret"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("nats://me:pw@h:4222,nats://b", "nats://me:***@h:4222,nats://b"),
        ("to postgresql://u:p%40w@[::1]:5/d?x=a@b", "to postgresql://u:***@[::1]:5/d?x=a@b"),
        ("https://:pw@h/", "https://:***@h/"),
        ("http://h:80/a@b", "http://h:80/a@b"),
        ("user@host:22", "user@host:22"),
    ],
)
def test_a_password_in_a_url_is_hidden_though_nobody_registered_it(text: str, redacted: str) -> None:
    assert Redactor().redact(text) == redacted


def test_secrets_that_change_all_the_time_do_not_fill_the_memory() -> None:
    redactor = Redactor()
    redactor.register(*(base64.b32encode(bytes([number // 256, number % 256] * 4)).decode() for number in range(5_000)))
    redactor.register("the newest one")
    assert redactor.redact("the newest one") == "***"
    assert len(redactor._secrets) == MAX_SECRETS


def test_a_text_passes_through_what_others_hide_until_they_leave() -> None:
    redactor = Redactor()
    leave = redactor.also(lambda text: text.replace("hunter", "•••"))
    also = redactor.also(lambda text: text.replace("22", "°"))
    assert redactor.redact("hunter22") == "•••°"
    leave()
    assert redactor.redact("hunter22") == "hunter°"
    leave()
    also()
    assert redactor.redact("hunter22") == "hunter22"
