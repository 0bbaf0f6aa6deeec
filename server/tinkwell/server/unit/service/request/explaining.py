"""Implements Explain: what a unit does, waits for or failed in, the causes of that, and the events that follow."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tinkwell.core.unit.kinds import CharmKind, EventState, Life
from tinkwell.core.unit.record import Event, Notice, Unit
from tinkwell.core.unit.resolver import explanation
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.server.database.database import Database, Fetch
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.removing import missing
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.delivery import Loaded
from tinkwell.server.unit.store.request import cause as store
from tinkwell.server.unit.store.request import event as events
from tinkwell.server.unit.store.request import place, unit

_MAX_CAUSES = 6
_MAX_BEHIND = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """A cause as a sentence, and the revision of its event in the log, 0 if that is not known."""

    sentence: str
    revision: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a unit is in its state. `behind` has the names of the events that are due after the one in flight."""

    unit: Unit
    sentence: str
    causes: Sequence[Cause]
    behind: Sequence[str]
    deferred: Sequence[Notice]
    advice: str


class Explaining:
    """Explains units."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def explain(self, namespace: str, name: str) -> Explanation:
        """Say what a unit does, or why it does nothing. Raises `errors.InvalidField` and `errors.NotFound`."""
        named = requests.parse_unit(namespace, name)
        found = await unit.find(self._database.fetch, named.namespace, named.name)
        loaded = await delivery.load(self._database.fetch, found.id) if found is not None else None
        if found is None or loaded is None:
            raise missing(named.name)
        behind = _behind(loaded)
        has_agent = await place.has_agent(self._database.fetch, found.id)
        sentence, advice = _say(found, loaded, behind, has_agent=has_agent)
        return Explanation(
            unit=found,
            sentence=sentence,
            causes=await _causes(self._database.fetch, found) if found.event is not None else (),
            behind=behind,
            deferred=await events.list_notices(self._database.fetch, found.id),
            advice=advice,
        )


def _behind(loaded: Loaded) -> Sequence[str]:
    """Return the names of the events that are due after the commit of the event in flight."""
    if loaded.view.life is Life.DEAD:
        return ()
    ledger, flight = loaded.ledger, loaded.in_flight
    if flight is not None:
        ledger = advance(ledger, flight.event, loaded.view)
    return tuple(event.name for event in explanation.upcoming(ledger, loaded.view, most=_MAX_BEHIND))


def _say(found: Unit, loaded: Loaded, behind: Sequence[str], *, has_agent: bool) -> tuple[str, str]:
    """Return a sentence on what a unit does, and a sentence on what an operator can do."""
    if found.life is Life.DEAD:
        return f"{found.name} is gone", ""
    if found.event is not None and found.event.state is EventState.ERROR:
        return _say_failed(found, found.event, loaded)
    if (waiting := _say_waiting(found, loaded)) is not None:
        return waiting
    if loaded.running_task:
        return f"{found.name} runs a task", f"tinkwell task show {loaded.running_task}, or cancel it"
    if found.event is not None:
        again = f", attempt {found.event.attempt}" if found.event.attempt > 1 else ""
        return f"{found.name} runs {_title(found.event)}{again}", ""
    if behind and not has_agent:
        what = f"{loaded.application.charm[:19]}… of {loaded.application.name}"
        return f"{found.name} waits with {behind[0]}: no agent that is alive runs {what}", "start an agent that does"
    if behind:
        return f"{found.name} is about to run {behind[0]}", ""
    return f"{found.name} has handled all its events", ""


def _say_failed(found: Unit, event: Event, loaded: Loaded) -> tuple[str, str]:
    times = "once" if event.attempt == 1 else f"{event.attempt} times"
    sentence = f"{found.name} {_title(event)} failed {times}: {event.message or 'it does not say why'}"
    seconds = loaded.in_flight.retry_in_seconds if loaded.in_flight is not None else None
    if seconds is not None:
        sentence += f"; again in {seconds:.0f} s" if seconds > 0 else "; it is about to be tried again"
    return sentence, f"tinkwell unit resolve {found.name} retries the event; add --skip to skip it"


def _say_waiting(found: Unit, loaded: Loaded) -> tuple[str, str] | None:
    """Return the reason why a unit gets no events, or None if nothing prevents them."""
    if loaded.view.is_held:
        return f"{found.name} waits: a workflow has its machine, {found.machine}", "wait until the workflow has ended"
    hindered = explanation.hindrance(
        found.name,
        CharmKind(loaded.application.charm_kind),
        phase=found.phase,
        machine=found.machine,
        is_anywhere=found.is_anywhere,
        is_agent_alive=found.is_agent_alive,
        event=_title(found.event) if found.event is not None else "",
    )
    return (f"{found.name} {hindered.text}", hindered.advice) if hindered is not None else None


def _title(event: Event) -> str:
    about = event.relation and (event.relation.unit or event.relation.application)
    return f"#{event.ordinal} {event.name}{f' ({about})' if about else ''}"


async def _causes(fetch: Fetch, found: Unit) -> Sequence[Cause]:
    """Follow the causes of the event in flight through the events of the log."""
    assert found.event is not None
    causes: list[Cause] = []
    if found.event.reason:
        causes.append(_removal(found.event))
    told: Mapping[str, Any] | None = {**found.event.cause, "kind": found.event.kind}
    endpoint = found.event.relation.endpoint if found.event.relation else ""
    while told and len(causes) < _MAX_CAUSES:
        cause, told = await _follow(fetch, found.namespace, told, endpoint)
        if cause is not None:
            causes.append(cause)
    return causes


def _removal(event: Event) -> Cause:
    who = event.actor or "somebody"
    about = event.relation and (event.relation.departing_unit or event.relation.application)
    match event.reason:
        case "RELATION_REMOVED":
            return Cause(f"{who} ended the relation with {event.relation.application if event.relation else ''}")
        case "APPLICATION_REMOVED":
            return Cause(f"{who} removed the application {about if event.leaving != 'SELF' and about else ''}".rstrip())
        case "FORCED":
            return Cause(f"{about} was removed by force")
        case _:
            return Cause(f"{who} removed the unit {about if event.leaving == 'REMOTE' else event.unit}")


async def _follow(
    fetch: Fetch, namespace: str, told: Mapping[str, Any], endpoint: str
) -> tuple[Cause | None, Mapping[str, Any] | None]:
    """Return one cause, and the cause of that cause."""
    match told:
        case {"type": "RELATION", "id": number, "owner": str() as owner, "version": int() as version} if owner:
            return await _follow_bag(fetch, namespace, int(number), owner, version)
        case {"type": "APPLICATION", "id": str() as id_, "version": int() as version}:
            return await _follow_application(fetch, id_, version, str(told.get("kind", ""))), None
        case {"type": "CHARM", "id": str() as digest}:
            return Cause(f"its application has another charm, {digest[:19]}…"), None
        case {"type": "STORAGE", "id": str() as name}:
            return Cause(f"it has storage {name}"), None
        case {"type": "SECRET", "id": str() as name, "version": int() as revision}:
            return Cause(f"it is revision {revision} of secret {name}"), None
        case {"type": "SECRET", "id": str() as name}:
            return Cause(f"secret {name} is to rotate"), None
        case {"type": "RELATION"}:
            return Cause(f"it is in relation {endpoint or told.get('id')}"), None
        case _:
            return None, None


async def _follow_bag(
    fetch: Fetch, namespace: str, number: int, owner: str, version: int
) -> tuple[Cause | None, Mapping[str, Any] | None]:
    if not version:
        return Cause(f"{owner} is in relation {number}"), None
    changed = await store.find_bag(fetch, namespace, number, owner, version)
    if changed is None:
        return Cause(f"{owner} changed its bag of relation {number}"), None
    application = owner.partition("/")[0]
    ends = {end["application"]: end["endpoint"] for end in changed.data["ends"]}
    sentence = f"{owner} changed its {ends.get(application, '')} bag: {', '.join(changed.data['keys'])}"
    commit = await store.find_commit(fetch, namespace, owner, near=changed.revision) if "/" in owner else None
    if commit is None:
        return Cause(sentence, changed.revision), None
    relation, storage = commit.data["relation"], commit.data["storage"]
    before = relation["endpoint"] if relation else storage.partition("/")[0]
    name = f"{before}-{commit.data['kind']}" if before else commit.data["kind"]
    told = {**commit.data["cause"], "kind": commit.data["kind"]}
    return Cause(f"{sentence} (in {name} #{commit.data['ordinal']})", changed.revision), told


async def _follow_application(fetch: Fetch, application_id: str, version: int, kind: str) -> Cause | None:
    if kind.startswith("leader-"):
        elected = await store.find_application(fetch, application_id, "term", version)
        if elected is None:
            return None
        if not elected.data["leader"]:
            # A setup continues with what was announced before it, which may be nothing.
            return Cause(f"no leader of {elected.data['name']} had been announced yet", elected.revision)
        return Cause(f"{elected.data['leader']} leads {elected.data['name']}, in term {version}", elected.revision)
    changed = await store.find_application(fetch, application_id, "config_version", version)
    if changed is None:
        return None
    who = changed.actor or "somebody"
    verb = "deployed" if version == 1 else "changed the configuration of"
    return Cause(f"{who} {verb} {changed.data['name']}", changed.revision)
