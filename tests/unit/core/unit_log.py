"""Logs of units as they are wanted, for tests of what an audit finds in them.

log = Recorded()
log.application("web")
log.unit("web/0")
log.tell("web/0", "install")
"""

from dataclasses import dataclass, field
from typing import Any

from tinkwell.core.unit.invariant import Violation, audit
from tinkwell.core.unit.kinds import EventKind, EventState, Profile
from tinkwell.core.unit.world import LogEntry
from tinkwell.core.value.document import JsonObject, JsonValue

SETUP = ("install", "config-changed", "start")
TEARDOWN = ("stop", "remove")


@dataclass
class Recorded:
    """A log that is written entry by entry; the last state of everything is kept, so that changes name what changes."""

    profile: Profile = Profile.LITERAL
    entries: list[LogEntry] = field(default_factory=list)
    _last: dict[str, JsonObject] = field(default_factory=dict)
    _ordinals: dict[str, int] = field(default_factory=dict)
    _lives: int = 0

    # What there is

    def application(self, name: str, *, change: str = "", **changes: Any) -> None:
        """Write that an application was created, or has changed."""
        new: JsonObject = {
            "name": name,
            "namespace": "default",
            "life": "ALIVE",
            "charm": "charm-1",
            "profile": self.profile,
            "config_version": 1,
            "leader": "",
            "term": 0,
            "announced_term": 0,
        }
        self._write("APPLICATION", name, "", change, new, changes)

    def unit(self, name: str, *, change: str = "", **changes: Any) -> None:
        """Write that a unit was created, or has changed."""
        new: JsonObject = {"name": name, "namespace": "default", "life": "ALIVE", "forced": False}
        self._write("UNIT", name, name.partition("/")[0], change, new, changes)

    def started(self, *names: str) -> None:
        """Write that units were created and have started, each in an application of its own name if there is none."""
        for name in names:
            if name.partition("/")[0] not in self._last:
                self.application(name.partition("/")[0])
            self.unit(name)
            self.tell(name, *SETUP)

    def relation(self, number: int, *ends: str, change: str = "", **changes: Any) -> None:
        """Write that a relation was created, or has changed; one with a single end is of peers."""
        pairs = [end.partition(":") for end in ends]
        new: JsonObject = {
            "number": number,
            "namespace": "default",
            "peer": len(ends) == 1,
            "life": "ALIVE",
            "ends": [{"application": application, "endpoint": endpoint} for application, _, endpoint in pairs],
        }
        self._write("RELATION", f"relation {number}", "", change, new, changes)

    def storage(self, name: str, unit: str, *, change: str = "", **changes: Any) -> None:
        """Write that a storage was created, or has changed."""
        new: JsonObject = {"name": name, "namespace": "default", "unit": unit, "life": "ALIVE", "attached": False}
        self._write("STORAGE", f"storage {name}", unit.partition("/")[0], change, new, changes)

    def secret(self, name: str, owner: str, *readers: str, change: str = "", **changes: Any) -> None:
        """Write that a secret was created, or has changed; `readers` are such as `web`, `web/0` or `3:web`."""
        new: JsonObject = {"name": name, "namespace": "default", "rotation": "NEVER", "latest": 1}
        grants: list[JsonValue] = [_grant(each) for each in readers]
        about: JsonObject = {"owner": owner, "grants": grants, **changes}
        self._write("SECRET", f"secret {name}", owner.partition("/")[0], change, new, about)

    def task(self, name: str, unit: str, state: str = "PENDING") -> None:
        """Write a task in a state; PENDING is new."""
        data: JsonObject = {"unit": unit, "name": name, "state": state}
        change = {"PENDING": "CREATED", "RUNNING": "TASK_STARTED"}.get(state, f"TASK_{state}")
        self._append("TASK", change, f"task {name}", unit.partition("/")[0], data)

    def run(self, name: str, unit: str) -> None:
        """Write that a task was asked for, begun, and has ended well."""
        for state in ("PENDING", "RUNNING", "SUCCEEDED"):
            self.task(name, unit, state)

    def bag(self, number: int, owner: str, version: int) -> None:
        """Write that a bag has a new version."""
        data: JsonObject = {"number": number, "owner": owner, "version": version, "keys": []}
        self._append("RELATION", "RELATION_CHANGED", f"relation {number}", "", data)

    # What units are told

    def tell(self, unit: str, *kinds: str, **event: Any) -> None:
        """Write that events were granted and committed."""
        for kind in kinds:
            id_ = self.grant(unit, kind, **event)
            self.become(id_, EventState.COMMITTED)

    def grant(self, unit: str, kind: str, **event: Any) -> str:
        """Write that an event was granted, and return its id; `seen_…` is what it saw."""
        ordinal = event.pop("ordinal", self._ordinals.get(unit, 0) + 1)
        self._ordinals[unit] = ordinal
        number = event.pop("relation", 0)
        last = self._last.get(f"relation {number}", {})
        application = self._last[unit.partition("/")[0]]
        data: JsonObject = {
            "unit": unit,
            "kind": EventKind(kind),
            "ordinal": ordinal,
            "attempt": 1,
            "state": event.pop("state", EventState.RUNNING),
            "relation": {
                "number": number,
                "endpoint": event.pop("endpoint", "R"),
                "peer": last["peer"],
                "application": event.pop("application", ""),
                "unit": event.pop("remote", ""),
                "departing_unit": "",
            }
            if number
            else None,
            "storage": event.pop("storage", ""),
            "secret": _secret(event.pop("secret", ""), event.pop("revision", 0)),
            "mirrored": event.pop("mirrored", False),
            "echo": event.pop("echo", False),
            "seen": {
                "config": event.pop("config", application["config_version"]),
                "charm": event.pop("charm", application["charm"]),
                "term": event.pop("term", application["term"]),
                "bag": event.pop("bag", 0),
            },
        }
        assert not event, event
        id_ = f"event {len(self.entries)}"
        self._last[id_] = data
        self._append("UNIT_EVENT", f"UNIT_EVENT_{data['state']}", id_, unit.partition("/")[0], data)
        return id_

    def become(self, id_: str, state: EventState, **changes: Any) -> None:
        """Write another state of an event."""
        data = self._last[id_] = {**self._last[id_], "state": state, **changes}
        self._append("UNIT_EVENT", f"UNIT_EVENT_{state}", id_, str(data["unit"]).partition("/")[0], data)

    def skip(self, unit: str, kind: str, **event: Any) -> None:
        """Write that an event was skipped which never ran."""
        self.grant(unit, kind, state=EventState.SKIPPED, **event)

    # What is found

    def violations(self, *, is_at_rest: bool = False) -> list[Violation]:
        """Return what an audit finds."""
        return audit(self.entries, is_at_rest=is_at_rest)

    def found(self, *, is_at_rest: bool = False) -> set[str]:
        """Return the invariants that an audit finds violated."""
        return {violation.invariant for violation in self.violations(is_at_rest=is_at_rest)}

    def again(self, application: str) -> None:
        """Have units of an application be numbered, and their events counted, from the beginning."""
        self._ordinals = {unit: last for unit, last in self._ordinals.items() if not unit.startswith(application)}
        self._lives += 1

    def _write(self, resource: str, id_: str, parent: str, change: str, new: JsonObject, changes: JsonObject) -> None:
        known = self._last.get(id_)
        self._last[id_] = {**(known or new), **changes}
        self._append(resource, change or ("UPDATED" if known else "CREATED"), id_, parent, self._last[id_])
        if change == "DELETED":
            del self._last[id_]

    def _append(self, resource: str, change: str, id_: str, parent: str, data: JsonObject) -> None:
        # What has a name again is another thing.
        id_, parent = (f"{each} {self._lives}" if each else "" for each in (id_, parent))
        self.entries.append(LogEntry(len(self.entries) + 1, resource, change, id_, parent, data))


def _secret(name: str, revision: int) -> JsonObject | None:
    return {"id": name, "revision": revision} if name else None


def _grant(reader: str) -> JsonObject:
    number, _, whom = reader.rpartition(":")
    application, slash, _ = whom.partition("/")
    return {"relation": int(number or 0), "application": application, "unit": whom if slash else ""}
