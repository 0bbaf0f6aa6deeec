"""All commands: the supported ones, and the reasons why others are not supported."""

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


_MODEL = "tinkwell.juju.model"
_APPLICATION = "tinkwell.juju.application"
_TASK = "tinkwell.juju.task"
_STORAGE_ROOM = "tinkwell.juju.storage"
_SHOW = "tinkwell.juju.show"

COMMANDS: Mapping[str, Entry] = {
    # models
    "add-model": Entry(f"{_MODEL}.lifecycle:add_model"),
    "controllers": Entry(f"{_MODEL}.listing:controllers", aliases=("list-controllers",)),
    "destroy-model": Entry(f"{_MODEL}.lifecycle:destroy_model"),
    "model-config": Entry(f"{_MODEL}.config:model_config"),
    "model-constraints": Entry(f"{_MODEL}.constraint:model_constraints"),
    "models": Entry(f"{_MODEL}.listing:models", aliases=("list-models",)),
    "show-controller": Entry(f"{_MODEL}.listing:show_controller"),
    "show-model": Entry(f"{_MODEL}.listing:show_model"),
    "status": Entry("tinkwell.juju.status.commands:status"),
    "switch": Entry(f"{_MODEL}.lifecycle:switch"),
    "version": Entry(f"{_MODEL}.version:version"),
    "whoami": Entry(f"{_MODEL}.listing:whoami"),
    # applications
    "add-unit": Entry(f"{_APPLICATION}.scaling:add_unit"),
    "config": Entry(f"{_APPLICATION}.configuring:config"),
    "deploy": Entry(f"{_APPLICATION}.deploying:deploy"),
    "integrate": Entry(f"{_APPLICATION}.relating:integrate", aliases=("relate",)),
    "refresh": Entry(f"{_APPLICATION}.deploying:refresh"),
    "remove-application": Entry(f"{_APPLICATION}.scaling:remove_application"),
    "remove-relation": Entry(f"{_APPLICATION}.relating:remove_relation"),
    "remove-unit": Entry(f"{_APPLICATION}.scaling:remove_unit"),
    "resolved": Entry(f"{_APPLICATION}.scaling:resolved", aliases=("resolve",)),
    "trust": Entry(f"{_APPLICATION}.trusting:trust"),
    # tasks, secrets, storage, logs
    "run": Entry(f"{_TASK}.running:run"),
    "exec": Entry(f"{_TASK}.commanding:exec_"),
    "ssh": Entry(f"{_TASK}.commanding:ssh"),
    "show-task": Entry(f"{_TASK}.looking:show_task"),
    "cancel-task": Entry(f"{_TASK}.looking:cancel_task"),
    "operations": Entry(f"{_TASK}.looking:operations", aliases=("list-operations",)),
    "actions": Entry(f"{_TASK}.looking:actions", aliases=("list-actions",)),
    "add-secret": Entry("tinkwell.juju.secret.changing:add_secret"),
    "update-secret": Entry("tinkwell.juju.secret.changing:update_secret"),
    "grant-secret": Entry("tinkwell.juju.secret.changing:grant_secret"),
    "revoke-secret": Entry("tinkwell.juju.secret.changing:revoke_secret"),
    "remove-secret": Entry("tinkwell.juju.secret.changing:remove_secret"),
    "secrets": Entry("tinkwell.juju.secret.reading:secrets", aliases=("list-secrets",)),
    "show-secret": Entry("tinkwell.juju.secret.reading:show_secret"),
    "storage": Entry(f"{_STORAGE_ROOM}.looking:storage", aliases=("list-storage",)),
    "show-storage": Entry(f"{_STORAGE_ROOM}.looking:show_storage"),
    "add-storage": Entry(f"{_STORAGE_ROOM}.changing:add_storage"),
    "attach-storage": Entry(f"{_STORAGE_ROOM}.changing:attach_storage"),
    "detach-storage": Entry(f"{_STORAGE_ROOM}.changing:detach_storage"),
    "remove-storage": Entry(f"{_STORAGE_ROOM}.changing:remove_storage"),
    "show-unit": Entry(f"{_SHOW}.unit:show_unit"),
    "machines": Entry(f"{_SHOW}.machine:machines", aliases=("list-machines",)),
    "show-machine": Entry(f"{_SHOW}.machine:show_machine"),
    "show-application": Entry(f"{_SHOW}.application:show_application"),
    "debug-log": Entry("tinkwell.juju.log.debug_log:debug_log"),
}

