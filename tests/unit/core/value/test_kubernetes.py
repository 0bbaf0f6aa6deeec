"""Objects of Kubernetes: which are read, and what is said of the others."""

from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.value import kubernetes

OURS = "tinkerbell.org/v1alpha1"
WORKFLOW: dict[str, Any] = {
    "templateRef": "ubuntu",
    "hardwareRef": "machine1",
    "hardwareMap": {"device_1": "52:54:00:00:00:01", "ip": "a; b"},
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"apiVersion": OURS}, True),
        ({"kind": None}, True),
        ({"id": "x", "metadata": {"kind": "x"}}, False),
        ([{"kind": "x"}], False),
        ("kind", False),
    ],
)
def test_what_is_meant_as_an_object_is_known_by_its_keys(value: Any, expected: bool) -> None:
    assert kubernetes.is_object(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"apiVersion": "v1", "kind": "List", "items": [1]}, [1]),
        ({"apiVersion": OURS, "kind": "HardwareList", "items": []}, []),
        ({"apiVersion": OURS, "kind": "HardwareList"}, None),
        ({"kind": "Hardware", "items": [1]}, None),
        ({"items": [1]}, None),
        ([1], None),
    ],
)
def test_a_list_as_kubectl_prints_it_gives_its_items(value: Any, expected: Any) -> None:
    assert kubernetes.items(value) == expected


@pytest.mark.parametrize("kind", ["Hardware", "Template"])
def test_what_is_asked_for_is_let_through(kind: str) -> None:
    kubernetes.check_kind({"apiVersion": OURS, "kind": kind}, kind)


@pytest.mark.parametrize(
    ("version", "kind", "sentence"),
    [
        (OURS, "Template", "kind: is Template, which goes by a command of its own: tinkwell template create FILE"),
        (
            OURS,
            "Workflow",
            (
                "kind: is Workflow; workflows are made by a command, not by a file: tinkwell workflow create "
                "--template ubuntu --device device_1=52:54:00:00:00:01 --device ip=MAC"
            ),
        ),
        (OURS, "WorkflowRuleSet", "write its rules as rules for tinkwell automation"),
        (OURS, "Stack", "is Stack of tinkerbell.org/v1alpha1; Tinkwell has no place for such objects; take it out"),
        ("bmc.tinkerbell.org/v1alpha1", "Machine", "Tinkwell does not manage the controllers of machines; take it out"),
        ("infrastructure.cluster.x-k8s.io/v1beta1", "TinkerbellMachine", "Tinkwell knows no clusters; take it out"),
        ("v1", "Secret", "kind: is Secret of v1; Tinkwell has no place for such objects; take it out of the file"),
        ("metal3.io/v1alpha1", "Hardware", "kind: is Hardware of metal3.io/v1alpha1; Tinkwell has no place"),
        (
            "tinkerbell.org/v1alpha2",
            "Hardware",
            (
                "apiVersion: is tinkerbell.org/v1alpha2, which is not supported; write the hardware as "
                "tinkerbell.org/v1alpha1 has it"
            ),
        ),
        (None, "Hardware", "apiVersion: is missing; an object of Tinkerbell has apiVersion: tinkerbell.org/v1alpha1"),
        (OURS, None, "kind: is missing; an object of Tinkerbell has apiVersion"),
        (OURS, 5, "kind: is missing"),
        ("v1", "x" * 1_000, "xxx…"),
    ],
)
def test_every_other_kind_is_refused_with_what_to_do(version: Any, kind: Any, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        kubernetes.check_kind({"apiVersion": version, "kind": kind, "spec": dict(WORKFLOW)}, "Hardware")
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_workflow_that_says_nothing_is_refused_with_the_form_of_the_command() -> None:
    with pytest.raises(errors.InvalidField, match="create --template NAME --device device_1=MAC"):
        kubernetes.check_kind({"apiVersion": OURS, "kind": "Workflow", "spec": None}, "Template")


def test_a_part_that_is_no_object_is_named() -> None:
    value: Any = {"spec": {"metadata": [1]}}
    assert kubernetes.part(value, "metadata") == {}
    with pytest.raises(errors.InvalidField, match=r"spec\.metadata: must be an object, and not a list"):
        kubernetes.part(value, "spec.metadata")


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        (None, "metadata.name: is missing"),
        ({"generateName": "x-"}, "metadata.name: is missing"),
        ({"name": "$NODE_NAME"}, "metadata.name: is the placeholder $NODE_NAME; fill it in before the file is read"),
    ],
)
def test_an_object_needs_a_name(metadata: Any, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        kubernetes.name_of({"metadata": metadata})
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("$MAC", True), ("${mac_1}", True), ("{{ .Values.mac }}", True), ("$1", False), ("a$MAC", False), ("", False)],
)
def test_a_text_that_is_to_be_filled_in_is_told_from_others(text: str, expected: bool) -> None:
    assert bool(kubernetes.placeholder(text)) is expected
