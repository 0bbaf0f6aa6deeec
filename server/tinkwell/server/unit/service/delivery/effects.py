"""Checks the effects of an event, and writes them.

The agent's library has refused most wrong effects already. If an effect is wrong nevertheless, the event fails, and the
error names all wrong effects at once.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.unit import limit
from tinkwell.core.unit.effect import NO_EFFECTS, BagEdit, Effects, Port
from tinkwell.core.unit.kinds import EventKind, Membership, Owner
from tinkwell.core.unit.ledger import Ledger, Written
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View
from tinkwell.core.value import check, document, parse
from tinkwell.server.database.database import Transaction
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.delivery import storing
from tinkwell.server.unit.service.secret import drafting
from tinkwell.server.unit.service.secret import writing as secret_writing
from tinkwell.server.unit.service.secret.drafting import writes_secrets
from tinkwell.server.unit.store.agent import effect as store
from tinkwell.server.unit.store.agent import leader
from tinkwell.server.unit.store.agent.own import Own
from tinkwell.server.unit.store.delivery import Loaded, Looked

_MAX_KEY_BYTES = 1_000
_MAX_HANDLER_BYTES = 1_000
_MAX_NOTICE_BYTES = 16 * 1024
_MAX_PORTS = 1_000
_HIGHEST_PORT = 65_535
# These events are the last that a unit receives, or would be retried when nothing is left to do for them.
_NEVER_DEFERRED = (EventKind.STOP, EventKind.REMOVE, EventKind.SECRET_ROTATE, EventKind.SECRET_EXPIRED)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What effects are checked against: the unit as it was read under its lock.

    `event` is None for a task. `charm` is the digest of the charm that runs. `leads`: the unit leads its application in
    the term of its grant.
    """

    unit_id: str
    namespace: str
    event: UnitEvent | None
    charm: str
    ordinal: int
    ledger: Ledger
    view: View
    own: Own
    leads: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """The result of a write: the changed bags, and how many notices were added and removed.

    `changes_own`: something of the unit's own has changed. `changes_view`: the unit has new storages, or its view of
    its secrets has changed. `renewed` are revisions by secret id whose expiry has to be reported again.
    """

    written: Written
    deferred: int
    consumed: int
    changes_own: bool
    changes_view: bool
    renewed: Sequence[tuple[str, int]] = ()


class Refused(Exception):
    """The effects of an event are refused. The error names each wrong effect."""

    def __init__(self, error: errors.InvalidField | errors.SecretsDisabled) -> None:
        self.error = error
        super().__init__(str(error))

    @property
    def for_caller(self) -> errors.TinkwellError:
        """Return the error for the agent."""
        return (
            errors.CommitRefused(self.error.violations) if isinstance(self.error, errors.InvalidField) else self.error
        )


def writes_application(given: Effects) -> bool:
    """Whether effects change a bag or a secret of the application, which only the leader may do."""
    return any(edit.owner is Owner.APPLICATION for edit in given.bags) or writes_secrets(given)


async def has_led(transaction: Transaction, loaded: Loaded, given: Effects) -> bool:
    """Whether the effects write what only a leader may write, in a term that is over. The application is locked."""
    if not (writes_application(given) and given.term):
        return False
    leads = loaded.view.leads and loaded.view.term == given.term
    return not (leads and await leader.has_leader(transaction, loaded.application.id))


def not_leader(loaded: Loaded) -> errors.NotLeader:
    """Return the error for a unit that no longer leads its application. It names the leader."""
    view = loaded.view
    return errors.NotLeader(view.unit, leader="" if view.leads else view.leader)


def ground_of(looked: Looked, event: UnitEvent | None, *, charm: str, ordinal: int, term: int) -> Ground:
    """Return the ground for the effects of an event or a task. `term` is that of its grant, 0 without the lead."""
    loaded = looked.loaded
    return Ground(
        unit_id=loaded.unit.id,
        namespace=loaded.unit.namespace,
        event=event,
        charm=charm,
        ordinal=ordinal,
        ledger=loaded.ledger,
        view=loaded.view,
        own=looked.own,
        leads=loaded.view.leads and loaded.view.term == term,
    )


