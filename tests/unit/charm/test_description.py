"""What a class of charms says of itself to servers."""

import io
from pathlib import Path

import pytest

from tinkwell import charm
from tinkwell.charm import description
from tinkwell.core.charm import package
from tinkwell.core.unit.kinds import CharmKind


class WebServer(charm.Charm, profile=charm.Profile.JUJU):
    """Serves one page;
    needs a database.

    More about it.
    """

    db = charm.Requires("db", interface="postgresql")
    site = charm.Provides("site", interface="http", limit=3)
    cluster = charm.Peer("cluster", interface="web-cluster")
    data = charm.Storage("data", minimum=0, maximum=None)
    workers = charm.Option(int, default=2, minimum=1)
    title = charm.Option(str)
    ratio = charm.Option(float, default=0.5)
    is_public = charm.Option(bool, default=True, description="Whether all may see it.")


def test_a_class_describes_itself() -> None:
    assert description.manifest(WebServer).as_json() == {
        "name": "web-server",
        "kind": "native",
        "profile": "juju",
        "summary": "Serves one page; needs a database.",
        "description": "More about it.",
        "requires": {"db": {"interface": "postgresql"}},
        "provides": {"site": {"interface": "http", "limit": 3}},
        "peers": {"cluster": {"interface": "web-cluster"}},
        "storage": {"data": {"type": "filesystem", "multiple": {"range": "0-"}}},
        "config": {
            "options": {
                "is_public": {"type": "boolean", "description": "Whether all may see it.", "default": True},
                "ratio": {"type": "float", "default": pytest.approx(0.5)},
                "title": {"type": "string"},
                "workers": {"type": "int", "default": 2, "minimum": 1},
            }
        },
    }


def test_the_package_is_one_that_servers_take_and_the_same_each_time() -> None:
    packed = description.pack(WebServer)
    found = package.check(io.BytesIO(packed))
    assert (found.name, found.manifest.kind, found.warnings) == ("web-server", CharmKind.NATIVE, ())
    assert found.manifest == description.manifest(WebServer)
    opened = package.open_package(io.BytesIO(packed))
    assert [each.path for each in opened.files] == ["charm.yaml", Path(__file__).name]
    assert description.pack(WebServer) == packed


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"db": charm.Requires("Db!", interface="x")}, "Db!"),
        ({"db": charm.Requires("db", interface="juju-x")}, "reserved"),
        ({"data": charm.Storage("data", minimum=3, maximum=2)}, "range"),
        ({"workers": charm.Option(int, default=0, minimum=1)}, "at least 1"),
    ],
)
def test_what_servers_would_refuse_is_said_at_home(members: dict[str, object], message: str) -> None:
    with pytest.raises(charm.DeclarationError, match=message):
        description.manifest(type("Bad", (charm.Charm,), members))


def test_a_charm_may_have_another_name_than_its_class() -> None:
    class Server(charm.Charm, name="pg"):
        """A database."""

    assert description.manifest(Server).name == "pg"
