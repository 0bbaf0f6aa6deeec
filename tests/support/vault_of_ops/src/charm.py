#!/usr/bin/env python3
"""A charm that gives each of its relations a password in a secret."""

import logging
import secrets

import ops

logger = logging.getLogger(__name__)


class Vault(ops.CharmBase):
    """Gives passwords away, makes others when it is asked to, and forgets those that nobody reads."""

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        framework.observe(self.on.start, self._on_start)
        framework.observe(self.on.db_relation_joined, self._on_joined)
        framework.observe(self.on.secret_remove, self._on_remove)
        framework.observe(self.on.rotate_action, self._on_rotate)

    def _on_start(self, event: ops.StartEvent) -> None:
        self.unit.status = ops.ActiveStatus("open")

    def _on_joined(self, event: ops.RelationJoinedEvent) -> None:
        event.relation.data[self.unit]["dsn"] = f"pg://{self.unit.name}"
        if self.unit.is_leader() and "secret" not in event.relation.data[self.app]:
            secret = self.app.add_secret({"password": secrets.token_hex(5)}, label=f"db-{event.relation.id}")
            secret.grant(event.relation)
            event.relation.data[self.app]["secret"] = secret.id or ""

    def _on_rotate(self, event: ops.ActionEvent) -> None:
        for relation in self.model.relations["db"]:
            secret = self.model.get_secret(label=f"db-{relation.id}")
            secret.set_content({"password": secrets.token_hex(event.params["length"])})
            event.log(f"gave {relation.app.name} another password")
        event.set_results({"relations": str(len(self.model.relations["db"]))})

    def _on_remove(self, event: ops.SecretRemoveEvent) -> None:
        logger.info("nobody reads revision %d of %s", event.revision, event.secret.label)
        event.remove_revision()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    ops.main(Vault)
