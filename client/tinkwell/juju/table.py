"""All commands: those that are there, and why others are not."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Entry:
    """A command that is not imported yet. `target` says where it is (`module:attribute`)."""

    target: str
    aliases: tuple[str, ...] = ()

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        loaded = getattr(importlib.import_module(module), attribute)
        assert isinstance(loaded, click.Command), f"{self.target} is not a command"
        return loaded


COMMANDS: Mapping[str, Entry] = {
    # models
    "version": Entry("tinkwell.juju.model.version:version"),
    # tasks, secrets, storage, logs
    "run": Entry("tinkwell.juju.task.running:run"),
    "exec": Entry("tinkwell.juju.task.commanding:exec_"),
    "ssh": Entry("tinkwell.juju.task.commanding:ssh"),
    "show-task": Entry("tinkwell.juju.task.looking:show_task"),
    "cancel-task": Entry("tinkwell.juju.task.looking:cancel_task"),
    "operations": Entry("tinkwell.juju.task.looking:operations", aliases=("list-operations",)),
    "actions": Entry("tinkwell.juju.task.looking:actions", aliases=("list-actions",)),
    "add-secret": Entry("tinkwell.juju.secret.changing:add_secret"),
    "update-secret": Entry("tinkwell.juju.secret.changing:update_secret"),
    "grant-secret": Entry("tinkwell.juju.secret.changing:grant_secret"),
    "revoke-secret": Entry("tinkwell.juju.secret.changing:revoke_secret"),
    "remove-secret": Entry("tinkwell.juju.secret.changing:remove_secret"),
    "secrets": Entry("tinkwell.juju.secret.reading:secrets", aliases=("list-secrets",)),
    "show-secret": Entry("tinkwell.juju.secret.reading:show_secret"),
    "storage": Entry("tinkwell.juju.storage.looking:storage", aliases=("list-storage",)),
    "show-storage": Entry("tinkwell.juju.storage.looking:show_storage"),
    "add-storage": Entry("tinkwell.juju.storage.changing:add_storage"),
    "attach-storage": Entry("tinkwell.juju.storage.changing:attach_storage"),
    "detach-storage": Entry("tinkwell.juju.storage.changing:detach_storage"),
    "remove-storage": Entry("tinkwell.juju.storage.changing:remove_storage"),
    "show-unit": Entry("tinkwell.juju.show.unit:show_unit"),
    "show-application": Entry("tinkwell.juju.show.application:show_application"),
    "debug-log": Entry("tinkwell.juju.log.debug_log:debug_log"),
}

_NO_OFFERS = "relations join applications of one model"
_NO_LOGIN = "nobody logs in to machines through the server"

REFUSED: Mapping[str, str] = {
    # tasks, secrets, storage, logs
    "show-operation": "each task is an operation of its own; see show-task",
    "scp": f"{_NO_LOGIN}; give files to a charm as resources, or read them by `exec`",
    "add-ssh-key": _NO_LOGIN,
    "remove-ssh-key": _NO_LOGIN,
    "ssh-keys": _NO_LOGIN,
    "import-ssh-key": _NO_LOGIN,
    "debug-hooks": f"{_NO_LOGIN}; see `tinkwell unit explain`",
    "debug-code": f"{_NO_LOGIN}; see `tinkwell unit explain`",
    "offer": _NO_OFFERS,
    "offers": _NO_OFFERS,
    "find-offers": _NO_OFFERS,
    "show-offer": _NO_OFFERS,
    "remove-offer": _NO_OFFERS,
    "consume": _NO_OFFERS,
    "remove-saas": _NO_OFFERS,
    "suspend-relation": _NO_OFFERS,
    "resume-relation": _NO_OFFERS,
    "create-storage-pool": "a storage is a folder of its unit's machine; there are no pools",
    "storage-pools": "a storage is a folder of its unit's machine; there are no pools",
    "import-filesystem": "a storage is a folder of its unit's machine, which the agent makes",
    "add-secret-backend": "secrets are kept by the server alone",
    "secret-backends": "secrets are kept by the server alone",
    "add-machine": "machines are pushed by `tinkwell hardware push`, or enrol themselves",
    "remove-machine": "machines are removed by `tinkwell hardware delete`",
}


def find(name: str) -> Entry | None:
    """Find a command by its name or one of its aliases."""
    if name in COMMANDS:
        return COMMANDS[name]
    return next((each for each in COMMANDS.values() if name in each.aliases), None)
