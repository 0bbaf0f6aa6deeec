"""The two example charms of ops: they are taken as they are, and related through a secret."""

import importlib.util
import io
import sys
from pathlib import Path
from typing import Any, cast

import ops
import pytest
from ops import testing

from tinkwell.client.unit import package
from tinkwell.core.charm import package as core_package
from tinkwell.core.unit.kinds import CharmKind

CHARMS = Path(__file__).parents[3] / "examples" / "charms"


def loaded(name: str, attribute: str) -> type[ops.CharmBase]:
    """Import the class of an example."""
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), CHARMS / name / "src" / "charm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: type[ops.CharmBase] = getattr(module, attribute)
    return found


def held(secret: testing.Secret) -> dict[str, str]:
    """Return the newest content of a secret."""
    return cast("dict[str, str]", secret.latest_content)


def login() -> testing.Context[Any]:
    return testing.Context(loaded("ops-login", "Login"), charm_root=CHARMS / "ops-login", juju_version="3.6.9")


def site() -> testing.Context[Any]:
    return testing.Context(loaded("ops-site", "Site"), charm_root=CHARMS / "ops-site", juju_version="3.6.9")


@pytest.mark.parametrize(
    ("name", "actions", "endpoint"), [("ops-login", {"rotate-now"}, "db"), ("ops-site", {"show"}, "db")]
)
def test_an_example_is_taken_as_it_is(name: str, actions: set[str], endpoint: str) -> None:
    found = core_package.check(io.BytesIO(package.pack(CHARMS / name)))
    assert (found.name, found.manifest.kind, found.warnings) == (name, CharmKind.OPS, ())
    assert {*found.manifest.actions} == actions
    assert [*found.manifest.endpoints] == [endpoint]


def test_the_leader_offers_a_login_by_a_secret() -> None:
    relation = testing.Relation("db", remote_app_name="site")
    context = login()
    after = context.run(context.on.relation_created(relation), testing.State(leader=True, relations={relation}))
    (secret,) = after.secrets
    content = held(secret)
    assert (content["username"], len(content["password"])) == ("site", 20)
    assert after.get_relation(relation.id).local_app_data == {"secret-id": secret.id}
    assert secret.remote_grants == {relation.id: {"site"}}
    again = context.run(context.on.secret_rotate(secret), after)
    (rotated,) = again.secrets
    assert held(rotated)["password"] != content["password"]


def test_the_other_side_reads_it() -> None:
    secret = testing.Secret({"username": "site", "password": "hunter2"}, owner=None)
    bag = {"secret-id": secret.id}
    relation = testing.Relation("db", remote_app_name="login", remote_app_data=bag)
    context = site()
    state = testing.State(relations={relation}, secrets={secret})
    after = context.run(context.on.relation_changed(relation), state)
    assert after.unit_status == testing.ActiveStatus("as site")
    context.run(context.on.action("show", params={"digits": 8}), after)
    assert context.action_results == {"username": "site", "password-hash": "f52fbd32", "changes": 1}


def test_there_is_nothing_to_show_before() -> None:
    context = site()
    with pytest.raises(testing.ActionFailed, match="there is no login yet"):
        context.run(context.on.action("show"), testing.State())
