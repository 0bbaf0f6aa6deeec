"""What a charm of Juju assumes of its environment: a list of features that must all be there.

    assumes:
      - juju >= 3.1
      - any-of: [k8s-api, juju < 4]

Tinkwell answers as a machine of the Juju release whose unit events it supports.
"""

import re
from collections.abc import Sequence

from tinkwell.core.value import check, parse
from tinkwell.core.value.document import JsonValue, describe

# The version of Juju that charms are told.
JUJU_VERSION = "3.6.9"
MAX_DEPTH = 8

_JUJU = re.compile(r"juju\s*(>=|<=|==|=|<|>)\s*([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})")
_KUBERNETES = ("k8s-api", "kubernetes")
_GROUPS = ("any-of", "all-of")


def judge(checks: check.Checks, value: JsonValue, *, field: str = "assumes") -> None:
    """Note each assumption that does not hold, with one sentence."""
    if value is None:
        return
    if not isinstance(value, list):
        checks.refuse(field, f"must be a list such as [juju >= 3.1], and not {describe(value)}")
        return
    for index, each in enumerate(value):
        path = parse.child(field, index)
        if sentence := _wrong(each, MAX_DEPTH):
            checks.refuse(path, sentence)


def _wrong(value: JsonValue, depth: int) -> str:
    """Return why an assumption does not hold; "" if it holds."""
    if isinstance(value, str):
        return _wrong_feature(value.strip())
    if isinstance(value, dict) and len(value) == 1 and depth:
        ((word, inner),) = value.items()
        if word in _GROUPS and isinstance(inner, list) and inner:
            return _wrong_group(word, inner, depth - 1)
    return "must be a feature such as juju >= 3.1, or one of any-of and all-of with a list of them"


def _wrong_group(word: str, inner: Sequence[JsonValue], depth: int) -> str:
    found = [_wrong(each, depth) for each in inner]
    if word == "any-of" and not all(found):
        return ""
    return next((sentence for sentence in found if sentence), "")


def _wrong_feature(feature: str) -> str:
    if feature in _KUBERNETES:
        return f"has {feature}, and Tinkwell does not run workloads on Kubernetes; take the charm for machines"
    if not (found := _JUJU.fullmatch(feature)):
        return f"asks for {parse.show(feature)}, which Tinkwell does not have; take a charm that does without it"
    ours, theirs = _version(JUJU_VERSION), _version(found[2])
    holds = {
        ">=": ours >= theirs,
        "<=": ours <= theirs,
        ">": ours > theirs,
        "<": ours < theirs,
        "=": ours == theirs,
        "==": ours == theirs,
    }[found[1]]
    return (
        "" if holds else f"asks for {feature}, and charms run here as under Juju {JUJU_VERSION}; take another release"
    )


def _version(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    return (*numbers, *[0] * (4 - len(numbers)))
