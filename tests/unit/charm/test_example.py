"""The charms of examples/charms."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.author import EXAMPLES
from tinkwell import charm
from tinkwell.charm.agent import program
from tinkwell.charm.testing import Model
from tinkwell.client.unit import package as folder_package
from tinkwell.core.charm import package
from tinkwell.core.unit.kinds import CharmKind

CHARMS = EXAMPLES.parent / "charms"


class Text(charm.Charm):
    """What examples/charms/text does, in Python."""

    others = charm.Provides("text", interface="text")
    text = charm.Option(str, default="Hello, world!")
    late = charm.Option(bool, default=False)

    @charm.on.config_changed
    @others.created
    async def tell(self, event: charm.Event) -> None:
        for relation in self.others:
            if not self.late:
                relation.unit["text"] = self.text


@pytest.fixture
def page() -> Iterator[type[charm.Charm]]:
    yield program.load(f"{CHARMS / 'page' / 'page.py'}:Page")
    del sys.modules["page"]


async def read(model: Model, unit: str) -> str:
    return await asyncio.to_thread((model.storage(unit, "site") / "index.html").read_text)


@pytest.mark.parametrize("seed", range(5))
async def test_a_page_has_the_texts_of_all_units(page: type[charm.Charm], seed: int) -> None:
    model = Model()
    model.deploy(page, units=2, config={"title": "All"})
    model.deploy(Text, units=2, config={"text": "a < b"})
    model.relate("page", "text")
    await model.settle(seed=seed)
    assert await read(model, "page/1") == "<h1>All</h1>\n<p>a &lt; b</p>\n<p>a &lt; b</p>\n"
    assert model.status("page/1") == charm.Active("2 on the page")
    model.scale("text", 1)
    await model.settle(seed=seed)
    assert model.status("page/1") == charm.Active("1 on the page")
    model.check()


async def test_a_page_waits_for_a_text_that_is_late(page: type[charm.Charm]) -> None:
    model = Model()
    model.deploy(page)
    model.deploy(Text, config={"late": True})
    model.relate("page", "text")
    await model.settle()
    assert model.status("page/0") == charm.Waiting("for the text of text/0")
    assert model.deferred("page/0") == ["texts-relation-changed text/0"]
    model.set_config("text", {"late": False})
    await model.settle()
    assert model.status("page/0") == charm.Active("1 on the page")
    assert model.deferred("page/0") == []


@pytest.mark.parametrize("late", [True, False])
async def test_a_page_forgets_a_text_that_never_came(page: type[charm.Charm], late: bool) -> None:
    model = Model()
    model.deploy(page)
    model.deploy(Text, config={"late": late})
    number = model.relate("page", "text")
    await model.settle()
    model.unrelate(number)
    await model.settle()
    assert model.deferred("page/0") == []
    assert model.status("page/0") == charm.Active("0 on the page")


def test_servers_take_the_charm_of_scripts(tmp_path: Path) -> None:
    path = tmp_path / "text.charm"
    path.write_bytes(folder_package.pack(CHARMS / "text"))
    with path.open("rb") as file:
        found = package.check(file)
    assert (found.name, found.manifest.kind, found.warnings) == ("text", CharmKind.SCRIPTS, ())
