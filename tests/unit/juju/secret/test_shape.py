"""Secrets as Juju writes them."""

import pytest

from tinkwell.client import Secret, SecretGranted
from tinkwell.core.unit.kinds import Rotation
from tinkwell.juju.secret import shape


@pytest.mark.parametrize(
    ("text", "name"),
    [("secret:abc", "abc"), ("secret://7f8b-uuid/abc", "abc"), (" my-name\n", "my-name")],
)
def test_a_secret_is_named_by_its_uri_or_its_name(text: str, name: str) -> None:
    assert shape.name(text) == name


@pytest.mark.parametrize(
    ("secret", "owner", "is_owned"),
    [
        (Secret("1", owner="web/0"), "web/0", True),
        (Secret("1", owner="web/0"), "unit-web-0", True),
        (Secret("1", owner="web/0"), "web", False),
        (Secret("1", owner="web"), "application-web", True),
        (Secret("1"), "model-7f8b", True),
        (Secret("1"), "web", False),
    ],
)
def test_owners_go_by_their_names_and_tags(secret: Secret, owner: str, is_owned: bool) -> None:
    assert shape.is_owned(secret, owner) is is_owned


def test_a_charms_secret_has_a_label_a_rotation_and_grants_of_relations() -> None:
    secret = Secret(
        "1",
        owner="web",
        label="db",
        rotation=Rotation.HOURLY,
        latest=3,
        grants=(SecretGranted(relation=4, unit="pg/0"),),
    )
    found = shape.whole(secret, has_grants=True)
    assert (found["label"], found["rotation"], found["owner"], found["revision"]) == ("db", "hourly", "web", 3)
    assert found["access"] == [{"target": "unit-pg-0", "scope": "relation-4", "role": "view"}]
    assert "name" not in found
