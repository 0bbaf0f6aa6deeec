"""A charm of ops of which two applications are related, so that each event of it has one order and one outcome.

It writes bags only at a change of its configuration: a `talk` of one end is heard by the other one, which answers into
its own bag, and nobody answers that.
"""

from pathlib import Path

from support import tiny_charm
from tinkwell.core.charm.package import NewFile

MANIFEST = b"""\
name: even
summary: Talks.
description: When it is asked to.
provides: {left: {interface: talk}}
requires: {right: {interface: talk}}
peers: {own: {interface: own}}
storage: {data: {type: filesystem}}
"""
CONFIG = b"""\
options:
  talk: {type: int, default: 0, description: What it says.}
  defer: {type: boolean, default: false, description: Whether it is put off.}
"""
ACTIONS = b"tell: {description: Answers., params: {word: {type: string}}}\n"
PROGRAM = b"""\
#!/usr/bin/env python3
import logging
import sys

import ops


class Even(ops.CharmBase):
    _stored = ops.StoredState()

    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        self._stored.set_default(count=0, heard=[])
        on = self.on
        for event in (on.install, on.start, on.leader_elected, on.data_storage_attached, on.left_relation_joined):
            framework.observe(event, self._on_any)
        framework.observe(on.config_changed, self._on_config_changed)
        framework.observe(on.left_relation_changed, self._on_changed)
        framework.observe(on.right_relation_changed, self._on_changed)
        framework.observe(on.tell_action, self._on_tell)

    def _on_any(self, event):
        self._stored.count += 1
        logging.info("%s is number %d", event.handle.path, self._stored.count)

    def _on_config_changed(self, event):
        self._on_any(event)
        if self.config["defer"]:
            event.defer()
            self.unit.status = ops.WaitingStatus("put off")
            return
        talk = self.config["talk"]
        print("says", talk, flush=True)
        print("is said", talk, file=sys.stderr, flush=True)
        if not talk:
            return
        for relation in (*self.model.relations["left"], *self.model.relations["right"]):
            relation.data[self.unit]["talk"] = str(talk)
        for relation in self.model.relations["own"]:
            relation.data[self.unit]["talk"] = "x" * talk
            if self.unit.is_leader():
                relation.data[self.app]["last"] = str(talk)
        if talk % 10 == 0:
            secret = self.app.add_secret({"word": str(talk)}, label=f"number-{talk}")
            logging.info("keeps revision %d", secret.get_info().revision)
        self.unit.set_ports(8000 + talk % 3)
        self.unit.set_workload_version(str(talk))
        self.unit.status = ops.ActiveStatus(f"said {talk}")
        self.app.status = ops.ActiveStatus(f"said {talk}")

    def _on_changed(self, event):
        self._on_any(event)
        said = event.relation.data[event.unit].get("talk") if event.unit else None
        if said is None or event.relation.data[event.unit].get("answer") == said:
            return
        self._stored.heard = [*self._stored.heard, said][-3:]
        if event.relation.data[self.unit].get("talk") != said:
            event.relation.data[self.unit].update({"answer": said, "heard": ",".join(self._stored.heard)})

    def _on_tell(self, event):
        self._stored.count += 1
        if event.params["word"] == "no":
            event.fail("as it was asked to")
            return
        event.log("is asked")
        print("tells")
        event.set_results({"word": event.params["word"], "count": self._stored.count})


if __name__ == "__main__":
    ops.main(Even)
"""


def write(folder: Path) -> Path:
    """Write the charm with its packages into a new folder."""
    made = {"metadata.yaml": MANIFEST, "config.yaml": CONFIG, "actions.yaml": ACTIONS}
    programs = [NewFile("src/charm.py", PROGRAM, True), NewFile("dispatch", tiny_charm.DISPATCH, True)]
    files = [NewFile(name, content) for name, content in made.items()]
    return tiny_charm.write(folder, [*files, *programs, *tiny_charm.venv()])
