"""Gives `ops.testing` what a unit was granted, and holds what comes of it against what the agent has committed.

Stored states and what was deferred go from one event of a unit to the next by what `ops.testing` says, never by what
the agent does: so a notice that one of them loses, or hears in another order, shows.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import ops
from ops import testing
from scenario._runtime import Runtime
from scenario.state import _Event

from support.ops_storm.recorder import Attempt
from tinkwell.client import UnitStatus
from tinkwell.client.unit.agent.grant import GrantedRelation, GrantedSecret
from tinkwell.client.unit.model import OpenPort
from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, TaskState

# What an agent writes into each bag by itself, as Juju does.
_ADDRESSES = frozenset({"private-address", "ingress-address", "egress-subnets"})
_STATUSES: Mapping[str, Any] = {
    "active": testing.ActiveStatus,
    "blocked": testing.BlockedStatus,
    "maintenance": testing.MaintenanceStatus,
    "waiting": testing.WaitingStatus,
}
# Ids of secrets are drawn by each side for itself, there of more letters, and so are the numbers of events.
_SECRET = re.compile(r"secret:[0-9a-z]{20}")
_NUMBER = re.compile(r"\[\d+\]")


class Replay:
    """The life of a unit in `ops.testing`."""

    def __init__(self, charm: type[ops.CharmBase], meta: dict[str, Any], **others: Any) -> None:
        self._charm = charm
        self._meta = meta
        self._others = others
        self._stored: Any = ()
        self._deferred: Any = ()

    def play(self, attempt: Attempt) -> list[str]:
        """Play an attempt, and return in which ways it differs, as sentences. Raises what `ops.testing` refuses.

        A task that has not succeeded has left nothing, and is not played.
        """
        grant = attempt.grant
        if attempt.outcome is not None and attempt.outcome.state is not TaskState.SUCCEEDED:
            return []
        relations = {each.number: _relation(each, attempt) for each in grant.relations}
        secrets = {each.id: made for each in grant.secrets if (made := _secret(each, attempt)) is not None}
        for id_, revision in attempt.contents:
            if not revision:
                content = {**attempt.contents[id_, revision]}
                secrets[id_] = testing.Secret(content, id=f"secret:{id_}")
        storages = {each: _storage(each) for each, is_attached in grant.storages.items() if is_attached}
        if grant.event.storage:
            storages.setdefault(grant.event.storage, _storage(grant.event.storage))
        context = testing.Context(
            self._charm,
            meta=self._meta,
            app_name=grant.application,
            unit_id=name.number_of(grant.unit),
            juju_version="3.6.9",
            **self._others,
        )
        before = testing.State(
            config={key: value for key, value in grant.config.items() if value is not None},
            relations=relations.values(),
            storages=storages.values(),
            secrets=secrets.values(),
            leader=grant.leadership.leads,
            opened_ports=[_port(each) for each in grant.ports],
            unit_status=_status(grant.status),
            stored_states=self._stored,
            deferred=self._deferred,
        )
        event = _event(context, attempt, relations, secrets, storages)
        with _without_unit() if _is_of_application(attempt) else contextlib.nullcontext():
            after = context.run(event, before)
        self._stored, self._deferred = after.stored_states, after.deferred
        return [*_differences(attempt, before, after)]


def _differences(attempt: Attempt, before: testing.State, after: testing.State) -> list[str]:
    told = {
        "status": (_plain(attempt.status), _said(after)),
        "bags": (_written(attempt), _changed(attempt, before, after)),
        "deferred": (_notices(attempt), [_notice(each) for each in after.deferred]),
    }
    return [
        f"{what}: the agent has {ours}, and ops.testing {theirs}"
        for what, (ours, theirs) in told.items()
        if ours != theirs
    ]


def _event(context: Any, attempt: Attempt, relations: Any, secrets: Any, storages: Any) -> Any:
    grant = attempt.grant
    if grant.task is not None:
        return context.on.action(grant.task.name, params=grant.task.parameters)
    event = grant.event
    kind = event.kind.replace("-", "_")
    if event.relation is not None:
        relation = relations[event.relation.number]
        units = {"remote_unit": name.number_of(event.relation.unit)} if event.relation.unit else {}
        return getattr(context.on, kind)(relation, **units)
    if event.secret is not None:
        revision = {"revision": event.secret.revision} if event.kind.is_of_revision else {}
        return getattr(context.on, kind)(secrets[event.secret.id], **revision)
    if event.storage:
        return getattr(context.on, kind)(storages[event.storage])
    # There is no function for what ops deprecates.
    make = getattr(context.on, kind, None)
    return make() if make is not None else _Event(kind)


@contextlib.contextmanager
def _without_unit() -> Iterator[None]:
    """Let an event of a relation come without a unit, as what an application has changed does; ops.testing has none."""
    right = Runtime._get_event_env

    def environment(*arguments: Any, **named: Any) -> dict[str, str]:
        return {**right(*arguments, **named), "JUJU_REMOTE_UNIT": ""}

    unchecked = mock.patch.dict(os.environ, {"SCENARIO_SKIP_CONSISTENCY_CHECKS": "1"})
    with unchecked, mock.patch.object(Runtime, "_get_event_env", environment):
        yield


def _is_of_application(attempt: Attempt) -> bool:
    event = attempt.grant.event
    return event.kind is EventKind.RELATION_CHANGED and event.relation is not None and not event.relation.unit


def _relation(given: GrantedRelation, attempt: Attempt) -> Any:
    about = attempt.grant.event.relation
    units = set(given.members)
    if about is not None and about.number == given.number:
        # Without a unit it would take any that is there: what an application has changed can only be told without them.
        units = set() if _is_of_application(attempt) else units | ({about.unit} if about.unit else set())
    bags = {name.number_of(unit): {**attempt.bags.get((given.number, unit), {})} for unit in units}
    own: dict[str, Any] = {"local_unit_data": {**given.own.data}}
    own["local_app_data"] = {**given.own_application.data} if given.own_application is not None else {}
    if given.peer:
        return testing.PeerRelation(given.endpoint, id=given.number, peers_data=bags, **own)
    return testing.Relation(
        given.endpoint,
        id=given.number,
        remote_app_name=given.application,
        remote_app_data={**attempt.bags.get((given.number, given.application), {})},
        remote_units_data=bags,
        **own,
    )


def _secret(given: GrantedSecret, attempt: Attempt) -> Any:
    latest = attempt.contents.get((given.id, given.latest))
    if latest is None:
        return None
    owner: Any = None
    if given.owner == attempt.grant.unit or given.owner == attempt.grant.application:
        owner = "unit" if "/" in given.owner else "app"
    return testing.Secret(
        tracked_content={**attempt.contents.get((given.id, given.tracked), latest)},
        latest_content={**latest},
        id=f"secret:{given.id}",
        owner=owner,
        label=given.label or None,
    )


def _port(port: OpenPort) -> testing.Port:
    if port.protocol == "icmp":
        return testing.ICMPPort()
    return (testing.TCPPort if port.protocol == "tcp" else testing.UDPPort)(port.number)


def _storage(instance: str) -> testing.Storage:
    kind, _, number = instance.rpartition("/")
    return testing.Storage(kind, index=int(number))


def _status(status: UnitStatus) -> Any:
    made = _STATUSES.get(status.name)
    return made(status.message) if made else None


def _plain(status: UnitStatus) -> tuple[str, str]:
    return (status.name, status.message) if status.name in _STATUSES else ("unknown", "")


def _said(state: testing.State) -> tuple[str, str]:
    return state.unit_status.name, state.unit_status.message


def _written(attempt: Attempt) -> dict[tuple[int, bool, str], str | None]:
    """Return what the agent has committed of bags: the value for each key of each, None for one that is gone."""
    return {
        (bag.relation, bag.is_application, edit.key): _masked(edit.value) if edit.HasField("value") else None
        for bag in attempt.effects.bags
        for edit in bag.edits
        if edit.key not in _ADDRESSES and not _is_same(attempt, bag, edit)
    }


def _is_same(attempt: Attempt, bag: Any, edit: Any) -> bool:
    """Return whether an edit changes nothing: a charm may write what is there already."""
    given = next((each for each in attempt.grant.relations if each.number == bag.relation), None)
    if given is None:
        return False
    own = given.own_application if bag.is_application else given.own
    return own is not None and own.data.get(edit.key) == (edit.value if edit.HasField("value") else None)


def _changed(attempt: Attempt, before: testing.State, after: testing.State) -> dict[tuple[int, bool, str], str | None]:
    former: dict[int, Any] = {each.id: each for each in before.relations}
    later: list[Any] = [*after.relations]
    found: dict[tuple[int, bool, str], str | None] = {}
    for relation in later:
        old = former[relation.id]
        pairs = (
            (False, old.local_unit_data, relation.local_unit_data),
            (True, old.local_app_data, relation.local_app_data),
        )
        for is_application, one, other in pairs:
            for key in one.keys() | other.keys():
                if one.get(key) != other.get(key) and key not in _ADDRESSES:
                    value = other.get(key)
                    found[relation.id, is_application, key] = None if value is None else _masked(value)
    return found


def _notices(attempt: Attempt) -> list[str]:
    """Return the handlers that are to hear an event once more, after what the agent has committed."""
    consumed = {each.handler for each in attempt.effects.consumed}
    kept = [each.handler for each in attempt.grant.deferred if each.handler not in consumed]
    return [_NUMBER.sub("", each) for each in [*kept, *(each.handler for each in attempt.effects.deferred)]]


def _notice(deferred: testing.DeferredEvent) -> str:
    return _NUMBER.sub("", f"{deferred.owner}.{deferred.observer} for {deferred.handle_path}")


def _masked(text: str) -> str:
    return _SECRET.sub("secret:", text)
