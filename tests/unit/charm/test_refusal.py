"""What the library does not let a charm do or declare, each with a sentence that names it."""

from collections.abc import Callable
from typing import Any

import pytest

from support.charm import Bags
from tinkwell import charm
from tinkwell.charm import description
from tinkwell.charm.attempt.dispatch import dispatch
from tinkwell.charm.attempt.given import Attempt, RelationGiven
from tinkwell.core.unit.effect import Effects, StorageRequest
from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import UnitEvent

RELATIONS = tuple(
    RelationGiven(number=number, endpoint="db", application=f"pg{number}", is_peer=False, units=(), own={})
    for number in (3, 5)
)


class Web(charm.Charm):
    """Is related twice."""

    db = charm.Requires("db", interface="postgresql")
    log = charm.Requires("log", interface="syslog")
    data = charm.Storage("data")
    workers = charm.Option(int, default=2)


async def run(body: Callable[[Web], object]) -> Effects:
    """Have one handler run."""

    class Tried(Web):
        @charm.on.install
        async def handler(self, event: charm.Install) -> None:
            body(self)

    event = UnitEvent(kind=EventKind.INSTALL)
    attempt = Attempt(unit="web/0", ordinal=1, attempt=1, event=event, relations=RELATIONS)
    return await dispatch(Tried, attempt, Bags())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("db", "endpoint db cannot be set"),
        ("data", "storage data cannot be set"),
        ("workers", "option workers cannot be set by its charm"),
    ],
)
async def test_what_the_server_says_is_not_set(name: str, sentence: str) -> None:
    with pytest.raises(charm.CharmError, match=sentence):
        await run(lambda web: setattr(web, name, 1))


async def test_a_relation_is_found_by_its_number_and_nothing_else_is() -> None:
    def look(web: Web) -> None:
        assert [each.number for each in web.db] == [3, 5]
        assert web.db[5].remote_application == "pg5"
        assert web.db[web.db[3]] is web.db[3]
        assert (len(web.db), len(web.log)) == (2, 0)
        assert web.log.only() is None
        with pytest.raises(KeyError, match="endpoint db has no relation 7"):
            web.db[7]
        with pytest.raises(KeyError, match="endpoint log has no relation 3"):
            web.log[web.db[3]]
        with pytest.raises(LookupError, match="endpoint db has 2 relations; iterate over them"):
            web.db.only()

    await run(look)


async def test_storage_is_asked_for_by_a_number_and_found_if_it_is_the_only_one() -> None:
    def look(web: Web) -> None:
        with pytest.raises(charm.StorageMissing, match="web/0 has 0 storages data, where one was asked for"):
            web.data.one()
        for count in (0, -1):
            with pytest.raises(ValueError, match=f"{count} storages data cannot be asked for"):
                web.data.request(count)
        web.data.request()
        web.data.request(2)

    effects = await run(look)
    assert effects.storages == (StorageRequest(storage="data", count=3),)


def test_an_option_is_of_a_kind_that_documents_have() -> None:
    with pytest.raises(charm.DeclarationError, match="an option is a str, int, float or bool, not list"):
        charm.Option(list)  # type: ignore[type-var]
    untyped: Any = charm.Option
    options = {"workers": untyped(str, default=["one"])}
    with pytest.raises(charm.DeclarationError, match=r"\['one'\] cannot be the value of an option"):
        description.manifest(type("Bad", (charm.Charm,), options))


def test_a_class_without_a_file_cannot_be_packed() -> None:
    made: dict[str, type[charm.Charm]] = {}
    exec("class Typed(charm.Charm): 'Was typed in.'", {"charm": charm, "__name__": "nowhere_at_all"}, made)
    with pytest.raises(charm.DeclarationError, match="Typed has no file that can be read"):
        description.pack(made["Typed"])
