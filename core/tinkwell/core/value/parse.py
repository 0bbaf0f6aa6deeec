"""The small values in requests: ids, addresses, names and texts.

Every `parse_*` function takes the path of the field, returns the value in its normal form, and raises
`errors.InvalidField` that says what is wrong with the field and what to write instead.
"""

import ipaddress
import re
from typing import NewType

from tinkwell.core import errors

Revision = NewType("Revision", int)

MAX_NAME_BYTES = 199

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MAC = re.compile(
    r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}"
    r"|[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5}"
    r"|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}"
)
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_PART = re.compile(r"[\w-]{1,100}")
_EVENT_NAME = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Many programs break lines at U+2028 and U+2029, so these can fake a second line like a control character.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MULTILINE_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SHOWN_CHARACTERS = 60


def show(text: str) -> str:
    """Quote a text for a message: shortened, with unprintable characters escaped."""
    shown = "".join('\\"' if character == '"' else _escape(character) for character in text[:_SHOWN_CHARACTERS])
    return f'"{shown}…"' if len(text) > _SHOWN_CHARACTERS else f'"{shown}"'


def excerpt(text: str) -> str:
    """Shorten a text for a message as `show` does, without quotes around it."""
    shown = escape(text[:_SHOWN_CHARACTERS])
    return f"{shown}…" if len(text) > _SHOWN_CHARACTERS else shown


def escape(text: str) -> str:
    """Escape unprintable characters, so that a message can contain the text."""
    return "".join(map(_escape, text))


def child(field: str, part: str | int) -> str:
    """Extend a field's path by a key or an index: `data.a`, `data[0]`, `data["a b"]`."""
    if isinstance(part, int):
        return f"{field}[{part}]"
    if not _PART.fullmatch(part):
        return f"{field}[{show(part)}]"
    return f"{field}.{part}" if field else part


def parse_uuid(field: str, text: str) -> str:
    """Parse a UUID in its 36-character form; returns it in lower case."""
    if not _UUID.fullmatch(text):
        raise errors.InvalidField.of(
            field, f"{show(text)} is not a UUID; write it as 5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
        )
    return text.lower()


def parse_mac(field: str, text: str) -> str:
    """Parse a 48-bit MAC address with colons, dashes or dots (`0050.56c0.0001`); returns `00:50:…`.

    All addresses are allowed: existing files have zeros or multicast addresses for unknown ones.
    """
    if not _MAC.fullmatch(text):
        raise errors.InvalidField.of(field, f"{show(text)} is not a MAC address; write it as 52:54:00:10:00:03")
    digits = re.sub("[:.-]", "", text).lower()
    return ":".join(digits[at : at + 2] for at in range(0, 12, 2))


def parse_ip(field: str, text: str) -> str:
    """Parse an IPv4 or IPv6 address without a zone; returns its shortest form, `::ffff:192.0.2.1` as IPv4."""
    address = _ip_address(text)
    if address is None or "%" in text:
        raise errors.InvalidField.of(
            field, f"{show(text)} is not an IP address; write it as 192.168.56.43 or 2001:db8::2b, without a zone"
        )
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)


def parse_netmask(field: str, text: str) -> str:
    """Parse a netmask in the form of an address (`255.255.255.0`, `ffff:ffff:ffff:ffff::`), ones first."""
    mask = None if "%" in text else _ip_address(text)
    if mask is not None:
        bits = format(int(mask), f"0{mask.max_prefixlen}b")
        if "01" not in bits:
            return str(mask)
    raise errors.InvalidField.of(field, f"{show(text)} is not a netmask; write it as 255.255.255.0")


def parse_text(field: str, text: str, *, max_bytes: int, allow_empty: bool = False, multiline: bool = False) -> str:
    """Check the length of a text, and refuse characters that are harmful in databases, logs and terminals.

    Control characters and lone surrogates are refused; `multiline` allows line ends and tabs.
    """
    if not text and not allow_empty:
        raise errors.InvalidField.of(field, "must not be empty")
    if found := _SURROGATE.search(text):
        raise errors.InvalidField.of(field, f"has the lone surrogate {_escape(found[0])}, which no UTF-8 can hold")
    check_size(field, text, max_bytes=max_bytes)
    if found := (_MULTILINE_CONTROL if multiline else _CONTROL).search(text):
        raise errors.InvalidField.of(field, f"has the control character {_escape(found[0])} at place {found.start()}")
    return text


def check_size(field: str, text: str, *, max_bytes: int) -> None:
    """Refuse a text of more than `max_bytes` in UTF-8."""
    if (size := len(text.encode())) > max_bytes:
        raise errors.InvalidField.of(field, f"has {size:,} bytes; at most {max_bytes:,} are allowed")


def parse_name(field: str, text: str) -> str:
    """Parse a resource's name: letters, digits, `_` and `-`, under 200 bytes."""
    if not _NAME.fullmatch(text) or len(text) > MAX_NAME_BYTES:
        raise errors.InvalidField.of(
            field, f"{show(text)} is not a name; use letters, digits, _ and -, at most {MAX_NAME_BYTES} of them"
        )
    return text


def parse_event_name(field: str, text: str) -> str:
    """Parse an event's name: two or more lower-case words joined by dots, such as `hardware.phone_home`."""
    if not _EVENT_NAME.fullmatch(text) or len(text) > MAX_NAME_BYTES:
        raise errors.InvalidField.of(
            field,
            f"{show(text)} is not an event name; use two or more words of a-z, 0-9 and _ joined by dots, "
            f"such as inventory.changed, at most {MAX_NAME_BYTES} bytes",
        )
    return text


def parse_int_range(field: str, number: object, *, low: int, high: int) -> int:
    """Check that a number is an integer from `low` to `high`, both included."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise errors.InvalidField.of(field, f"must be an integer from {low:,} to {high:,}")
    if not low <= number <= high:
        raise errors.InvalidField.of(field, f"is {number:,}; it must be from {low:,} to {high:,}")
    return number


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
