#!/usr/bin/env python3
"""A charm that counts what it hears, in what ops stores for it and in its unit's state, and fails now and then."""

import os
import secrets
import subprocess
import sys
import time

import ops

# Of 256, so many events fail once they have asked for what must not land then, and so many take a while.
_FAILURES = 6
_SLOW = 30


class Counter(ops.CharmBase):
    """Serves passwords, uses those of others, and defers its configuration now and then."""

    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._stored.set_default(count=0)
        # One dispatch is one event or one task, whoever observes it, and whatever is heard once more with it.
        self._stored.count += 1
        subprocess.run(["state-set", f"count={self._stored.count}"], check=True)
        framework.observe(self.on.start, self._on_start)
        framework.observe(self.on.config_changed, self._on_config_changed)
        for kind in ("joined", "changed"):
            framework.observe(getattr(self.on, f"serve_relation_{kind}"), self._on_serve)
            framework.observe(getattr(self.on, f"use_relation_{kind}"), self._on_use)
            framework.observe(getattr(self.on, f"cluster_relation_{kind}"), self._on_cluster)
        framework.observe(self.on.secret_changed, self._on_secret_changed)
        framework.observe(self.on.secret_remove, self._on_secret_remove)
        framework.observe(self.on.turn_action, self._on_turn)

    def _on_start(self, event: ops.StartEvent) -> None:
        self.unit.status = ops.ActiveStatus()

    def _on_config_changed(self, event: ops.ConfigChangedEvent) -> None:
        if secret := self.config.get("token"):
            try:
                self.model.get_secret(id=str(secret)).get_content(refresh=True)
            except (ops.SecretNotFoundError, ops.ModelError):
                self.unit.status = ops.WaitingStatus("for a grant")
        if os.urandom(1)[0] < 100:
            event.defer()

    def _on_serve(self, event: ops.RelationEvent) -> None:
        if self.unit.is_leader() and "secret" not in event.relation.data[self.app]:
            secret = self.app.add_secret({"password": secrets.token_hex(5)}, label=f"serves-{event.relation.id}")
            secret.grant(event.relation)
            event.relation.data[self.app]["secret"] = secret.id or ""

    def _on_use(self, event: ops.RelationEvent) -> None:
        if secret := event.relation.data[event.app].get("secret"):
            try:
                content = self.model.get_secret(id=secret).get_content(refresh=True)
            except (ops.SecretNotFoundError, ops.ModelError):
                return
            event.relation.data[self.unit]["characters"] = str(len(content["password"]))

    def _on_cluster(self, event: ops.RelationEvent) -> None:
        event.relation.data[self.unit]["is-there"] = "yes"

    def _on_secret_changed(self, event: ops.SecretChangedEvent) -> None:
        event.secret.get_content(refresh=True)

    def _on_secret_remove(self, event: ops.SecretRemoveEvent) -> None:
        event.remove_revision()

    def _on_turn(self, event: ops.ActionEvent) -> None:
        if event.params["is-to-fail"]:
            event.fail("as it was asked to")
            return
        turned = 0
        for relation in self.model.relations["serve"] if self.unit.is_leader() else ():
            if "secret" in relation.data[self.app]:
                secret = self.model.get_secret(label=f"serves-{relation.id}")
                secret.set_content({"password": secrets.token_hex(5 + turned)})
                turned += 1
        event.set_results({"turned": str(turned)})


if __name__ == "__main__":
    ops.main(Counter)
    # By now ops has written its file.
    draw = os.urandom(1)[0]
    if draw < _SLOW:
        time.sleep(0.3)
    sys.exit(draw < _FAILURES)
