"""What a plan says of a resource, by what was seen of it."""

from dataclasses import replace
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.decision.view import Answer
from tinkwell.core.release.kinds import NodeState, NodeTask, ResourceStatus
from tinkwell.core.release.preview.making import MAX_RESULT_BYTES, Maker, Seen, digest_of, drift_of, fitting
from tinkwell.core.release.preview.model import Difference, Preview, PreviewNode
from tinkwell.core.release.report import Call
from tinkwell.core.secret.mask import Masker

VALID = Answer(status=ResourceStatus.VALID, has_state=True)
RESIZE = Call(name="resize", args=("large",))
STALE = Answer(status=ResourceStatus.STALE, has_state=True, actions=(RESIZE,))
ABSENT = Answer(status=ResourceStatus.STALE, has_state=False, actions=(Call(name="create"),))
CHANGED: dict[str, Any] = {"answer": STALE, "former_config": {"size": "small"}, "config": {"size": "large"}}


def made(*, is_drift: bool = False, last_batch: int = 3, secrets: tuple[str, ...] = (), **fields: Any) -> PreviewNode:
    masker = Masker(secrets)
    maker = Maker(is_drift=is_drift, last_batch=last_batch, mask=masker.mask, mask_json=masker.mask_json)
    return maker.node(Seen(**{"path": "db", "type": "acme/db", **fields}))


@pytest.mark.parametrize(
    ("fields", "mark", "status", "reason"),
    [
        ({"answer": VALID}, "=", "VALID", ""),
        ({"answer": VALID, "former_type": "acme/old"}, "=", "VALID", "its type was acme/old"),
        (CHANGED, "~", "STALE", ""),
        ({"answer": ABSENT}, "+", "ABSENT", ""),
        ({"answer": ABSENT, "former_state": {"size": 1}}, "+", "ABSENT", "it no longer exists"),
        (
            {"answer": STALE, "readonly": True},
            "!",
            "STALE",
            "its state is STALE, and the manifest says readonly, so no action may change that",
        ),
        ({"state": NodeState.FAILED, "message": "state FAILED (exit 3)"}, "!", "UNKNOWN", "state FAILED (exit 3)"),
        ({"state": NodeState.SKIPPED, "message": "not inspected: …"}, "?", "UNKNOWN", "not inspected: …"),
    ],
)
def test_what_is_installed(fields: dict[str, Any], mark: str, status: str, reason: str) -> None:
    node = made(**fields)
    assert (node.mark, node.status, node.reason) == (mark, status, reason)


@pytest.mark.parametrize(
    ("fields", "mark", "reason"),
    [
        ({}, "-", "last in revision 3, removed after batch 3"),
        ({"last_batch": 0}, "-", "last in revision 3, removed"),
        ({"kept": "acme/mail has no destroy action"}, "!", "left in place: acme/mail has no destroy action"),
        ({"moved_to": "other:db"}, "=", "it goes on as other:db"),
        ({"state": NodeState.FAILED, "message": "init FAILED"}, "!", "init FAILED"),
    ],
)
def test_what_is_removed(fields: dict[str, Any], mark: str, reason: str) -> None:
    node = made(task=NodeTask.REMOVE, revision=3, state=fields.pop("state", NodeState.SKIPPED), **fields)
    assert (node.mark, node.reason) == (mark, reason)


def test_what_changes_is_told_with_its_actions_and_both_values() -> None:
    found = {"at": [1, 3], "in": {"b": 2}, "new": None}
    node = made(**CHANGED, former_state={"at": [1, 2], "in": {"a": 1, "b": 2}, "unsaid": 1}, found=found)
    assert [action.name for action in node.actions] == ["resize"]
    assert node.differences == (
        Difference(pointer="/config/size", before='"small"', after='"large"'),
        Difference(pointer="/state/at/1", before="2", after="3"),
        Difference(pointer="/state/in/a", before="1"),
        Difference(pointer="/state/new", after="null"),
    )


def test_an_image_that_says_nothing_of_what_it_found_makes_no_differences() -> None:
    assert made(answer=STALE, former_state={"at": 1}, found={}).differences == ()


