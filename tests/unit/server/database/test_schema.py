"""Whether a release may run on a schema, by what the schema says of itself."""

from dataclasses import replace

import pytest

from tinkwell.server.database import schema
from tinkwell.server.database.schema import State

THIS = replace(schema.this_release(), version="1.2.0")
OURS = State(THIS.head, THIS.files, "1.2.0", "1.0")
OLDER = "the schema's functions are older than this release needs"
OTHER_FILES = {**THIS.files, "event/function.sql": "0"}


@pytest.mark.parametrize(
    "state",
    [
        OURS,
        replace(OURS, release="1.1"),
        replace(OURS, release="1.10"),
        replace(OURS, release="1.10", files=OTHER_FILES),
        replace(OURS, release="1.3rc1", revision="0999", files={}),
        replace(OURS, release="1.2", revision="0999", oldest_release="1.2"),
        replace(OURS, release="2", revision="0999", oldest_release="1.2.0.dev3"),
    ],
    ids=str,
)
def test_it_may_on_its_own_and_on_a_later_one_that_says_so(state: State) -> None:
    assert schema.refusal(state, THIS) is None


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (State(), f"the schema is at nothing, not at {THIS.head}: run `tinkwell db upgrade`"),
        (State(THIS.head), f"{OLDER}: run `tinkwell db upgrade`"),
        (replace(OURS, files=OTHER_FILES), OLDER),
        (replace(OURS, files=OTHER_FILES, release="1.1"), OLDER),
        (
            replace(OURS, files=OTHER_FILES, release="1.2rc1"),
            OLDER,
        ),
        (replace(OURS, release="1.3", oldest_release="1.2.1"), "and this is 1.2.0: upgrade the server"),
        (
            replace(OURS, release="1.10", revision="0999", oldest_release="1.10"),
            "the schema is at 0999, on which release 1.10 and later ones may run, and this is 1.2.0: upgrade",
        ),
        (State("0999"), "this release does not know"),
    ],
    ids=str,
)
def test_it_may_not_on_an_earlier_one_and_on_a_later_one_that_does_not_say_so(state: State, reason: str) -> None:
    assert reason in (schema.refusal(state, THIS) or "")
