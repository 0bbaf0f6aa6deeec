"""Manifests that are spoilt at random: none is a crash, and what is wrong with each is said in clear sentences."""

import random
from collections.abc import Callable, Mapping

import pytest

from support.ops_charm import SHAPES
from tinkwell.core import errors
from tinkwell.core.charm import charmcraft, metadata

COUNT = 500
GOOD = [shape.manifest for shape in SHAPES.values() if shape.manifest and not shape.refusal]
VALUES = (
    *(
        "[]",
        "{}",
        "null",
        "1",
        "1.5e400",
        "true",
        "''",
        "'\\0'",
        "[1, {a: b}]",
        "&a [*a]",
        "!!python/object:os.system x",
    ),
    *("2026-01-01", "0x10", ".nan", "..", "/etc/passwd", "a b", "-", "{type: secret, default: x}", "k8s-api", "9" * 40),
    *('"\\ud83d"', "'" + "a" * 70_000 + "'", "{type: [string, int]}", "{a: {a: {a: {a: a}}}}", "<<: *x", "~"),
)
LINES = (
    "\t- a",
    "name: again",
    "containers: {a: {}}",
    "subordinate: true",
    "}",
    "? [",
    "- a",
    "type: bundle",
    "a: b: c",
    "\x07",
)


def value(spoilt: random.Random, text: str) -> str:
    """Give another value to what stands behind a colon."""
    lines = text.splitlines()
    at = spoilt.choice([number for number, line in enumerate(lines) if ":" in line])
    lines[at] = f"{lines[at].partition(':')[0]}: {spoilt.choice(VALUES)}"
    return "\n".join(lines)


def line(spoilt: random.Random, text: str) -> str:
    """Put a line between two others."""
    lines = text.splitlines()
    lines.insert(spoilt.randrange(len(lines) + 1), spoilt.choice(LINES))
    return "\n".join(lines)


def cut(spoilt: random.Random, text: str) -> str:
    """Take a piece out."""
    start = spoilt.randrange(len(text))
    return text[:start] + text[start + spoilt.randrange(1, 60) :]


def character(spoilt: random.Random, text: str) -> str:
    """Put a character somewhere."""
    at = spoilt.randrange(len(text))
    return text[:at] + spoilt.choice("{}[]:,&*!|>'\"%@`#\x00\x1b\u2028\ufeff-\n\t") + text[at:]


WAYS: tuple[Callable[[random.Random, str], str], ...] = (value, line, cut, character)


def read(text: str) -> None:
    files: Mapping[str, str] = charmcraft.split(text)
    metadata.read_manifest({"charmcraft.yaml": text, **files})


def test_a_spoilt_manifest_is_refused_with_clear_sentences() -> None:
    spoilt, refused, tried = random.Random(32), 0, 0
    while refused < COUNT:
        tried += 1
        assert tried < 40 * COUNT
        text = spoilt.choice(GOOD)
        for _ in range(spoilt.randrange(1, 4)):
            text = spoilt.choice(WAYS)(spoilt, text) or "-"
        try:
            read(text)
        except errors.CharmRefused as error:
            refused += 1
            for violation in error.violations:
                assert violation.field.split(".yaml")[0] in ("charmcraft", "metadata", "config", "actions", "charm")
                assert violation.description
                assert violation.description.isprintable()
                assert len(violation.description) < 1_000
                assert "Traceback" not in violation.description


@pytest.mark.parametrize("text", GOOD)
def test_what_is_spoilt_was_good(text: str) -> None:
    read(text)