_CLOUD = "there are no clouds; machines are pushed, or enrol themselves, and tinkwell hardware shows them"
_CONTROLLER = 'the controller is the server, which runs already; "tinkwell dev" starts one'
_ACROSS = "Tinkwell has no relations between models"
_PORTS = "Tinkwell records ports, and changes no firewall; the machine decides who can reach a port"
_SHELL = "Tinkwell reaches machines only through their agents; juju exec runs a command, if the server allows that"
_KEYS = "Tinkwell puts no SSH keys on machines; a workflow may do so"
_SPACES = "Tinkwell has no spaces; all endpoints have the machine's own address"
_CHARMHUB = "Tinkwell does not ask Charmhub; charms are folders and packages"
_STORAGE = "a storage is a folder on its unit's machine, created by the agent; there are no pools"
_USERS = "the tokens of the server decide who may do what"

# Commands of Juju that are not supported, with the reasons.
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("add-cloud", "add-credential", "clouds", "credentials", "regions", "update-cloud"), _CLOUD),
    **dict.fromkeys(("remove-cloud", "remove-credential", "update-credential"), _CLOUD),
    **dict.fromkeys(("add-machine", "remove-machine", "retry-provisioning"), _CLOUD),
    **dict.fromkeys(("bootstrap", "destroy-controller", "kill-controller", "register", "unregister"), _CONTROLLER),
    **dict.fromkeys(("consume", "find-offers", "offer", "offers", "remove-offer", "remove-saas"), _ACROSS),
    **dict.fromkeys(("show-offer", "resume-relation", "suspend-relation"), _ACROSS),
    **dict.fromkeys(("expose", "unexpose", "firewall-rules", "set-firewall-rule"), _PORTS),
    **dict.fromkeys(("scp", "debug-hooks", "debug-code"), _SHELL),
    **dict.fromkeys(("add-ssh-key", "import-ssh-key", "remove-ssh-key", "ssh-keys"), _KEYS),
    **dict.fromkeys(("add-space", "bind", "spaces", "subnets"), _SPACES),
    **dict.fromkeys(("download", "find", "info"), _CHARMHUB),
    **dict.fromkeys(("add-user", "change-user-password", "grant", "login", "logout", "revoke", "users"), _USERS),
    **dict.fromkeys(
        ("constraints", "set-constraints", "set-model-constraints"),
        "Tinkwell creates no machines, so constraints would have no effect",
    ),
    **dict.fromkeys(
        ("diff-bundle", "export-bundle"), "Tinkwell has no bundles; a release deploys several applications"
    ),
    **dict.fromkeys(("backups", "create-backup", "download-backup"), "all data is in PostgreSQL; back that up"),
    **dict.fromkeys(
        ("charm-resources", "resources"), "a resource is part of its charm; tinkwell charm inspect shows it"
    ),
    "attach-resource": "a resource is part of its charm; give it to juju refresh, with --path and --resource",
    "migrate": "a model stays on its server",
    "scale-application": "it is for Kubernetes; use juju add-unit and juju remove-unit",
    "show-status-log": "tinkwell unit events lists the events of a unit, and tinkwell unit explain their causes",
    "upgrade-controller": _CONTROLLER,
    "upgrade-model": "agents are upgraded with Tinkwell",
    "wait-for": 'wait with "tinkwell app wait" or "tinkwell app watch", or look at juju status',
    # tasks, secrets, storage, logs
    **dict.fromkeys(("create-storage-pool", "storage-pools", "import-filesystem"), _STORAGE),
    **dict.fromkeys(("add-secret-backend", "secret-backends", "model-secret-backend"), "the server keeps all secrets"),
    "show-operation": "each task is an operation of its own; see juju show-task",
}


def find(name: str) -> Entry | None:
    """Find a command by its name or one of its aliases."""
    if name in COMMANDS:
        return COMMANDS[name]
    return next((each for each in COMMANDS.values() if name in each.aliases), None)
