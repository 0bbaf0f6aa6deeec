"""I18, I22 to I24 and I26: events between a unit's start and its end."""

from collections.abc import Iterator

from tinkwell.core.unit.invariant.history import History, Told, UnitHistory
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventKind, EventState

_K = EventKind
_OPERATION = (_K.UPGRADE_CHARM, _K.PRE_SERIES_UPGRADE, _K.POST_SERIES_UPGRADE, _K.COLLECT_METRICS, _K.UPDATE_STATUS)


def upgrade_is_followed(history: History) -> Iterator[Violation]:
    """I18: `upgrade-charm`, `config-changed` and `start` are adjacent."""
    for unit in history.units:
        for index, told in enumerate(unit.stream):
            if told.kind is not _K.UPGRADE_CHARM:
                continue
            following = [one.kind for one in unit.stream[index + 1 : index + 3]]
            if following != [_K.CONFIG_CHANGED, _K.START][: len(following)]:
                yield of("I18", unit, told, f"{' and '.join(following)} follow it")


def code_never_goes_back(history: History) -> Iterator[Violation]:
    """I18: a unit's code changes by `upgrade-charm`, or by a new attempt of an event, and only to newer code."""
    for unit in history.units:
        charms = [record.charm for record in unit.application.records]
        charms = [charm for before, charm in zip(["", *charms], charms, strict=False) if charm != before]
        position = -1
        for event in unit.events:
            if event.state is not EventState.RUNNING:
                continue
            # A charm that an operator returns to counts as the newest one.
            at = next((index for index in range(max(position, 0), len(charms)) if charms[index] == event.charm), None)
            if at is None:
                yield of(
                    "I18", unit, event, f"it runs on charm {event.charm[:12]}, which is older than what ran before"
                )
            elif at != position:
                if position >= 0 and event.attempt == 1 and event.kind is not _K.UPGRADE_CHARM:
                    yield of("I18", unit, event, f"it runs on charm {event.charm[:12]} without upgrade-charm")
                position = at


def operation_comes_after_start(history: History) -> Iterator[Violation]:
    """I22 and I23: `update-status`, upgrades and requested events come after `start`, and before the removal."""
    for unit in history.units:
        for told in unit.stream:
            if told.kind not in _OPERATION:
                continue
            name = "I22" if told.kind is _K.UPDATE_STATUS else "I18" if told.kind is _K.UPGRADE_CHARM else "I23"
            if told.first_granted < unit.started:
                yield of(name, unit, told, "it came before start")
            if told.granted > unit.dying:
                yield of(name, unit, told, "it came after the removal was asked for")


def update_status_comes_last(history: History) -> Iterator[Violation]:
    """I22: `update-status` comes when no other event is due."""
    for unit in history.units:
        config = charm = ""
        version = 0
        for told in unit.stream:
            if told.kind is _K.CONFIG_CHANGED:
                version = told.record.config
            elif told.kind in (_K.INSTALL, _K.UPGRADE_CHARM):
                charm = told.record.charm
            elif told.kind is _K.UPDATE_STATUS:
                known = unit.application.at(unit.horizon(told.first_granted))
                config = "config-changed" if known.config_version > version else config
                due = config or ("upgrade-charm" if _is_owed(unit, told, charm) else "")
                if due:
                    yield of("I22", unit, told, f"{due} was due")
                config = ""


def _is_owed(unit: UnitHistory, told: Told, charm: str) -> bool:
    """Return whether an upgrade was certainly due: the application did not have `charm` from the grant's horizon on."""
    horizon = unit.horizon(told.first_granted)
    since = [one.charm for one in unit.application.records if horizon < one.revision <= told.first_granted]
    return charm not in [unit.application.at(horizon).charm, *since]


def post_follows_pre(history: History) -> Iterator[Violation]:
    """I23: `post-series-upgrade` comes after its `pre-series-upgrade`."""
    for unit in history.units:
        is_open = False
        for told in unit.stream:
            if told.kind is _K.PRE_SERIES_UPGRADE:
                if is_open:
                    yield of("I23", unit, told, "the one before it was not finished")
                is_open = True
            elif told.kind is _K.POST_SERIES_UPGRADE:
                if not is_open:
                    yield of("I23", unit, told, "no pre-series-upgrade came before it")
                is_open = False


def storage_is_one_to_one(history: History) -> Iterator[Violation]:
    """I24: each storage is attached to a unit, and detached from it, in turn."""
    for unit in history.units:
        attached: dict[str, Told] = {}
        for told in unit.stream:
            name = told.record.storage
            if told.kind is _K.STORAGE_ATTACHED:
                if name in attached:
                    yield of("I24", unit, told, "it was attached already")
                attached[name] = told
            elif told.kind is _K.STORAGE_DETACHING and attached.pop(name, None) is None:
                yield of("I24", unit, told, "it was not attached")
        if unit.gone < unit.forced:
            for told in attached.values():
                yield of("I24", unit, told, "it was never detached")


def configuration_is_seen(history: History) -> Iterator[Violation]:
    """I26: for each configuration there is a `config-changed` whose last attempt was granted after it."""
    for unit in history.units:
        last = -1
        for told in unit.stream:
            if told.kind is not _K.CONFIG_CHANGED:
                continue
            seen, known = told.record.config, unit.application.at(unit.horizon(told.granted)).config_version
            is_run = told.record.state is EventState.COMMITTED or told.first_granted < told.revision
            if is_run and seen < known:
                yield of("I26", unit, told, f"it saw configuration {seen}, and {known} was there before it")
            if seen < last:
                yield of("I26", unit, told, f"it saw configuration {seen} after {last}")
            last = max(last, seen)
