"""Applications, units and their events between protobuf and objects, and their JSON shape."""

from typing import Any

import pytest

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2
from tinkwell.client import Bag, NoEvent, NoEventReason, Relation, Unit, UnitEvent, UnitStatus, errors
from tinkwell.client.unit import message
from tinkwell.client.unit.agent import effect_message, worker
from tinkwell.core.unit.effect import BagEdit, Effects, Notice, Port, StorageRequest
from tinkwell.core.unit.kinds import EventKind, EventState, Owner, Profile
from tinkwell.core.unit.unit_event import Seen
from tinkwell.core.unit.unit_event import UnitEvent as Told

# As the triggers of the database write it.
UNIT_EVENT: dict[str, Any] = {
    "id": "e1",
    "application_id": "a1",
    "unit_id": "u1",
    "namespace": "default",
    "unit": "web/0",
    "kind": "relation-joined",
    "ordinal": 7,
    "attempt": 1,
    "state": "COMMITTED",
    "phase": "OPERATION",
    "relation": {
        "number": 3,
        "endpoint": "db",
        "peer": False,
        "application": "pg",
        "unit": "pg/0",
        "departing_unit": "",
    },
    "storage": "",
    "mirrored": False,
    "echo": False,
    "seen": {"config": 3, "charm": "sha256:1", "term": 1, "bag": 4},
    "reason": "",
    "leaving": "",
    "actor": "",
    "cause": {"type": "RELATION", "version": 4},
    "message": "",
    "deferred": 0,
    "consumed": 1,
    "version": 2,
}


def test_an_event_of_the_log_is_read_as_the_event_of_a_unit_and_written_as_it_was() -> None:
    event = UnitEvent.from_json(UNIT_EVENT)
    assert event.to_json() == UNIT_EVENT
    assert event.name == "db-relation-joined"
    assert event.told == Told(
        kind=EventKind.RELATION_JOINED,
        relation=3,
        endpoint="db",
        application="pg",
        unit="pg/0",
        seen=Seen(config=3, charm="sha256:1", term=1, bag=4),
    )


def test_an_event_about_no_relation_has_none() -> None:
    event = UnitEvent.from_json({**UNIT_EVENT, "relation": None, "kind": "storage-attached", "storage": "data/3"})
    assert (event.relation, event.name, event.told.relation) == (None, "data-storage-attached", 0)


def test_a_changed_bag_is_told_with_its_owner_and_its_keys() -> None:
    found = Relation.from_json(
        {
            "id": "r1",
            "number": 3,
            "namespace": "default",
            "interface": "sql",
            "peer": False,
            "life": "ALIVE",
            "ends": [{"application": "pg", "endpoint": "db"}, {"application": "web", "endpoint": "db"}],
            "owner": "pg/0",
            "version": 4,
            "keys": ["dsn", "user"],
        }
    )
    assert (found.owner, found.keys, [str(end) for end in found.ends]) == ("pg/0", ("dsn", "user"), ["pg:db", "web:db"])


def test_a_unit_has_the_event_that_runs() -> None:
    source = pb.Unit(
        id="u1",
        name="web/0",
        life=pb.LIFE_DYING,
        phase=pb.UNIT_PHASE_TEARDOWN,
        status=pb.UnitStatus(name="active"),
        event=pb.UnitEvent(
            id="e1", kind="stop", ordinal=9, state=pb.UNIT_EVENT_STATE_ERROR, phase=pb.UNIT_PHASE_TEARDOWN
        ),
        is_agent_alive=True,
        last_ordinal=9,
    )
    found = message.unit(source)
    assert found.event is not None
    assert (found.event.kind, found.event.state) == (EventKind.STOP, EventState.ERROR)
    assert (found.application, found.has_agent, found.settled) == ("web", True, False)
    assert Unit.from_json(found.to_json()).status == UnitStatus("active", "")


