"""The example charms that are related through a secret, in the model."""

import sys
from datetime import timedelta
from pathlib import Path

from support.author import EXAMPLES
from tinkwell import charm
from tinkwell.charm.agent import program
from tinkwell.charm.testing import Model

PROGRAM: Path = EXAMPLES.parent / "charms" / "login" / "login.py"


async def related() -> Model:
    model = Model()
    for name in ("Login", "Site"):
        model.deploy(program.load(f"{PROGRAM}:{name}"), units=2)
        del sys.modules["login"]
    model.relate("login:db", "site:db")
    await model.settle(seed=3)
    return model


async def test_a_login_is_read_by_all_units_of_the_other_side() -> None:
    model = await related()
    (name,) = model.secrets("login")
    first = await model.run("site/0", "show")
    assert first.result["username"] == "site"
    assert len(first.result["password-hash"]) == 12
    assert (await model.run("site/1", "show")).result == first.result
    assert model.status("site/0") == charm.Active("as site")
    assert model.reveal(name)["username"] == "site"
    model.check()


async def test_another_password_reaches_the_other_side() -> None:
    model = await related()
    (name,) = model.secrets("login")
    first = (await model.run("site/0", "show", digits=64)).result
    assert (await model.run(model.leader("login"), "rotate-now")).result == {"changed": 1}
    second = (await model.run("site/0", "show", digits=64)).result
    assert first != second
    model.advance(timedelta(days=31))
    await model.settle()
    assert (await model.run("site/0", "show", digits=64)).result not in (first, second)
    assert max(model.revisions(name)) == 3
    model.check()


async def test_the_login_goes_with_the_relation() -> None:
    model = await related()
    model.unrelate(1)
    await model.settle()
    assert model.secrets("login") == ()
    found = await model.run("site/0", "show")
    assert found.message == "there is no login yet; relate it to a charm that provides one"
    model.check()
