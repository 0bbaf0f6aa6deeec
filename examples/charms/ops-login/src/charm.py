#!/usr/bin/env python3
"""A charm of ops that gives logins away by secrets."""

import secrets
import string

import ops

LETTERS = string.ascii_letters + string.digits


class Login(ops.CharmBase):
    """Keeps a secret of its application for each relation."""

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        framework.observe(self.on.start, self._ready)
        framework.observe(self.on.leader_elected, self._ready)
        framework.observe(self.on["db"].relation_created, self._ready)
        framework.observe(self.on["db"].relation_broken, self._broken)
        framework.observe(self.on.secret_rotate, self._rotate)
        framework.observe(self.on.secret_remove, self._forget)
        framework.observe(self.on.rotate_now_action, self._rotate_now)

    def _ready(self, _: ops.EventBase) -> None:
        """Make what is missing; the leader alone may, and whoever leads later does the same."""
        if self.unit.is_leader():
            for relation in self.model.relations["db"]:
                self._offer(relation)
        self.unit.status = ops.ActiveStatus()

    def _offer(self, relation: ops.Relation) -> None:
        bag = relation.data[self.app]
        if "secret-id" not in bag:
            content = {"username": relation.app.name, "password": self._password()}
            label = f"login-{relation.id}"
            secret = self.app.add_secret(content, label=label, rotate=ops.SecretRotate.MONTHLY)
            secret.grant(relation)
            bag["secret-id"] = secret.id or ""

    def _broken(self, event: ops.RelationBrokenEvent) -> None:
        if self.unit.is_leader():
            self.model.get_secret(label=f"login-{event.relation.id}").remove_all_revisions()

    def _rotate(self, event: ops.SecretRotateEvent) -> None:
        self._change(event.secret)

    def _forget(self, event: ops.SecretRemoveEvent) -> None:
        event.secret.remove_revision(event.revision)

    def _rotate_now(self, event: ops.ActionEvent) -> None:
        if not self.unit.is_leader():
            event.fail("only the leader changes passwords; ask ops-login/leader")
            return
        relations = self.model.relations["db"]
        for relation in relations:
            self._change(self.model.get_secret(label=f"login-{relation.id}"))
        event.set_results({"changed": len(relations)})

    def _change(self, secret: ops.Secret) -> None:
        content = secret.peek_content()
        secret.set_content({"username": content["username"], "password": self._password()})

    def _password(self) -> str:
        return "".join(secrets.choice(LETTERS) for _ in range(int(self.config["length"])))


if __name__ == "__main__":
    ops.main(Login)
