"""What an attempt may not do to secrets is said to its program, while that can still do something else."""

import dataclasses

import pytest
from unit.provisioner.unit import stage

from tinkwell.core.unit import limit
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Secret
from tinkwell.provisioner.unit.attempt.secret import Change
from tinkwell.provisioner.unit.attempt.world import Refused

CONTENT = Change(content={"password": "kanarienvogel"})


def _attempt(secrets: int, revisions: int = 1) -> Attempt:
    """Make an attempt of a unit that owns so many secrets, the first of which has so many revisions."""
    owned = {
        f"{number:020}": Secret(id=f"{number:020}", owner=stage.UNIT, is_owned=True, latest=1, revisions=(1,))
        for number in range(secrets)
    }
    first = dataclasses.replace(owned["0" * 20], latest=revisions, revisions=tuple(range(1, revisions + 1)))
    return stage.attempt(dataclasses.replace(stage.given(), secrets={**owned, "0" * 20: first}))


async def test_so_many_may_be_owned_and_one_that_goes_makes_room() -> None:
    attempt = _attempt(limit.SECRETS_PER_OWNER)
    with pytest.raises(Refused, match=r"^web/0 has 1,000 secrets, which is the most: remove some first$"):
        await attempt.secrets.add(CONTENT, is_application=False)
    attempt.secrets.remove("0" * 20, 0)
    await attempt.secrets.add(CONTENT, is_application=False)
    with pytest.raises(Refused, match="1,000 secrets"):
        await attempt.secrets.add(CONTENT, is_application=False)


def test_so_many_revisions_may_be_kept_and_all_that_is_set_in_an_event_is_one() -> None:
    attempt = _attempt(1, limit.REVISIONS_PER_SECRET)
    with pytest.raises(Refused, match="has 1,000 revisions, which is the most: remove those that nobody reads first"):
        attempt.secrets.set("0" * 20, CONTENT)
    attempt.secrets.set("0" * 20, Change(label="still"))
    attempt.secrets.remove("0" * 20, 1)
    attempt.secrets.set("0" * 20, CONTENT)
    attempt.secrets.set("0" * 20, CONTENT)
    assert len(attempt.secrets.owned[0].revisions) == limit.REVISIONS_PER_SECRET
