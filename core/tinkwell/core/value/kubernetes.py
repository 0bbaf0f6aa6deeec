"""Objects of Kubernetes (`apiVersion`, `kind`, `metadata`, `spec`), as Tinkerbell's files have been since its v0.6.

Hardware and templates of `tinkerbell.org/v1alpha1` are read; for other objects the error says what to do.
"""

import re
from collections.abc import Iterator

from tinkwell.core import errors
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject, JsonValue

VERSION = "tinkerbell.org/v1alpha1"

_COMMANDS = {"Hardware": "tinkwell hardware push FILE", "Template": "tinkwell template create FILE"}
_OUT = "take it out of the file"
# By API group; Kubernetes' own group is "".
_PLACELESS = {
    "bmc.tinkerbell.org": f"Tinkwell does not manage the controllers of machines; {_OUT}",
    "infrastructure.cluster.x-k8s.io": f"Tinkwell knows no clusters; {_OUT}",
}
_WORD = re.compile(r"[\w.:/@%+-]{1,100}", re.ASCII)
_PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|\{\{.*\}\}")


def is_object(value: JsonValue) -> bool:
    """Return whether a value is an object of Kubernetes. No document of Tinkwell has these keys."""
    return isinstance(value, dict) and ("apiVersion" in value or "kind" in value)


def items(value: JsonValue) -> list[JsonValue] | None:
    """Return the items of a list such as `kubectl get hardware -o yaml` prints; None for other values."""
    if not isinstance(value, dict) or not str(value.get("kind")).endswith("List"):
        return None
    found = value.get("items")
    return found if isinstance(found, list) else None


def check_kind(value: JsonObject, kind: str) -> None:
    """Refuse an object of another kind or another version than Tinkwell reads."""
    found, version = (_text(value, name) for name in ("kind", "apiVersion"))
    if found != kind or _group(version) != _group(VERSION):
        raise errors.InvalidField.of("kind", _refusal(found, version, value))
    if version != VERSION:
        raise errors.InvalidField.of(
            "apiVersion", f"is {version}, which is not supported; write the {kind.lower()} as {VERSION} has it"
        )


def part(value: JsonObject, path: str) -> JsonObject:
    """Return the object at a path such as `spec` or `spec.metadata`, empty if it is missing or null."""
    found: JsonValue = value
    for index, name in enumerate(path.split(".")):
        found = found.get(name) if isinstance(found, dict) else None
        if found is None:
            return {}
        if not isinstance(found, dict):
            at = ".".join(path.split(".")[: index + 1])
            raise errors.InvalidField.of(at, f"must be an object, and not {document.describe(found)}")
    assert isinstance(found, dict)
    return found


def name_of(value: JsonObject) -> str:
    """Return the name of an object."""
    name = part(value, "metadata").get("name")
    if not isinstance(name, str) or not name:
        raise errors.InvalidField.of("metadata.name", "is missing; give the object a name")
    if found := placeholder(name):
        raise errors.InvalidField.of("metadata.name", found)
    return name


def placeholder(text: str) -> str:
    """Return what to do about a placeholder such as `$TINKERBELL_CLIENT_MAC`; "" for other texts."""
    if not _PLACEHOLDER.fullmatch(text):
        return ""
    return f"is the placeholder {parse.excerpt(text)}; fill it in before the file is read, such as with envsubst"


def _text(value: JsonObject, name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found:
        raise errors.InvalidField.of(name, f"is missing; an object of Tinkerbell has apiVersion: {VERSION} and a kind")
    return found


def _group(version: str) -> str:
    return version.rpartition("/")[0]


def _refusal(kind: str, version: str, value: JsonObject) -> str:
    ours = _group(version) == _group(VERSION)
    if ours and kind in _COMMANDS:
        return f"is {kind}, which goes by a command of its own: {_COMMANDS[kind]}"
    if ours and kind == "Workflow":
        return f"is Workflow; workflows are made by a command, not by a file: {' '.join(_workflow(value))}"
    if ours and kind == "WorkflowRuleSet":
        return "is WorkflowRuleSet; write its rules as rules for tinkwell automation"
    named = f"is {parse.excerpt(kind)} of {parse.excerpt(version)}"
    return f"{named}; {_PLACELESS.get(_group(version), f'Tinkwell has no place for such objects; {_OUT}')}"


def _workflow(value: JsonObject) -> Iterator[str]:
    """Yield the words of the command that makes the workflow of an object, as far as its values are simple."""
    spec = value.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    yield "tinkwell workflow create --template"
    yield _word(spec.get("templateRef"), "NAME")
    devices = spec.get("hardwareMap")
    for name, device in devices.items() if isinstance(devices, dict) and devices else [("device_1", None)]:
        yield f"--device {_word(name, 'NAME')}={_word(device, 'MAC')}"


def _word(value: JsonValue, otherwise: str) -> str:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else otherwise