def test_a_kind_of_event_of_a_newer_server_is_an_error_that_says_what_to_do() -> None:
    source = pb.UnitEvent(id="e1", kind="reboot", state=pb.UNIT_EVENT_STATE_RUNNING, phase=pb.UNIT_PHASE_OPERATION)
    with pytest.raises(errors.Error, match="reboot, which this release does not know; upgrade it"):
        message.event(source)


def test_a_charm_has_its_options_with_their_defaults_as_values() -> None:
    source = pb.Charm(id="c1", kind=pb.CHARM_KIND_SCRIPTS, profile=pb.UNIT_PROFILE_JUJU)
    source.options.add(name="size", type="int", default="2", minimum="1")
    source.endpoints.add(name="db", role=pb.ENDPOINT_ROLE_REQUIRES, interface="sql")
    found = message.charm(source)
    assert [(each.name, each.default, each.minimum, each.maximum) for each in found.options] == [("size", 2, 1, None)]
    assert [(each.name, each.role) for each in found.endpoints] == [("db", "REQUIRES")]
    assert found.profile is Profile.JUJU


def test_nothing_to_run_says_why_and_when_to_ask_again() -> None:
    none = unit_service_pb2.NoEvent(reason=unit_service_pb2.NO_EVENT_REASON_IN_ERROR, due_in_seconds=4.5)
    found = effect_message.following(unit_service_pb2.NextEventResponse(none=none))
    assert found == NoEvent(reason=NoEventReason.IN_ERROR, due_in_seconds=4.5)
    none.ClearField("due_in_seconds")
    assert effect_message.following(unit_service_pb2.NextEventResponse(none=none)) == NoEvent(
        reason=NoEventReason.IN_ERROR
    )
    with pytest.raises(errors.Error, match="neither an event nor why"):
        effect_message.following(unit_service_pb2.NextEventResponse())


def test_a_grant_has_the_bags_that_the_unit_may_read() -> None:
    source = unit_service_pb2.Grant(
        event=pb.UnitEvent(
            id="e1", kind="start", state=pb.UNIT_EVENT_STATE_RUNNING, phase=pb.UNIT_PHASE_SETUP, ordinal=4, attempt=2
        ),
        unit="web/0",
        profile=pb.UNIT_PROFILE_LITERAL,
        kind=pb.CHARM_KIND_NATIVE,
        config='{"size": 2}',
        state={"a": "b"},
    )
    source.relations.add(
        number=3, endpoint="db", life=pb.LIFE_ALIVE, application="pg", own=pb.Bag(owner="web/0", data={"x": "y"})
    )
    source.storages.add(name="data/0", is_attached=True)
    found = effect_message.grant(source)
    (relation,) = found.relations
    assert relation.own == Bag("web/0", {"x": "y"})
    assert relation.own_application is None
    assert (found.config, found.state, found.storages) == ({"size": 2}, {"a": "b"}, {"data/0": True})
    assert (found.event.ordinal, found.event.attempt) == (4, 2)


def test_effects_are_kept_in_the_form_in_which_they_are_sent() -> None:
    effects = Effects(
        term=2,
        bags=(BagEdit(relation=3, owner=Owner.APPLICATION, edits={"a": "1", "b": None}),),
        state={"k": None},
        opened=(Port(protocol="tcp", number=80),),
        storages=(StorageRequest(storage="data", count=2),),
        deferred=(Notice(ordinal=7, handler="database", event="{}"),),
    )
    sent = unit_service_pb2.Effects.FromString(worker.encode(effects))
    assert sent == effect_message.to_effects(effects)
    (bag,) = sent.bags
    assert (bag.is_application, [(edit.key, edit.HasField("value")) for edit in bag.edits]) == (
        True,
        [("a", True), ("b", False)],
    )
    assert (sent.term, sent.opened[0].number, sent.storages[0].count, sent.deferred[0].handler) == (
        2,
        80,
        2,
        "database",
    )


def test_text_that_is_no_unicode_is_refused_by_the_name_of_its_field() -> None:
    with pytest.raises(errors.InvalidField, match="value"):
        worker.encode(Effects(state={"k": "\ud800"}))
