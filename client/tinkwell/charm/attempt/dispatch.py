"""Passes an event to a charm: first the deferred events, then the event itself.

Theory of operation. A handler that calls `defer()` leaves a *notice*: the event and the handler's name. An attempt at
any later event tries each waiting notice once, in their order, and then calls the event's own handlers, in the order in
which they stand in the class. A notice whose handler defers again keeps its place; otherwise it is consumed. The
notices are stored together with the effects, so a failed attempt leaves them as they were.

    event 1: defers              notices [1]
    event 2: tries 1, then 2     notices []      consumed in the order 1, 2
    or
    event 2: 1 defers, then 2    notices [1]
    event 3: tries 1, then 3     notices []      consumed in the order 2, 1, 3
"""

import logging
from collections.abc import Mapping
from typing import TypedDict

from tinkwell.charm import event as kinds
from tinkwell.charm.attempt.given import Attempt, Surroundings
from tinkwell.charm.attempt.situation import Situation
from tinkwell.charm.charm import Charm
from tinkwell.charm.declaration import Subject
from tinkwell.charm.relation import Relation
from tinkwell.charm.task import Task
from tinkwell.core.unit import limit, notice
from tinkwell.core.unit import secret as secret_rules
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, Notice, TaskOutcome
from tinkwell.core.unit.kinds import EventKind, TaskState
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.value import document

logger = logging.getLogger(__name__)

_MESSAGE_CHARACTERS = 1_000

_PLAIN: dict[EventKind, type[kinds.Event]] = {
    each.kind: each
    for each in (
        kinds.Install,
        kinds.Start,
        kinds.Stop,
        kinds.Remove,
        kinds.ConfigChanged,
        kinds.UpgradeCharm,
        kinds.UpdateStatus,
        kinds.LeaderElected,
        kinds.LeaderSettingsChanged,
        kinds.PreSeriesUpgrade,
        kinds.PostSeriesUpgrade,
        kinds.CollectMetrics,
    )
}
_RELATION: dict[EventKind, type[kinds.RelationEvent]] = {
    each.kind: each
    for each in (kinds.RelationCreated, kinds.RelationJoined, kinds.RelationChanged, kinds.RelationBroken)
}
_STORAGE: dict[EventKind, type[kinds.StorageEvent]] = {
    each.kind: each for each in (kinds.StorageAttached, kinds.StorageDetaching)
}
_SECRET: dict[EventKind, type[kinds.SecretEvent]] = {
    each.kind: each for each in (kinds.SecretChanged, kinds.SecretRotate, kinds.SecretExpired, kinds.SecretRemove)
}
_READ_REMOTE = frozenset({EventKind.RELATION_JOINED, EventKind.RELATION_CHANGED, EventKind.RELATION_DEPARTED})


class _RelationFacts(TypedDict):
    ordinal: int
    is_again: bool
    reason: str
    relation: Relation
    application: str
    unit: str
    remote: Mapping[str, str]


async def dispatch(charm_class: type[Charm], attempt: Attempt, surroundings: Surroundings) -> Effects:
    """Call all handlers of an attempt, and return their effects. Raises the error of a handler."""
    situation = Situation(attempt, surroundings)
    charm = charm_class(situation)
    consumed, waiting = await _drain(charm)
    said = notice.write(attempt.event)
    deferred: list[Notice] = []
    for name in _handlers(charm_class, attempt.event):
        is_deferred = await _call(charm, name, attempt.event, attempt.ordinal, is_again=False)
        # A notice that equals a waiting one would call the handler twice for the same event.
        if is_deferred and (name, said) not in waiting:
            deferred.append(Notice(ordinal=attempt.ordinal, handler=name, event=said))
    return situation.effects(deferred=tuple(deferred), consumed=tuple(consumed))


async def run(charm_class: type[Charm], attempt: Attempt, surroundings: Surroundings) -> tuple[Effects, TaskOutcome]:
    """Run the task of an attempt, and return its effects and its outcome; a failed task has no effects.

    Notices are tried before it, as before an event. Raises the error of the method.
    """
    assert attempt.task is not None
    given = attempt.task
    action = next((each for each in charm_class.declared.actions if each.declared.name == given.action), None)
    if action is None:
        return NO_EFFECTS, _failed(f"the charm has no action {given.action}")
    situation = Situation(attempt, surroundings)
    charm, task = charm_class(situation), Task(given, surroundings)
    consumed, _ = await _drain(charm)
    arguments = {key: float(value) if key in action.floats else value for key, value in given.parameters.items()}
    result = await getattr(charm, action.method)(task, **arguments)
    if task.failure is not None:
        return NO_EFFECTS, _failed(task.failure, _written(result))
    if (text := _written(result)) is None:
        return NO_EFFECTS, _failed(f"it has returned {type(result).__name__}, which is no mapping that JSON has")
    if len(text.encode()) > limit.TASK_RESULT_BYTES:
        return NO_EFFECTS, _failed(f"its result has more than {limit.TASK_RESULT_BYTES:,} bytes")
    return situation.effects(deferred=(), consumed=tuple(consumed)), TaskOutcome(state=TaskState.SUCCEEDED, result=text)


