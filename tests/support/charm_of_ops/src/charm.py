#!/usr/bin/env python3
"""A charm that tells what it hears, and keeps count in what ops stores for it."""

import logging

import ops

logger = logging.getLogger(__name__)


class Tiny(ops.CharmBase):
    """Counts events, answers a database, and keeps a secret."""

    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._stored.set_default(count=0)
        for event in (
            self.on.install,
            self.on.start,
            self.on.config_changed,
            self.on.stop,
            self.on.update_status,
            self.on.leader_elected,
            self.on.data_storage_attached,
            self.on.db_relation_created,
            self.on.db_relation_broken,
        ):
            framework.observe(event, self._on_any)
        framework.observe(self.on.db_relation_joined, self._on_db)
        framework.observe(self.on.db_relation_changed, self._on_db)
        framework.observe(self.on.secret_changed, self._on_secret)
        framework.observe(self.on.secret_rotate, self._on_rotate)
        framework.observe(self.on.secret_expired, self._on_expired)
        framework.observe(self.on.backup_action, self._on_backup)
        framework.observe(self.on.fail_action, self._on_fail)

    def _count(self) -> int:
        self._stored.count += 1
        return self._stored.count

    def _on_any(self, event: ops.EventBase) -> None:
        name = event.handle.kind
        logger.info("%s is number %d, leads: %s", name, self._count(), self.unit.is_leader())
        if name in str(self.config["defer"]).split(","):
            event.defer()
        self.unit.status = ops.ActiveStatus(f"{self.config['workers']} workers")

    def _on_db(self, event: ops.RelationEvent) -> None:
        if event.unit is None:
            return
        dsn = event.relation.data[event.unit].get("dsn")
        logger.info("db has %s, and members %s", dsn, sorted(unit.name for unit in event.relation.units))
        event.relation.data[self.unit]["count"] = str(self._count())
        if self.unit.is_leader():
            secret = self.app.add_secret({"password": "very-hidden"}, label=f"password-{self._stored.count}")
            secret.grant(event.relation)
            event.relation.data[self.app]["secret"] = secret.id or ""
        if secret_id := event.relation.data[event.app].get("secret"):
            content = self.model.get_secret(id=secret_id, label="db").get_content()
            event.relation.data[self.unit]["password"] = f"{len(content['password'])} characters"
        self.unit.set_ports(8080)
        self.unit.set_workload_version("1.2")

    def _on_secret(self, event: ops.SecretChangedEvent) -> None:
        content = event.secret.get_content(refresh=True)
        logger.info("%s has %d characters now", event.secret.label, len(content["password"]))
        self._count()

    def _on_rotate(self, event: ops.SecretRotateEvent) -> None:
        event.secret.set_content({"password": "another-one"})

    def _on_expired(self, event: ops.SecretExpiredEvent) -> None:
        logger.info("revision %d of %s has expired", event.revision, event.secret.label)
        event.remove_revision()
        try:
            self.model.get_secret(id="secret:" + "x" * 20)
        except ops.SecretNotFoundError:
            logger.info("another one is not there for it")

    def _on_backup(self, event: ops.ActionEvent) -> None:
        event.log(f"backs up to {event.params['target']}")
        event.set_results({"size": {"bytes": "12"}, "count": str(self._count())})

    def _on_fail(self, event: ops.ActionEvent) -> None:
        self._count()
        event.fail("as it was asked to")


if __name__ == "__main__":
    ops.main(Tiny)
