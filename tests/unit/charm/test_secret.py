"""Secrets of charms in Python, in the model: owned, granted, read, rotated and removed."""

from datetime import timedelta

import pytest

from tinkwell import charm
from tinkwell.charm.testing import Model


class Owner(charm.Charm, name="pg"):
    """Gives a login away."""

    db = charm.Provides("db", interface="login")
    refused = charm.Option(str, default="")

    @db.created
    async def created(self, event: charm.RelationCreated) -> None:
        name = self.secrets.add(
            {"user-name": "web", "password": "first"}, label="login", rotate=charm.Rotation.DAILY, description="for web"
        )
        self.secrets.grant(name, event.relation)
        self.db[event.relation].unit["login"] = name
        assert await self.secrets.peek(name) == {"user-name": "web", "password": "first"}

    @charm.on.secret_rotate
    async def rotate(self, event: charm.SecretRotate) -> None:
        assert event.label == "login"
        content = await self.secrets.get("login", refresh=True)
        self.secrets.set(event.secret, {**content, "password": f"{content['password']}+"})
        assert await self.secrets.get("login") == content
        self.state["rotated"] = event.secret

    @charm.on.secret_expired
    async def expired(self, event: charm.SecretExpired) -> None:
        self.state["expired"] = str(event.revision)
        self.secrets.remove(event.secret, revision=event.revision)

    @charm.on.secret_remove
    async def unread(self, event: charm.SecretRemove) -> None:
        self.state["unread"] = f"{self.state.get('unread', '')}{event.revision} "
        self.secrets.remove(event.secret, revision=event.revision)

    @charm.action("expire")
    async def expire(self, task: charm.Task) -> None:
        self.secrets.set("login", {"password": "last"}, expires=timedelta(hours=1))

    @charm.action("info")
    async def info(self, task: charm.Task) -> dict[str, object]:
        found = self.secrets.info("login")
        assert self.secrets.owned() == (found,)
        return {"latest": found.latest, "revisions": [*found.revisions], "description": found.description}

    @charm.action("drop")
    async def drop(self, task: charm.Task) -> None:
        self.secrets.remove("login")
        with pytest.raises(charm.SecretMissing):
            await self.secrets.get("login")

    @charm.action("take-back")
    async def take_back(self, task: charm.Task) -> None:
        self.secrets.revoke("login")


class Reader(charm.Charm, name="web"):
    """Reads a login."""

    db = charm.Requires("db", interface="login")
    token = charm.Option(str)

    @db.changed
    async def changed(self, event: charm.RelationChanged) -> None:
        content = await self.secrets.get(event.remote["login"], label="the-login")
        self.state["password"] = content["password"]

    @charm.on.secret_changed
    async def secret_changed(self, event: charm.SecretChanged) -> None:
        self.state["old"] = (await self.secrets.get(event.label))["password"]
        assert (await self.secrets.peek(event.secret))["password"] != self.state["old"]
        self.state["password"] = (await self.secrets.get(event.secret, refresh=True))["password"]
        self.state["told"] = f"{event.label} {event.revision}"

    @charm.on.config_changed
    async def config(self, event: charm.ConfigChanged) -> None:
        if self.token:
            self.state["token"] = (await self.secrets.get(self.token))["key"]

    @charm.action("write")
    async def write(self, task: charm.Task) -> None:
        self.secrets.set("the-login", {"password": "mine"})


async def related() -> Model:
    model = Model()
    model.deploy(Owner)
    model.deploy(Reader)
    model.relate("web:db", "pg:db")
    await model.settle()
    return model


async def test_a_secret_is_read_by_whom_it_was_granted_to() -> None:
    model = await related()
    (name,) = model.secrets("pg/0")
    assert model.state("web/0")["password"] == "first"
    assert model.reveal(name) == {"user-name": "web", "password": "first"}
    model.check()


