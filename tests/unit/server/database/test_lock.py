"""Advisory locks of the database are told apart by their numbers alone."""

from tinkwell.server.database import election, schema
from tinkwell.server.hardware.store import enrolment
from tinkwell.server.log.store import partition


def test_whoever_takes_a_lock_waits_for_nobody_who_does_something_else() -> None:
    keys = [schema._UPGRADE_LOCK, partition.LOCK, enrolment._TURN, election._KEY]
    assert len(set(keys)) == len(keys)
