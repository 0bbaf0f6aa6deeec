#!/usr/bin/env python3
"""A charm of ops that reads a login from a secret."""

import hashlib

import ops


class Site(ops.CharmBase):
    """Waits for a login, and notices when it changes."""

    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._stored.set_default(username="", digest="", changes=0)
        framework.observe(self.on.start, self._waiting)
        framework.observe(self.on["db"].relation_changed, self._changed)
        framework.observe(self.on["db"].relation_broken, self._broken)
        framework.observe(self.on.secret_changed, self._secret_changed)
        framework.observe(self.on.show_action, self._show)

    def _waiting(self, _: ops.StartEvent) -> None:
        if not self._stored.username:
            self.unit.status = ops.WaitingStatus("for a login")

    def _changed(self, event: ops.RelationChangedEvent) -> None:
        if secret_id := event.relation.data[event.app].get("secret-id"):
            self._read(self.model.get_secret(id=secret_id, label="login"))

    def _secret_changed(self, event: ops.SecretChangedEvent) -> None:
        if event.secret.label == "login":
            self._read(event.secret)

    def _read(self, secret: ops.Secret) -> None:
        content = secret.get_content(refresh=True)
        digest = hashlib.sha256(content["password"].encode()).hexdigest()
        if digest != self._stored.digest:
            self._stored.username, self._stored.digest = content["username"], digest
            self._stored.changes += 1
        self.unit.status = ops.ActiveStatus(f"as {content['username']}")

    def _broken(self, _: ops.RelationBrokenEvent) -> None:
        self._stored.username = self._stored.digest = ""
        self.unit.status = ops.WaitingStatus("for a login")

    def _show(self, event: ops.ActionEvent) -> None:
        if not self._stored.username:
            event.fail("there is no login yet; relate it to a charm that provides one")
            return
        event.log("only a hash of the password is shown")
        event.set_results(
            {
                "username": self._stored.username,
                "password-hash": self._stored.digest[: event.params["digits"]],
                "changes": self._stored.changes,
            }
        )


if __name__ == "__main__":
    ops.main(Site)