async def write(transaction: Transaction, ground: Ground, given: Effects, sealing: SecretService) -> Done:
    """Write the effects of an event or a task. Raises `Refused`; the transaction must not be committed then."""
    checks = check.Checks()
    bags = _bags(checks, ground, given)
    state = _state(checks, ground, given)
    _check_ports(checks, given)
    await storing.check_room(transaction, checks, ground.unit_id, ground.charm, given.storages)
    waiting = frozenset(store.key(each) for each in ground.own.notices)
    _check_notices(checks, ground, given, waiting)
    drafts = await drafting.draft(transaction, checks, ground, given) if given.secrets else None
    try:
        checks.finish()
        if drafts is not None and drafts.has_content:
            sealing.require()
    except (errors.InvalidField, errors.SecretsDisabled) as error:
        raise Refused(error) from error
    changed = {key: new for key, (old, new) in bags.items() if old != new}
    await store.write_bags(transaction, ground.namespace, changed)
    if state is not None:
        await store.write_state(transaction, ground.unit_id, state)
    await store.write_ports(transaction, ground.unit_id, opened=given.opened, closed=given.closed)
    deferred = 0
    if waiting or given.deferred:
        notices = {"consumed": given.consumed, "deferred": given.deferred}
        deferred = await store.write_notices(transaction, ground.unit_id, **notices)
    await storing.write(transaction, ground.unit_id, ground.namespace, given.storages)
    written = _written(ground.view, changed)
    renewed: Sequence[tuple[str, int]] = ()
    if drafts is not None:
        written = dataclasses.replace(written, tracked=drafts.tracked)
        renewed = await secret_writing.write(transaction, ground.unit_id, drafts, sealing)
    return Done(
        written=written,
        deferred=deferred,
        consumed=len(given.consumed),
        changes_own=bool(waiting) or given != NO_EFFECTS,
        changes_view=bool(given.storages or given.secrets),
        renewed=renewed,
    )


def _written(view: View, changed: Mapping[tuple[int, str], object]) -> Written:
    own = frozenset(number for number, owner in changed if owner == view.unit)
    application = (number for number, owner in changed if owner == view.application)
    return Written(own=own, peer_application=frozenset(each for each in application if view.relations[each].is_peer))


_Edited = dict[tuple[int, str], tuple[Mapping[str, str], dict[str, str]]]


def _bags(checks: check.Checks, ground: Ground, given: Effects) -> _Edited:
    """Return each edited bag, before and after."""
    owners = {Owner.UNIT: ground.view.unit, Owner.APPLICATION: ground.view.application}
    edited: _Edited = {}
    for index, edit in enumerate(given.bags):
        field = parse.child("effects.bags", index)
        if not _may_edit(checks, field, ground, edit):
            continue
        key = edit.relation, owners[edit.owner]
        stored = ground.own.bags[key].data if key in ground.own.bags else {}
        old, new = edited.get(key) or (stored, dict(stored))
        _apply(checks, f"{field}.edits", new, edit.edits, value_bytes=limit.BAG_VALUE_BYTES)
        _check_size(checks, field, new, most_bytes=limit.BAG_BYTES)
        if len(new) > limit.BAG_KEYS:
            checks.refuse(field, f"the bag would have {len(new):,} keys; at most {limit.BAG_KEYS:,} may be")
        edited[key] = old, new
    if edited:
        _check_own_bags(checks, ground, edited)
    return edited


def _check_own_bags(checks: check.Checks, ground: Ground, edited: _Edited) -> None:
    own = {key: each.data for key, each in ground.own.bags.items()} | {key: new for key, (_, new) in edited.items()}
    size = sum(_bytes(key) + _bytes(value) for data in own.values() for key, value in data.items())
    # A unit over the limit may still remove data.
    if size > limit.OWN_BAGS_BYTES and any(_has_more(old, new) for old, new in edited.values()):
        checks.refuse(
            "effects.bags",
            f"there would be {size:,} bytes in all bags of the unit and its application; "
            f"at most {limit.OWN_BAGS_BYTES:,} may be",
        )


