"""An event as one line for people."""

import contextlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tinkwell.cli.event import attempt
from tinkwell.cli.shell import output
from tinkwell.core.event.kinds import EventType, ResourceType

if TYPE_CHECKING:
    from tinkwell.client import Event

MAX_SUMMARY_CHARACTERS = 160

_TYPE_WIDTH = max(len(item) for item in EventType)
_RESOURCE_WIDTH = max(len(item) for item in ResourceType)
_ID_WIDTH = 36


def format_event(event: "Event") -> str:
    """Return time, revision, type, resource and summary, in aligned columns."""
    columns = (
        output.moment(event.created_at, digits=3),
        f"{event.revision:>7}",
        output.paint(f"{event.event_type:<{_TYPE_WIDTH}}", event.event_type),
        f"{event.resource_type:<{_RESOURCE_WIDTH}}",
        f"{event.resource_id or '-':<{_ID_WIDTH}}",
        summary(event),
    )
    return "  ".join(columns).rstrip()


def summary(event: "Event") -> str:
    """Summarise the event in a few words."""
    if event.resource_type is ResourceType.CUSTOM:
        text = f"{event.name} {_compact(event.data)}" if event.data else event.name
    elif event.resource_type is ResourceType.HARDWARE:
        text = _hardware(event)
    else:
        text = _SUMMARIES.get(event.resource_type, _name)(event.data)
    text = output.clean(text)
    return text if len(text) <= MAX_SUMMARY_CHARACTERS else f"{text[: MAX_SUMMARY_CHARACTERS - 1]}…"


def _hardware(event: "Event") -> str:
    interfaces = _object(event.data, "network").get("interfaces")
    dhcp = [_object(interface, "dhcp") for interface in interfaces or ()]
    hostname = next((_text(item, "hostname") for item in dhcp if item.get("hostname")), "")
    words = [hostname, *(_text(item, "mac") for item in dhcp)]
    if event.event_type is EventType.HARDWARE_PHONE_HOME and event.data.get("phone_home"):
        words.append(_compact(event.data["phone_home"]))
    return " ".join(word for word in words if word)


def _workflow(data: Mapping[str, Any]) -> str:
    words = [_text(data, "template_name"), _text(data, "state")]
    words.append(f"{data.get('completed_actions', 0)}/{data.get('total_actions', 0)}")
    if recovers := _text(data, "recovers"):
        words.append(f"recovers {recovers}")
    if cause := data.get("cause"):
        words.append(format_cause(cause))
    return " ".join(word for word in words if word)


def _release(data: Mapping[str, Any]) -> str:
    revision = f"revision {data['revision']}" if data.get("revision") else ""
    words = f"{_text(data, 'namespace')}/{_text(data, 'name')}", _text(data, "state"), revision
    return " ".join(word for word in words if word)


def _operation(data: Mapping[str, Any]) -> str:
    words = [_text(data, "release_name"), _text(data, "kind"), _text(data, "state")]
    if data.get("total_nodes"):
        words.append(f"{data['total_nodes']} nodes")
    if data.get("cancel_requested") and _text(data, "state") in ("PENDING", "RUNNING"):
        words.append("cancel requested")
    if cause := data.get("cause"):
        words.append(_cause_of_operation(cause))
    return " ".join(word for word in words if word)


def _cause_of_operation(cause: object) -> str:
    text = _words(cause, "reason", "path", "message") if isinstance(cause, Mapping) else ""
    return text or _compact(cause)


def _step(data: Mapping[str, Any]) -> str:
    words = [_words(data, "path", "kind", "name")]
    if data.get("attempt", 0) > 1:
        words.append(f"attempt {data['attempt']}")
    if data.get("exit_code") is not None:
        words.append(f"exit {data['exit_code']}")
    words.append(_text(data, "message"))
    return " ".join(word for word in words if word)


def _lifecycle(data: Mapping[str, Any]) -> str:
    words = [_text(data, "chart"), _text(data, "event")]
    if handlers := data.get("handlers"):
        words.append(f"{len(handlers)} handler{'s' if len(handlers) > 1 else ''}")
    outcome = _text(data, "outcome")
    words += [outcome if outcome != "SUCCEEDED" else "", _text(data, "message")]
    return " ".join(word for word in words if word)


def _words(data: Mapping[str, Any], *keys: str) -> str:
    return " ".join(text for key in keys if (text := _text(data, key)))


def format_cause(cause: Mapping[str, Any]) -> str:
    """Say why a workflow ended: the reason, the action at which it ended, the message, and the recovering workflow."""
    if "reason" not in cause:
        return format_pairs(cause)
    action = f" in {cause.get('task_name', '')}/{cause['action_name']}" if cause.get("action_name") else ""
    code = f", exit {cause['exit_code']}" if cause.get("exit_code") is not None else ""
    message = f": {cause['message']}" if cause.get("message") else ""
    recovery = _object(cause, "recovery")
    recovered = f", recovered by {recovery['workflow_id']}" if recovery.get("workflow_id") else ""
    lost = f", not recovered by {_text(recovery, 'template')}: {recovery['error']}" if recovery.get("error") else ""
    return f"{cause['reason']}{action}{code}{message}{recovered}{lost}"


