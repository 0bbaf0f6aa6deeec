#!/usr/bin/env python3
"""A charm that keeps a file, a secret that it rotates, and what its siblings say, and waits until it may open."""

import logging
from pathlib import Path

import ops

logger = logging.getLogger(__name__)


class Keeper(ops.CharmBase):
    """Says what it keeps."""

    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._stored.set_default(rotations=0)
        framework.observe(self.on.data_storage_attached, self._on_attached)
        framework.observe(self.on.start, self._on_start)
        framework.observe(self.on.config_changed, self._on_config_changed)
        framework.observe(self.on.cluster_relation_created, self._on_created)
        framework.observe(self.on.cluster_relation_changed, self._on_changed)
        framework.observe(self.on.secret_rotate, self._on_rotate)
        framework.observe(self.on.kept_action, self._on_kept)

    def _on_attached(self, event: ops.StorageAttachedEvent) -> None:
        (event.storage.location / "kept").write_text(self.unit.name)

    def _on_start(self, event: ops.StartEvent) -> None:
        logger.info("the page says %s", Path(self.model.resources.fetch("page")).read_text())
        if self.unit.is_leader():
            self.app.add_secret({"password": "number-0"}, label="root", rotate=ops.SecretRotate.HOURLY)

    def _on_config_changed(self, event: ops.ConfigChangedEvent) -> None:
        if not self.config["is-open"]:
            self.unit.status = ops.WaitingStatus("for its opening")
            event.defer()
            return
        logger.info("opens")
        self.unit.status = ops.ActiveStatus("open")

    def _on_created(self, event: ops.RelationCreatedEvent) -> None:
        event.relation.data[self.unit]["greeting"] = f"I am {self.unit.name}"

    def _on_changed(self, event: ops.RelationChangedEvent) -> None:
        if event.unit is not None:
            logger.info("a sibling says %s", event.relation.data[event.unit].get("greeting"))

    def _on_rotate(self, event: ops.SecretRotateEvent) -> None:
        self._stored.rotations += 1
        event.secret.set_content({"password": f"number-{self._stored.rotations}"})
        logger.info("rotates %s", event.secret.label)

    def _on_kept(self, event: ops.ActionEvent) -> None:
        (storage,) = self.model.storages["data"]
        password = self.model.get_secret(label="root").get_content(refresh=True)["password"]
        kept = (storage.location / "kept").read_text()
        event.log("looks at what it keeps")
        event.set_results({"file": event.params["prefix"] + kept, "password": password})


if __name__ == "__main__":
    ops.main(Keeper)
