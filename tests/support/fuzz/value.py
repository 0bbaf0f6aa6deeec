"""What is put into single fields: what might exist, what is at the edge of its type, and what is dear to read."""

import base64
import json
import random
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from support import chart_archive

_MEBIBYTE = 1 << 20

MACS = ("52:54:00:10:00:0a", "52-54-00-10-00-0A", "52:54:00:10:00:0B", "525400100000", "00:00:00:00:00:00", "zz:zz")
IPS = ("192.168.56.43", "2001:db8::2b", "2001:0db8:0000:0000:0000:0000:0000:002b", "::", "0.0.0.0", "fe80::1%eth0")
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Known:
    """What there is on the server, so that requests get beyond the first look: ids, and names of all kinds."""

    ids: Sequence[str] = (UNKNOWN_ID,)
    names: Sequence[str] = ("a",)


def _nested(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


def _template(action: str, *, name: str = "t") -> str:
    return f'version: "0.1"\nname: {name}\ntasks:\n- name: a\n  worker: "{{{{.device_1}}}}"\n  actions:\n  - {action}\n'


_ODD = (
    *("", " ", "a", "-", ".", "..", "/", "../../etc/passwd", "%00", "%s%n%x", "null", "true", "None", "0", "-1", "NaN"),
    *("\x00", "a\x00b", "\r\n", "\u202e", "\ufeff", "\u2028", "\U0010ffff", "e\u0301" * 500, "\x1b[2J", "\x7f\x80\x9f"),
    *("'; DROP TABLE events; --", '"', "\\", "$1", "{{", "}}", "{{.device_1}}", "${HOME}", "`id`", "x" * 70_000),
    *("1e400", "9" * 5_000, "-" * 5_000, "0x10", "1_000", "٣", "²"),
)
_JSON = (
    *("{}", "[]", "null", "1", '""', "{", '{"a":', '{"a":1,"a":2}', '{"a":"\\ud800"}', '{"\\u0000":1}', '{"a":NaN}'),
    *(
        '{"a":1e400}',
        '{"a":1e308}',
        '{"a":-0.0}',
        '{"a":1e-320}',
        f'{{"a":{"9" * 5_000}}}',
        '{"a":18446744073709551616}',
    ),
    *(_nested("[", "]", 50_000), _nested('{"a":', "}", 2_000) + "1", '{"a":' * 90 + "1" + "}" * 90),
    json.dumps({f"k{index}": index for index in range(20_000)}),
    json.dumps({"device_1": MACS[0], "device_2": MACS[2]}),
    json.dumps({"device_1": "x" * 100_000, "a": [{}] * 10_000}),
)
_YAML = (
    *(
        "a: &a [*a]",
        "a: *b",
        "- " * 5_000,
        "a:\tb",
        "!!python/object/apply:os.system [id]",
        "? " * 3_000,
        "%YAML 9.9\n---\n",
    ),
    "\n".join(["a0: &a0 [x,x,x,x,x,x,x,x,x]", *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]),
    *(
        "{" * 3_000,
        "- a: |\n" + "   x\n" * 50_000,
        '"\\x00"',
        "a: 0x" + "f" * 5_000,
        "2001-99-99",
        "<<: {a: b}\n<<: {c: d}",
    ),
    "\n".join(f"k{index}: v" for index in range(20_000)),
)
_TEMPLATES = (
    _template("{name: b, image: c, timeout: 60}"),
    _template("{name: b, image: c, command: [sh, -c, 'exit 1'], environment: {A: B}}"),
    _template('{name: b, image: "{{ range $i, $e := .l }}{{ $e }}{{ end }}"}'),
    _template('{name: b, image: c, command: ["{{ printf \\"%1000000d\\" 1 }}"]}'),
    "{{ range .a }}{{ range $ }}{{ range $ }}{{ range $ }}x{{ end }}{{ end }}{{ end }}{{ end }}",
    '{{ $a := "x" }}' + "{{ $a = print $a $a }}" * 40 + "{{ $a }}",
    '{{ $a := "\u202e" }}' + "{{ $a = print $a $a }}" * 14 + '{{ $a = printf "%q" $a }}' * 12 + "{{ $a }}",
    *(
        "{{ if " * 3_000,
        "{{ (" * 3_000,
        "{{ `" + "x" * 50_000 + "` }}",
        "{{ . | . | . }}",
        "{{/*",
        '{{ template "a" }}',
    ),
    '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    '{{ printf "%*d" 100000000 1 }}{{ index . 99999999999999999999 }}{{ slice "abc" 1 99 }}',
    "{{ len " * 200 + "1" + " }}" * 200,
    *("{{ ((((((((((1)))))))))) }}", "{{ 1e999999 }}", "{{ 0x" + "f" * 1_000 + " }}", "{{ '\\xff' }}", "{{ html " * 20),
)
_MANIFESTS = (
    "resources:\n  db: {type: acme/db:1, config: {size: 1}}\n",
    "resources:\n" + "".join(f"  r{n}: {{type: a/b:1, needs: [r{(n + 1) % 900}]}}\n" for n in range(900)),
    "resources: {a: {type: 'x', config: '{{ values | values }}'}}\n",
)
_HUGE: Sequence[Callable[[random.Random], str]] = (
    lambda chance: "x" * (3 * _MEBIBYTE),
    lambda chance: "\u202e" * _MEBIBYTE,
    lambda chance: json.dumps({"a": ["y" * chance.randrange(1_000)] * 2_000})[: 3 * _MEBIBYTE],
    lambda chance: "- a\n" * (700 * 1024),
    lambda chance: _nested("[", "]", _MEBIBYTE),
    lambda chance: "{{.a}}" * 500_000,
)
_BYTES = (
    *(b"", b"\x00", b"\xff" * 1_000, b"\x1f\x8b\x08\x00" + b"\x00" * 100, b"PK\x03\x04", b"x" * 70_000),
    chart_archive.packed(),
    chart_archive.packed(template="{% for i in range(100000000) %}x{% endfor %}"),
    chart_archive.packed(values={"a": "b" * 100_000}),
    base64.b64decode("H4sIAAAAAAACA+3BMQEAAADCoPVPbQwfoAAAAAAAAAAAAAAAAAAAAIC3AYbSVKsAQAAA"),
)
_WHOLE = {
    32: (0, 1, -1, 2, 100, 2**31 - 1, -(2**31)),
    64: (0, 1, -1, 2, 100, 1_000_000, 2**31, 2**32, 2**53 + 1, 2**63 - 1, -(2**63)),
}
_UNSIGNED = {32: (0, 1, 2**31, 2**32 - 1), 64: (0, 1, 2**63, 2**64 - 1)}
_FLOATS = (0.0, -0.0, 1.0, -1.0, 5e-324, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf"), 1e-9)
_BY_NAME: Mapping[str, Sequence[str]] = {
    "mac": MACS,
    "ip": IPS,
    "address": IPS,
    "hardware": _JSON,
    "metadata": _JSON,
    "values": _JSON + _YAML,
    "data": _TEMPLATES + _JSON + _YAML,
    "template": _TEMPLATES,
    "text": _MANIFESTS + _YAML,
    "manifest": _MANIFESTS,
    "names": ("hardware.created", "workflow.*", "*", "a.b", "A" * 101, "..", "a..b"),
}
# What is right there, as far as a name tells.
_FITTING: Mapping[str, Sequence[str]] = {
    "mac": MACS[:3],
    "ip": IPS[:3],
    "address": IPS[:2],
    "hardware": (json.dumps({"device_1": MACS[0]}),),
    "metadata": ("{}", '{"a": 1}', '{"a":' * 90 + "1" + "}" * 90),
    "values": ("", "size: 1", "{}"),
    "data": _TEMPLATES[:6],
    "template": (*_TEMPLATES[:3], "known"),
    "text": _MANIFESTS[:2],
    "manifest": _MANIFESTS[:2],
    "names": ("hardware.created", "workflow.started"),
    "namespace": ("default", ""),
    "owner": ("owner", "another", "web/0", "pg/1", "web"),
    "unit": ("web/0", "web/1", "pg/0"),
    "application": ("web", "pg"),
    "first": ("web", "web:db"),
    "second": ("pg", "pg:db"),
    "storage": ("data/0", "data"),
    "config": ("{}", '{"workers": 3}', '{"title": "x"}'),
    "parameters": ("", "{}"),
    "result": ("", "{}"),
    "handler": ("Web.changed",),
    "event": ("{}", '{"kind": "start"}'),
    "level": ("INFO", "ERROR"),
    "protocol": ("tcp", "icmp"),
    "kinds": ("install", "secret-expire"),
    "engine": ("engine", ""),
    "gateway": ("", "192.168.56.1"),
    "netmask": ("", "255.255.255.0"),
}
_DOCUMENTS = _JSON + _YAML + _TEMPLATES + _MANIFESTS


def text(chance: random.Random, name: str, known: Known, *, oddity: float) -> str:
    """Draw a text for a field of this name. `oddity` is the share of those that do not look like what belongs there."""
    if chance.random() >= oddity:
        fitting = _FITTING.get(name) or _FITTING.get(name.rpartition("_")[2])
        return chance.choice(fitting or (known.names if "name" in name else known.ids))
    dice = chance.random()
    if dice < 0.35:
        fitting = _BY_NAME.get(name.rpartition("_")[2]) or _BY_NAME.get(name)
        return chance.choice(fitting or (known.names if "name" in name else known.ids))
    if dice < 0.5:
        return chance.choice((*known.ids, *known.names))
    if dice < 0.7:
        return chance.choice(_ODD)
    if dice < 0.9:
        return chance.choice(_DOCUMENTS)
    if dice < 0.995:
        return "".join(chance.choices(string.printable + "äß€\U0001f600", k=chance.randrange(1, 200)))
    return chance.choice(_HUGE)(chance)


def octets(chance: random.Random) -> bytes:
    """Draw bytes."""
    return chance.choice(_BYTES) if chance.random() < 0.7 else chance.randbytes(chance.randrange(2_000))


def whole(chance: random.Random, bits: int, *, signed: bool, oddity: float) -> int:
    """Draw an integer of so many bits; see `text` for the oddity."""
    if chance.random() >= oddity:
        return chance.choice((0, 1, 2))
    return chance.choice((_WHOLE if signed else _UNSIGNED)[bits])


def real(chance: random.Random) -> float:
    """Draw a number of floating point."""
    return chance.choice(_FLOATS)


def octet_text(chance: random.Random) -> bytes:
    """Draw what is no UTF-8: half of a surrogate pair, a character that is too long or cut off, and others."""
    return chance.choice((b"\xed\xa0\x80", b"\xc0\x80", b"\xe2\x82", b"\xff\xfe", b"a\x80", b"\xf4\x90\x80\x80"))