def test_secrets_are_covered_wherever_they_are() -> None:
    answer = Answer(
        status=ResourceStatus.STALE, has_state=True, actions=(Call(name="set", args=("--password=s3cret99",)),)
    )
    node = made(
        secrets=("s3cret99",),
        answer=answer,
        former_config={"password": "s3cret99", "port": 1, "token": {"at": 7}},
        config={"password": "other", "port": 2, "token": {"at": 8}},
        sensitive=("/token",),
    )
    assert node.actions[0].args == ("--password=•••",)
    assert [(each.before, each.after) for each in node.differences] == [
        ('"•••"', '"other"'),
        ("1", "2"),
        ('"•••"', '"•••"'),
    ]
    assert made(secrets=("s3cret99",), state=NodeState.FAILED, message="no s3cret99").reason == "no •••"


def test_a_value_that_nobody_would_read_is_told_by_its_size() -> None:
    node = made(answer=STALE, former_config={"text": "x" * 5_000}, config={"text": ""})
    assert node.differences == (Difference(pointer="/config/text", before='"(5,002 bytes)"', after='""'),)


@pytest.mark.parametrize(
    ("ignore", "is_drift", "mark", "pointers"),
    [
        ((), True, "~", ["/state/mode", "/state/owner/name"]),
        (("/mode",), True, "~", ["/state/owner/name"]),
        (("/mode", "/owner"), True, "=", []),
        (("",), True, "=", []),
        (("/mod",), True, "~", ["/state/mode", "/state/owner/name"]),
        # What is asked for anew is not hidden.
        (("/mode", "/owner"), False, "~", ["/state/mode", "/state/owner/name"]),
    ],
)
def test_drift_hides_what_the_manifest_ignores(
    ignore: tuple[str, ...], is_drift: bool, mark: str, pointers: list[str]
) -> None:
    node = made(
        is_drift=is_drift,
        ignore=ignore,
        answer=STALE,
        former_state={"mode": 1, "owner": {"name": "a"}},
        found={"mode": 2, "owner": {"name": "b"}},
    )
    assert (node.mark, [each.pointer for each in node.differences]) == (mark, pointers)


@pytest.mark.parametrize(
    ("ignore", "named"),
    [
        (("/mode", "/owner"), "/mode, /owner"),
        (("/owner/name", "/mode"), "/owner/name, /mode"),
        (("/state/mode", "/mode", "/config", "/owner", "/more"), "/mode, /owner"),
    ],
)
def test_drift_names_what_hid_something_as_the_manifest_has_it(ignore: tuple[str, ...], named: str) -> None:
    node = made(
        is_drift=True,
        ignore=ignore,
        answer=STALE,
        former_state={"mode": 1, "owner": {"name": "a"}},
        found={"mode": 2, "owner": {"name": "b"}},
    )
    assert node.reason == f"the manifest says to ignore {named}"


def test_the_digest_of_drift_changes_with_the_set_and_not_with_values() -> None:
    def drift(*nodes: PreviewNode) -> str:
        return drift_of(nodes)

    def changed(path: str, found: dict[str, Any]) -> PreviewNode:
        return made(is_drift=True, path=path, answer=STALE, former_state={"a": 1, "b": 1}, found=found)

    one = changed("x", {"a": 2, "b": 1})
    assert drift(made(answer=VALID)) == ""
    assert drift(one, made(answer=VALID)) == drift(changed("x", {"a": 3, "b": 1})) != ""
    assert drift(one) != drift(changed("x", {"a": 2, "b": 2}))
    assert drift(one) != drift(changed("y", {"a": 2, "b": 1}))
    assert drift(one) != drift(one, changed("y", {"a": 2, "b": 1}))


def test_a_document_that_is_too_long_goes_without_what_nothing_rests_on() -> None:
    node = made(**{**CHANGED, "former_config": {"size": "s" * 300}})
    preview = Preview(digest="", revision=1, nodes=(node,))
    assert fitting(preview) == preview.dump()
    many = [replace(node, path=f"db[{number}]") for number in range(9_000)]
    text = fitting(replace(preview, nodes=many))
    assert len(text.encode()) < MAX_RESULT_BYTES
    assert '"pointer"' not in text
    assert text.count('"resize"') == 9_000
    with pytest.raises(errors.InvalidField, match=r"plan: has .* bytes; at most 3,145,728 are allowed"):
        fitting(replace(preview, nodes=[replace(each, reason="x" * 1_000) for each in many]))


def test_the_digest_of_a_manifest_is_that_of_its_text() -> None:
    assert digest_of('{"a":1}') == digest_of('{"a":1}') != digest_of('{"a":2}')
