"""The document of a plan: what it looks like, and that nothing else is read."""

import json
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.kinds import ResourceStatus
from tinkwell.core.release.manifest.hook import HookEvent
from tinkwell.core.release.preview.model import Difference, Mark, PlannedAction, PlannedHook, Preview, PreviewNode

RESIZE = PlannedAction(name="resize", description="make it larger", args=("large",))
NODE = PreviewNode(
    path="nginx:site",
    type="acme/vm:1",
    mark=Mark.CHANGE,
    status=ResourceStatus.STALE,
    actions=(RESIZE,),
    differences=(Difference(pointer="/config/size", before='"small"', after='"large"'),),
)
MIGRATE = PlannedHook(path="nginx:migrate", type="acme/job:1", event=HookEvent.PRE_UPGRADE)
HOOK = {"path": "nginx:migrate", "type": "acme/job:1", "event": "pre-upgrade"}
PREVIEW = Preview(digest="9f86", revision=4, nodes=(NODE,), hooks=(MIGRATE,))
TEXT = json.dumps(
    {
        "format": 1,
        "digest": "9f86",
        "revision": 4,
        "nodes": [
            {
                "path": "nginx:site",
                "type": "acme/vm:1",
                "mark": "~",
                "status": "STALE",
                "actions": [
                    {
                        "name": "resize",
                        "description": "make it larger",
                        "image": "",
                        "entrypoint": "",
                        "args": ["large"],
                    }
                ],
                "differences": [{"pointer": "/config/size", "before": "small", "after": "large"}],
                "reason": "",
                "revision": 0,
            }
        ],
        "hooks": [HOOK],
    }
)


def test_a_document_is_written_in_its_form_and_read_again() -> None:
    assert json.loads(PREVIEW.dump()) == json.loads(TEXT)
    assert Preview.load(TEXT) == PREVIEW


def test_drift_is_told_even_where_nothing_has_drifted() -> None:
    text = Preview(digest="", revision=1, drift="").dump()
    assert json.loads(text)["drift"] == ""
    assert Preview.load(text).drift == ""
    assert PREVIEW.drift is None


def test_a_side_of_a_difference_that_is_not_there_is_left_out() -> None:
    difference = Difference(pointer="/state/mode", before="null")
    assert difference.as_json() == {"pointer": "/state/mode", "before": None}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"format": 2}, "result.format"),
        ({"more": 1}, "result.more"),
        ({"nodes": {}}, "result.nodes"),
        ({"nodes": [json.loads(TEXT)["nodes"][0]] * 2}, "result.nodes[1].path"),
        ({"nodes": [{**json.loads(TEXT)["nodes"][0], "mark": "x"}]}, "result.nodes[0].mark"),
        ({"nodes": [{"path": "a"}]}, "result.nodes[0].type"),
        ({"revision": -1}, "result.revision"),
        ({"hooks": None}, "result.hooks"),
        ({"hooks": [HOOK, HOOK]}, "result.hooks[1]"),
        ({"hooks": [{**HOOK, "event": "pre-lunch"}]}, "result.hooks[0].event"),
        ({"hooks": [{**HOOK, "more": 1}]}, "result.hooks[0].more"),
        ({"hooks": [{"path": "a", "type": "t"}]}, "result.hooks[0].event"),
    ],
)
def test_anything_else_is_refused_by_the_name_of_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.InvalidField) as refusal:
        Preview.from_json({**json.loads(TEXT), **change})
    assert field in [violation.field for violation in refusal.value.violations]