def _has_more(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    return any(key not in old or len(value) > len(old[key]) for key, value in new.items())


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _may_edit(checks: check.Checks, field: str, ground: Ground, edit: BagEdit) -> bool:
    relation = ground.view.relations.get(edit.relation)
    told = ground.ledger.relations.get(edit.relation)
    if relation is None or relation.membership in (None, Membership.LEFT) or (told is not None and told.broken):
        checks.refuse(f"{field}.relation", f"the unit is not in a relation {edit.relation}")
        return False
    if edit.owner is Owner.APPLICATION and not ground.leads:
        checks.refuse(f"{field}.is_application", "only the unit that leads its application may write its bag")
        return False
    return True


def _state(checks: check.Checks, ground: Ground, given: Effects) -> Mapping[str, str] | None:
    """Return the state after the effects, or None if it stays unchanged."""
    if not given.state:
        return None
    state = dict(ground.own.state)
    _apply(checks, "effects.state", state, given.state, value_bytes=limit.STATE_BYTES)
    _check_size(checks, "effects.state", state, most_bytes=limit.STATE_BYTES)
    return state


def _apply(
    checks: check.Checks, field: str, data: dict[str, str], edits: Mapping[str, str | None], *, value_bytes: int
) -> None:
    for key, value in edits.items():
        checks.take(parse.parse_text, f"{field}.key", key, max_bytes=_MAX_KEY_BYTES)
        if value is None:
            data.pop(key, None)
        elif "\0" in value:
            checks.refuse(f"{field}[{parse.show(key)}]", "holds the character U+0000, which cannot be stored")
        elif len(value.encode(errors="surrogatepass")) > value_bytes:
            checks.refuse(f"{field}[{parse.show(key)}]", f"is longer than {value_bytes:,} bytes")
        else:
            data[key] = value


def _check_size(checks: check.Checks, field: str, data: Mapping[str, str], *, most_bytes: int) -> None:
    # The size is that of the stored JSON text, in which quotation marks and control characters are escaped.
    size = len(json.dumps(dict(data), ensure_ascii=False).encode(errors="surrogatepass"))
    if size > most_bytes:
        checks.refuse(field, f"there would be {size:,} bytes of JSON in all; at most {most_bytes:,} may be")


def _check_ports(checks: check.Checks, given: Effects) -> None:
    for word, ports in (("opened", given.opened), ("closed", given.closed)):
        if len(ports) > _MAX_PORTS:
            checks.refuse(f"effects.{word}", f"there are {len(ports):,} ports; at most {_MAX_PORTS:,} may come at once")
        for index, port in enumerate(ports[:_MAX_PORTS]):
            _check_port(checks, parse.child(f"effects.{word}", index), port)


def _check_port(checks: check.Checks, field: str, port: Port) -> None:
    if port.protocol == "icmp":
        if port.number:
            checks.refuse(f"{field}.number", "icmp has no numbers; leave it out")
    elif port.protocol not in ("tcp", "udp"):
        checks.refuse(f"{field}.protocol", f"{parse.show(port.protocol)} is none of tcp, udp, icmp")
    elif not 1 <= port.number <= _HIGHEST_PORT:
        checks.refuse(f"{field}.number", f"{port.number} is no port; give one from 1 to {_HIGHEST_PORT:,}")


def _check_notices(checks: check.Checks, ground: Ground, given: Effects, waiting: frozenset[str]) -> None:
    gone = {store.key(each) for each in given.consumed}
    for index, notice in enumerate(given.consumed):
        if store.key(notice) not in waiting:
            checks.refuse(parse.child("effects.consumed", index), "the unit has no such notice")
    if given.deferred and ground.event is None:
        checks.refuse("effects.deferred", "a task is run once, and cannot be deferred")
    elif given.deferred and ground.event is not None and ground.event.kind in _NEVER_DEFERRED:
        checks.refuse("effects.deferred", f"{ground.event.kind} is told once, and cannot be deferred")
    count = len(waiting - gone) + len(given.deferred)
    if count > limit.NOTICES:
        checks.refuse("effects.deferred", f"there would be {count:,} notices; at most {limit.NOTICES:,} may wait")
    for index, notice in enumerate(given.deferred):
        field = parse.child("effects.deferred", index)
        checks.take(parse.parse_text, f"{field}.handler", notice.handler, max_bytes=_MAX_HANDLER_BYTES)
        checks.take(_parse_document, f"{field}.event", notice.event)
        if not 1 <= notice.ordinal <= ground.ordinal:
            checks.refuse(f"{field}.ordinal", f"{notice.ordinal} is of no event that the unit has had")


def _parse_document(field: str, text: str) -> str:
    document.parse_json_object(field, text, max_bytes=_MAX_NOTICE_BYTES)
    return text
