"""The small values: what is accepted, its one normal form, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.value import parse

ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"


def description_of(refused: pytest.ExceptionInfo[errors.InvalidField]) -> str:
    (violation,) = refused.value.violations
    assert violation.field == "some.field"
    return violation.description


@pytest.mark.parametrize("text", [ID, ID.upper()])
def test_a_uuid_comes_back_in_lower_case(text: str) -> None:
    assert parse.parse_uuid("some.field", text) == ID


@pytest.mark.parametrize(
    "text", ["", "x", f"urn:uuid:{ID}", f"{{{ID}}}", ID.replace("-", ""), f" {ID}", f"{ID}\n", ID[:-1], f"{ID[:-1]}g"]
)
def test_what_is_not_a_uuid_of_36_characters_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_uuid("some.field", text)
    assert "is not a UUID" in description_of(refused)


@pytest.mark.parametrize(
    "text", ["52:54:00:1a:00:03", "52:54:00:1A:00:03", "52-54-00-1a-00-03", "5254.001a.0003", "5254.001A.0003"]
)
def test_a_mac_comes_back_in_lower_case_with_colons(text: str) -> None:
    assert parse.parse_mac("some.field", text) == "52:54:00:1a:00:03"


@pytest.mark.parametrize("text", ["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:fb"])
def test_every_48_bits_are_a_mac(text: str) -> None:
    assert parse.parse_mac("some.field", text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "52:54:00:1a:00", "52:54:00:1a:00:03:04", "52:54:0:1a:0:3", "525400100003", "52:54-00:1a:00:03"),
        *(
            "52:54:00:1a:00:0g",
            "52:54:00:1a:00:03\n",
            '52:54:00:1a:00:0"',
            "02:00:5e:10:00:00:00:01",
            "٥٢:54:00:1a:00:03",
        ),
    ],
)
def test_what_is_not_a_mac_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_mac("some.field", text)
    assert "is not a MAC address" in description_of(refused)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("192.168.56.43", "192.168.56.43"),
        ("2001:DB8:0:0:0:0:0:2B", "2001:db8::2b"),
        ("::", "::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
    ],
)
def test_an_ip_address_comes_back_in_its_shortest_form(text: str, normal: str) -> None:
    assert parse.parse_ip("some.field", text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "192.168.56",
        "192.168.056.43",
        "192.168.56.256",
        "fe80::1%eth0",
        "10.0.0.0/8",
        "1.2.3.4\n",
        "١.2.3.4",
    ],
)
def test_what_is_not_an_ip_address_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_ip("some.field", text)
    assert "is not an IP address" in description_of(refused)


@pytest.mark.parametrize("text", ["255.255.255.0", "255.255.255.255", "0.0.0.0", "ffff:ffff:ffff:ffff::"])
def test_a_netmask_has_its_ones_first(text: str) -> None:
    assert parse.parse_netmask("some.field", text) == text


@pytest.mark.parametrize("text", ["", "24", "/24", "255.0.255.0", "0.0.0.255", "ffff::1", "fe80::%eth0"])
def test_what_is_not_a_netmask_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_netmask("some.field", text)
    assert "is not a netmask" in description_of(refused)


@pytest.mark.parametrize("text", ["a", "ubuntu_focal-2", "0", "a" * 199])
def test_a_name_is_letters_digits_underscores_and_dashes(text: str) -> None:
    assert parse.parse_name("some.field", text) == text


@pytest.mark.parametrize("text", ["", "a b", "a.b", "é", "a\n", "a" * 200, "%"])
def test_what_is_not_a_name_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_name("some.field", text)
    assert "is not a name" in description_of(refused)


@pytest.mark.parametrize("text", ["workflow.timeout", "hardware.phone_home", "a.b.c", "0.1", f"a.{'b' * 197}"])
def test_an_event_name_is_words_joined_by_dots(text: str) -> None:
    assert parse.parse_event_name("some.field", text) == text


@pytest.mark.parametrize("text", ["", "workflow", "a.", ".a", "a..b", "A.b", "a.b-c", "a.b\n", f"a.{'b' * 198}"])
def test_what_is_not_an_event_name_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_event_name("some.field", text)
    assert "is not an event name" in description_of(refused)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must not be empty"),
        ("a" * 11, "has 11 bytes; at most 10"),
        ("é" * 6, "has 12 bytes; at most 10"),
        ("a\0b", "control character \\u0000"),
        ("a\nb", "control character \\u000a"),
        ("\x1b[2J", "control character \\u001b"),
        ("a\x7f", "control character \\u007f"),
        ("a\x9b", "control character \\u009b"),
        ("a\u2028b", "control character \\u2028"),
        ("\ud800", "lone surrogate \\ud800"),
    ],
)
def test_a_text_that_does_harm_is_refused(text: str, problem: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_text("some.field", text, max_bytes=10)
    assert problem in description_of(refused)


@pytest.mark.parametrize("text", ["héllo", "é" * 5, "a b", "\U0001f600"])
def test_an_ordinary_text_comes_back_as_it_is(text: str) -> None:
    assert parse.parse_text("some.field", text, max_bytes=10) == text


def test_a_text_may_be_empty_or_have_lines_only_where_that_is_allowed() -> None:
    assert parse.parse_text("some.field", "", max_bytes=10, allow_empty=True) == ""
    assert parse.parse_text("some.field", "a\tb\r\nc\n", max_bytes=10, multiline=True) == "a\tb\r\nc\n"
    with pytest.raises(errors.InvalidField):
        parse.parse_text("some.field", "a\x0bb", max_bytes=10, multiline=True)


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (-1, "is -1; it must be from 0 to 9"),
        (10, "is 10;"),
        (True, "must be an integer"),
        (1.0, "must be an integer"),
        ("1", "must be an integer"),
        (None, "must be an integer"),
    ],
)
def test_what_is_not_an_integer_of_the_range_is_refused(number: object, problem: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        parse.parse_int_range("some.field", number, low=0, high=9)
    assert problem in description_of(refused)


@pytest.mark.parametrize("number", [0, 9])
def test_both_ends_of_a_range_belong_to_it(number: int) -> None:
    assert parse.parse_int_range("some.field", number, low=0, high=9) == number


@pytest.mark.parametrize(
    ("part", "path"),
    [("b", "a.b"), (0, "a[0]"), ("b-c", "a.b-c"), ("b c", 'a["b c"]'), ("", 'a[""]'), ('"\n', 'a["\\"\\u000a"]')],
)
def test_a_path_shows_every_key_on_one_line(part: str | int, path: str) -> None:
    assert parse.child("a", part) == path


@given(st.text())
def test_a_shown_text_is_short_and_prints(text: str) -> None:
    shown = parse.show(text)
    assert shown.isprintable()
    assert len(shown) <= 60 * len("\\U0001f600") + len('""…')


@given(st.ip_addresses())
def test_parsing_a_parsed_address_changes_nothing(address: object) -> None:
    once = parse.parse_ip("ip", str(address).partition("%")[0])
    assert parse.parse_ip("ip", once) == once