async def test_a_secret_is_rotated_and_its_readers_are_told() -> None:
    model = await related()
    (name,) = model.secrets("pg/0")
    model.advance(timedelta(days=1))
    await model.settle()
    assert model.state("pg/0")["rotated"] == name
    assert model.state("web/0")["old"] == "first"
    assert model.state("web/0")["password"] == "first+"
    assert model.state("web/0")["told"] == "the-login 2"
    # What its owner has read counts for nobody's.
    assert model.revisions(name) == (2,)
    model.advance(timedelta(days=1))
    await model.settle()
    assert model.state("web/0")["password"] == "first++"
    assert model.state("pg/0")["unread"] == "1 2 "
    assert "secret-rotate" in model.events("pg/0")
    model.check()


async def test_a_revision_expires() -> None:
    model = await related()
    (name,) = model.secrets("pg/0")
    assert (await model.run("pg/0", "expire")).state == "SUCCEEDED"
    assert model.reveal(name) == {"password": "last"}
    model.advance(timedelta(hours=1))
    await model.settle()
    assert model.state("pg/0")["expired"] == "2"
    model.check()


async def test_an_owner_sees_what_it_has() -> None:
    model = await related()
    assert (await model.run("pg/0", "info")).result == {"latest": 1, "revisions": [1], "description": "for web"}
    assert (await model.run("pg/0", "drop")).state == "SUCCEEDED"
    assert model.secrets("pg/0") == ()
    model.check()


async def test_others_secrets_cannot_be_changed() -> None:
    model = await related()
    found = await model.run("web/0", "write")
    assert found.state == "FAILED"
    assert found.message.startswith("NotOwner: secret:")
    assert found.message.endswith("cannot be changed by web/0: it does not own it")


async def test_what_was_taken_back_is_not_read() -> None:
    model = await related()
    assert (await model.run("pg/0", "take-back")).state == "SUCCEEDED"
    model.advance(timedelta(days=1))
    await model.settle()
    assert model.state("web/0")["password"] == "first"


async def test_a_users_secret_is_read_by_its_name_in_an_option() -> None:
    model = await related()
    name = model.add_secret({"key": "hunter2"}, label="token")
    model.set_config("web", {"token": name})
    with pytest.raises(charm.SecretMissing, match="does not exist, or web/0 was not granted it"):
        await model.settle()
    model.grant_secret(name, "web")
    await model.settle()
    assert model.state("web/0")["token"] == "hunter2"


class Wrong(charm.Charm):
    """Does what cannot be done."""

    way = charm.Option(str)

    @charm.on.config_changed
    async def config(self, event: charm.ConfigChanged) -> None:
        match self.way:
            case "key":
                self.secrets.add({"A": "b"})
            case "label":
                self.secrets.add({"abc": "b"}, label="one")
                self.secrets.add({"abc": "b"}, label="one")
            case "long":
                self.secrets.add({"abc": "b"}, label="a" * 101)
            case "empty":
                self.secrets.add({})
            case "lead":
                self.secrets.add({"abc": "b"}, application=True)
            case "name":
                await self.secrets.get("nothing")
            case "id":
                await self.secrets.get("secret:" + "a" * 20)
            case _:
                pass


@pytest.mark.parametrize(
    ("way", "error", "sentence"),
    [
        ("key", charm.WrongSecret, "is not a key of a secret"),
        ("label", charm.WrongSecret, "'one' is the label of another secret"),
        ("long", charm.WrongSecret, "has 101 characters"),
        ("empty", charm.WrongSecret, "is empty"),
        ("name", charm.SecretMissing, "wrong/0 has no secret 'nothing'"),
        ("id", charm.SecretMissing, "aaaa"),
    ],
)
async def test_what_cannot_be_is_refused(way: str, error: type[Exception], sentence: str) -> None:
    model = Model()
    model.deploy(Wrong, config={"way": way})
    with pytest.raises(error, match=sentence):
        await model.settle()