def _failed(why: str, result: str | None = None) -> TaskOutcome:
    return TaskOutcome(state=TaskState.FAILED, message=why[:_MESSAGE_CHARACTERS], result=result or "")


def _written(result: object) -> str | None:
    """Return a result as JSON text, empty for None; None if it cannot be JSON."""
    if result is None:
        return ""
    try:
        return document.dump_json(result) if isinstance(result, Mapping) else None
    except (TypeError, ValueError, RecursionError):
        return None


async def _drain(charm: Charm) -> tuple[list[Notice], set[tuple[str, str]]]:
    """Try each notice once; return the consumed ones, and the handlers and events of those that still wait."""
    consumed: list[Notice] = []
    waiting: set[tuple[str, str]] = set()
    names = {handler.name for handler in charm.declared.handlers}
    for each in charm.situation.attempt.notices:
        if each.handler not in names:
            fields = {"unit": charm.unit, "handler": each.handler}
            logger.warning("a deferred event has no handler any more", extra=fields)
            consumed.append(each)
        elif (event := _read(charm, each)) is None or await _call(
            charm, each.handler, event, each.ordinal, is_again=True
        ):
            waiting.add((each.handler, each.event))
        else:
            consumed.append(each)
    return consumed, waiting


def _read(charm: Charm, waiting: Notice) -> UnitEvent | None:
    """Read the event of a notice; None if only a newer release knows it, which then handles the notice."""
    try:
        return notice.read(waiting.event)
    except ValueError as error:
        logger.warning("a deferred event is not known here", extra={"unit": charm.unit, "cause": str(error)})
        return None


def _handlers(charm_class: type[Charm], event: UnitEvent) -> list[str]:
    """Return the names of an event's handlers in the order of the class."""
    subject = Subject(event.kind, event.endpoint or event.storage.partition("/")[0])
    return [handler.name for handler in charm_class.declared.handlers if subject in handler.subjects]


async def _call(charm: Charm, name: str, event: UnitEvent, ordinal: int, *, is_again: bool) -> bool:
    """Call one handler; return whether it deferred the event. Each handler gets its own event object."""
    made = await _made(charm.situation, event, ordinal=ordinal, is_again=is_again)
    await getattr(charm, name)(made)
    return made.is_deferred


async def _made(situation: Situation, event: UnitEvent, *, ordinal: int, is_again: bool) -> kinds.Event:
    reason = "" if is_again else situation.attempt.reason
    if (plain := _PLAIN.get(event.kind)) is not None:
        return plain(ordinal=ordinal, is_again=is_again, reason=reason)
    if (storage := _STORAGE.get(event.kind)) is not None:
        instance = situation.storage(event.storage)
        return storage(ordinal=ordinal, is_again=is_again, reason=reason, storage=instance)
    if (secret := _SECRET.get(event.kind)) is not None:
        return secret(
            ordinal=ordinal,
            is_again=is_again,
            reason=reason,
            secret=secret_rules.uri(event.secret),
            label=situation.secrets.label_of(event.secret),
            revision=event.revision,
        )
    relation = situation.relation(event.relation, endpoint=event.endpoint, application=event.application)
    facts = _RelationFacts(
        ordinal=ordinal,
        is_again=is_again,
        reason=reason,
        relation=relation,
        application=event.application,
        unit=event.unit,
        remote=await _remote(situation, event, relation, is_again=is_again),
    )
    if event.kind is EventKind.RELATION_DEPARTED:
        return kinds.RelationDeparted(**facts, departing_unit=event.departing_unit)
    return _RELATION[event.kind](**facts)


async def _remote(situation: Situation, event: UnitEvent, relation: Relation, *, is_again: bool) -> Mapping[str, str]:
    """Read the bag that an event is about, as it is now, even for a deferred event; empty if it is gone."""
    if event.kind not in _READ_REMOTE:
        return {}
    if event.unit == situation.attempt.unit:
        return dict(relation.unit)
    is_there = relation.is_active and (not event.unit or event.unit in relation.units)
    if is_again and not is_there:
        return {}
    return await situation.read_bag(event.relation, event.unit or event.application)
