"""Two charms that are related through a secret: one gives a login away, the other one uses it.

tinkwell app deploy login examples/charms/login/login.py:Login --to anywhere
tinkwell app deploy site examples/charms/login/login.py:Site --to anywhere
tinkwell unit run examples/charms/login/login.py:Login --application login
tinkwell unit run examples/charms/login/login.py:Site --application site
tinkwell app relate login site
tinkwell unit run site/0 show --wait
"""

import hashlib
import secrets

from tinkwell import charm


class Login(charm.Charm):
    """Gives each application that is related to it a login of its own."""

    db = charm.Provides("db", interface="login")
    length = charm.Option(int, default=20, minimum=8, description="How many bytes new passwords are made of.")

    @charm.on.leader_elected
    async def leads(self, event: charm.LeaderElected) -> None:
        """Make what a former leader has not made."""
        await self.offer()

    @db.created
    async def related(self, event: charm.RelationCreated) -> None:
        """Make a login for who is new; the leader alone may."""
        await self.offer()

    async def offer(self) -> None:
        """Keep a secret of the application for each relation."""
        if not self.is_leader:
            return
        for relation in self.db:
            if "secret-id" not in relation.application:
                content = {"username": relation.remote_application, "password": self.password()}
                name = self.secrets.add(
                    content, label=f"login-{relation.number}", rotate=charm.Rotation.MONTHLY, application=True
                )
                self.secrets.grant(name, relation)
                relation.application["secret-id"] = name
        self.status = charm.Active()

    @db.broken
    async def parted(self, event: charm.RelationBroken) -> None:
        """Remove the login of who is gone."""
        if self.is_leader:
            self.secrets.remove(f"login-{event.relation.number}")

    @charm.on.secret_rotate
    async def rotate(self, event: charm.SecretRotate) -> None:
        """Make another password."""
        await self.change(event.secret)

    @charm.on.secret_remove
    async def forget(self, event: charm.SecretRemove) -> None:
        """Remove what nobody reads any more."""
        self.secrets.remove(event.secret, revision=event.revision)

    @charm.action()
    async def rotate_now(self, task: charm.Task) -> dict[str, int]:
        """Makes another password for each application, before the month is over."""
        owned = self.secrets.owned()
        for each in owned:
            await self.change(each.name)
        return {"changed": len(owned)}

    async def change(self, name: str) -> None:
        """Give a secret another password."""
        content = await self.secrets.peek(name)
        self.secrets.set(name, {**content, "password": self.password()})

    def password(self) -> str:
        """Return a new password."""
        return secrets.token_urlsafe(self.length)


class Site(charm.Charm):
    """Needs a login, and reads it from a secret."""

    db = charm.Requires("db", interface="login")

    @charm.on.start
    async def start(self, event: charm.Start) -> None:
        """Say what is missing."""
        if "username" not in self.state:
            self.status = charm.Waiting("for a login")

    @db.changed
    async def changed(self, event: charm.RelationChanged) -> None:
        """Read the login as soon as it is there."""
        if (name := event.remote.get("secret-id")) is not None:
            await self.read(name)

    @charm.on.secret_changed
    async def secret_changed(self, event: charm.SecretChanged) -> None:
        """Read the new password."""
        await self.read(event.secret)

    async def read(self, name: str) -> None:
        """Read a login, and remember no more of it than a hash."""
        content = await self.secrets.get(name, refresh=True, label="login")
        self.state["username"] = content["username"]
        self.state["hash"] = hashlib.sha256(content["password"].encode()).hexdigest()
        self.status = charm.Active(f"as {content['username']}")

    @db.broken
    async def parted(self, event: charm.RelationBroken) -> None:
        """Forget the login."""
        self.state.clear()
        self.status = charm.Waiting("for a login")

    @charm.action()
    async def show(self, task: charm.Task, *, digits: int = 12) -> dict[str, str]:
        """Shows whose login it has, and a hash of the password."""
        if "username" not in self.state:
            task.fail("there is no login yet; relate it to a charm that provides one")
            return {}
        task.log("only a hash of the password is shown")
        return {"username": self.state["username"], "password-hash": self.state["hash"][:digits]}