def format_pairs(data: Mapping[str, Any]) -> str:
    """Write an object as key=value pairs."""
    return " ".join(f"{key}={value if isinstance(value, str) else _compact(value)}" for key, value in data.items())


def _action(data: Mapping[str, Any]) -> str:
    words = [f"{_text(data, 'task_name')}/{_text(data, 'name')}"]
    pause = _pause(data)
    if data.get("attempt", 0) > 1 or pause:
        words.append(attempt.count(data["attempt"], data.get("retries", 0)))
    if data.get("exit_code") is not None:
        words.append(f"exit {data['exit_code']}")
    words += [pause, _text(data, "message")]
    return " ".join(word for word in words if word)


def _pause(data: Mapping[str, Any]) -> str:
    """Say how long the action waited for its next attempt at the time of the event; empty if it did not wait."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return attempt.until(datetime.fromisoformat(data["retry_at"]), datetime.fromisoformat(data["updated_at"]))
    return ""


def _application(data: Mapping[str, Any]) -> str:
    words = [f"{_text(data, 'namespace')}/{_text(data, 'name')}", _text(data, "charm_name"), _unless_alive(data)]
    if leader := _text(data, "leader"):
        words.append(f"led by {leader} (term {data.get('term', 0)})")
    return " ".join(word for word in words if word)


def _unit(data: Mapping[str, Any]) -> str:
    status = _object(data, "status")
    said = _words(status, "name", "message")
    return " ".join(word for word in (_words(data, "name", "phase"), _unless_alive(data), said) if word)


def _unit_event(data: Mapping[str, Any]) -> str:
    relation = _object(data, "relation")
    first = _text(relation, "endpoint") or _text(data, "storage").partition("/")[0]
    name = "-".join(filter(None, (first, _text(data, "kind"))))
    about = _text(relation, "unit") or _text(relation, "application") or _text(data, "storage")
    about = about or _text(_object(data, "secret"), "id")
    words = [_text(data, "unit"), f"#{data.get('ordinal', 0)}", name, f"({about})" if about else ""]
    if data.get("attempt", 0) > 1:
        words.append(f"attempt {data['attempt']}")
    words.append(_text(data, "message"))
    return " ".join(word for word in words if word)


def _relation(data: Mapping[str, Any]) -> str:
    ends = data.get("ends")
    named = [f"{_text(end, 'application')}:{_text(end, 'endpoint')}" for end in ends or () if isinstance(end, Mapping)]
    words = [_text(data, "number"), *named, _unless_alive(data)]
    if owner := _text(data, "owner"):
        words.append(f"{owner} changed {', '.join(map(str, data.get('keys') or ()))}")
    return " ".join(word for word in words if word)


def _storage(data: Mapping[str, Any]) -> str:
    place = "attached to" if data.get("attached") else "for"
    return " ".join(filter(None, (_text(data, "name"), f"{place} {data['unit']}" if data.get("unit") else "detached")))


def _secret(data: Mapping[str, Any]) -> str:
    owner, label = _text(data, "owner"), _text(data, "label")
    words = [_text(data, "name"), f"({label})" if label else "", f"of {owner}" if owner else ""]
    return " ".join(filter(None, [*words, f"revision {data.get('latest', 0)}"]))


def _task(data: Mapping[str, Any]) -> str:
    words = [_text(data, "unit"), _text(data, "name") or "command", _text(data, "state")]
    words += ["cancel requested"] if data.get("cancelled") and _text(data, "state") == "RUNNING" else []
    return " ".join(filter(None, [*words, _text(data, "message")]))


def _charm(data: Mapping[str, Any]) -> str:
    return _words(data, "name", "digest")


def _unless_alive(data: Mapping[str, Any]) -> str:
    life = _text(data, "life")
    return "" if life == "ALIVE" else life


def _chart(data: Mapping[str, Any]) -> str:
    return _words(data, "name", "chart_version", "digest")


def _node(data: Mapping[str, Any]) -> str:
    return _words(data, "path", "task", "message")


def _name(data: Mapping[str, Any]) -> str:
    return _text(data, "name")


def _object(data: object, key: str) -> Mapping[str, Any]:
    # Unexpected data of an event must not end a watch.
    found = data.get(key) if isinstance(data, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _text(data: Mapping[str, Any], key: str) -> str:
    return str(data.get(key) or "")


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_SUMMARIES: Mapping[ResourceType, Callable[[Mapping[str, Any]], str]] = {
    ResourceType.WORKFLOW: _workflow,
    ResourceType.ACTION: _action,
    ResourceType.CHART: _chart,
    ResourceType.RELEASE: _release,
    ResourceType.OPERATION: _operation,
    ResourceType.NODE: _node,
    ResourceType.STEP: _step,
    ResourceType.LIFECYCLE: _lifecycle,
    ResourceType.CHARM: _charm,
    ResourceType.APPLICATION: _application,
    ResourceType.UNIT: _unit,
    ResourceType.UNIT_EVENT: _unit_event,
    ResourceType.RELATION: _relation,
    ResourceType.STORAGE: _storage,
    ResourceType.SECRET: _secret,
    ResourceType.TASK: _task,
}
