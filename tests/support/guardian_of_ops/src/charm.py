#!/usr/bin/env python3
"""A charm that says nothing of what it guards, makes another one when it is time, and stumbles when it is asked to."""

import datetime
import logging
import subprocess

import ops

logger = logging.getLogger(__name__)

# In two parts, so that none of its files holds what is looked for.
MARK = "kanarien" + "vogel"


class Guardian(ops.CharmBase):
    """Gives its secret to whom it is related with, and reads that of others."""

    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._stored.set_default(made=0)
        framework.observe(self.on.start, self._on_start)
        framework.observe(self.on.config_changed, self._on_config_changed)
        framework.observe(self.on.door_relation_joined, self._on_joined)
        framework.observe(self.on.key_relation_changed, self._on_changed)
        framework.observe(self.on.secret_changed, self._on_secret_changed)
        framework.observe(self.on.secret_rotate, self._on_rotate)
        framework.observe(self.on.secret_expired, self._on_expired)
        framework.observe(self.on.secret_remove, self._on_remove)
        framework.observe(self.on.stumble_action, self._on_stumble)

    def _another(self) -> dict[str, str]:
        self._stored.made += 1
        return {"password": f"{MARK}-{self.app.name}-{self._stored.made}"}

    def _on_start(self, event: ops.StartEvent) -> None:
        if self.unit.is_leader():
            self.app.add_secret(
                self._another(),
                label="root",
                rotate=ops.SecretRotate.HOURLY,
                expire=datetime.timedelta(days=1),
            )

    def _on_config_changed(self, event: ops.ConfigChangedEvent) -> None:
        if token := self.config.get("token"):
            logger.info("a token of %d characters", len(self._read(id=str(token))))

    def _on_joined(self, event: ops.RelationJoinedEvent) -> None:
        if self.unit.is_leader():
            secret = self.model.get_secret(label="root")
            secret.grant(event.relation)
            event.relation.data[self.app]["secret"] = secret.get_info().id

    def _on_changed(self, event: ops.RelationChangedEvent) -> None:
        if secret := event.relation.data[event.app].get("secret"):
            logger.info("a key of %d characters", len(self._read(id=secret, label="key")))

    def _on_secret_changed(self, event: ops.SecretChangedEvent) -> None:
        logger.info("another one of %d characters", len(event.secret.get_content(refresh=True)["password"]))

    def _on_rotate(self, event: ops.SecretRotateEvent) -> None:
        event.secret.set_content(self._another())
        logger.info("it is rotated")

    def _on_expired(self, event: ops.SecretExpiredEvent) -> None:
        event.secret.set_content(self._another())
        logger.info("revision %d has expired", event.revision)

    def _on_remove(self, event: ops.SecretRemoveEvent) -> None:
        event.remove_revision()

    def _on_stumble(self, event: ops.ActionEvent) -> None:
        for argv in (
            ["secret-add", f"Password={MARK}"],
            ["secret-add", f"password={MARK}", "--label", "root"],
            ["secret-set", "secret:" + "0" * 20, f"password={MARK}"],
            ["secret-add", f"--{MARK}"[:2] + "wrong", f"password={MARK}"],
        ):
            said = subprocess.run(argv, capture_output=True, text=True, check=False)
            event.log(f"{argv[0]} has ended with {said.returncode}: {said.stdout}{said.stderr}")
        self.model.get_secret(label="root").set_content(self._another())
        raise RuntimeError("it does not land")

    def _read(self, **by: str) -> str:
        return self.model.get_secret(**by).get_content()["password"]


if __name__ == "__main__":
    ops.main(Guardian)