async def test_only_the_leader_makes_a_secret_of_the_application() -> None:
    model = Model()
    model.deploy(Wrong, units=2)
    await model.settle()
    model.set_config("wrong", {"way": "lead"})
    with pytest.raises(charm.NotLeader, match="does not lead wrong, so it cannot make a secret of the application"):
        await model.settle()


async def test_rotation_and_expiry_cannot_be_deferred() -> None:
    for kind in (charm.SecretRotate, charm.SecretExpired):
        with pytest.raises(charm.CannotDefer, match="cannot be deferred: the "):
            kind(ordinal=1, secret="secret:x").defer()
    charm.SecretChanged(ordinal=1, secret="secret:x").defer()


class Labeller(charm.Charm, name="labeller"):
    """Names and drops secrets within one event."""

    @charm.action("replace")
    async def replace(self, task: charm.Task) -> dict[str, str]:
        first = self.secrets.add({"abc": "first"}, label="one")
        self.secrets.remove(first)
        second = self.secrets.add({"abc": "second"}, label="one")
        self.secrets.set("one", description="in its place")
        assert await self.secrets.get("one") == {"abc": "second"}
        return {"name": second}

    @charm.action("renew")
    async def renew(self, task: charm.Task) -> dict[str, str]:
        self.secrets.remove("one")
        made = self.secrets.add({"abc": "third"}, label="one")
        return {"name": made, "abc": (await self.secrets.get("one"))["abc"]}

    @charm.action("rename")
    async def rename(self, task: charm.Task) -> dict[str, str]:
        self.secrets.set("one", label="two")
        self.secrets.add({"abc": "other"}, label="one")
        return {"one": (await self.secrets.get("one"))["abc"], "two": (await self.secrets.get("two"))["abc"]}

    @charm.action("turn")
    async def turn(self, task: charm.Task) -> None:
        await self.secrets.get("two")
        self.secrets.set("two", {"abc": "fourth"})
        self.secrets.remove("two", revision=1)

    @charm.action("tracked")
    async def tracked(self, task: charm.Task) -> dict[str, str]:
        return dict(await self.secrets.get("two"))


async def test_a_label_names_what_has_it_by_then() -> None:
    model = Model()
    model.deploy(Labeller)
    await model.settle()
    first = (await model.run("labeller/0", "replace")).result["name"]
    assert model.secrets("labeller/0") == (first,)
    second = (await model.run("labeller/0", "renew")).result
    assert model.secrets("labeller/0") == (second["name"],)
    assert second["abc"] == "third"
    assert (await model.run("labeller/0", "rename")).result == {"one": "other", "two": "third"}
    model.check()


async def test_what_was_read_and_removed_in_one_event_is_not_read_from_then_on() -> None:
    model = Model()
    model.deploy(Labeller)
    await model.settle()
    for action in ("replace", "rename", "turn"):
        assert (await model.run("labeller/0", action)).state == "SUCCEEDED"
    assert (await model.run("labeller/0", "tracked")).result == {"abc": "fourth"}
    model.check()


class LabellingReader(charm.Charm, name="web"):
    """Labels what it reads."""

    token = charm.Option(str)

    @charm.on.config_changed
    async def config(self, event: charm.ConfigChanged) -> None:
        if self.token:
            content = await self.secrets.get(self.token, label="mine")
            assert await self.secrets.get("mine") == content
            self.state["key"] = content["key"]

    @charm.action("long")
    async def long(self, task: charm.Task) -> None:
        await self.secrets.get("mine", label="a" * 101)


async def test_a_readers_label_names_the_secret_at_once() -> None:
    model = Model()
    model.deploy(LabellingReader)
    name = model.add_secret({"key": "hunter2"})
    model.grant_secret(name, "web")
    model.set_config("web", {"token": name})
    await model.settle()
    assert model.state("web/0")["key"] == "hunter2"
    found = await model.run("web/0", "long")
    assert found.message.startswith("WrongSecret: ")
    assert "has 101 characters" in found.message
