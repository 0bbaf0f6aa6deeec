"""All tools by their names, and a call of one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool import answer, usage
from tinkwell.provisioner.unit.tool.command import (
    action,
    other,
    port,
    refusal,
    relation,
    secret,
    state,
    status,
    storage,
)
from tinkwell.provisioner.unit.tool.usage import Arguments, Misused, Usage

_FAILED, _MISUSED = 1, 2


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: how it may be called, and what does it, from arguments and the content of `--file`."""

    usage: Usage
    run: Callable[[Attempt, Arguments, bytes], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Result:
    """How a call ends, and what it says."""

    code: int = 0
    out: str = ""
    err: str = ""


async def call(attempt: Attempt, name: str, given: Sequence[str], content: bytes) -> Result:
    """Call a tool by its name."""
    if (sentence := refusal.SENTENCES.get(name)) is not None:
        return Result(_FAILED, err=f"ERROR {sentence}\n")
    tool = TOOLS.get(name)
    if tool is None:
        return Result(_MISUSED, err=f"ERROR {name} is no tool; there are {', '.join(TOOLS)}\n")
    try:
        arguments = usage.parse(tool.usage, given)
        style = arguments.format
        value = await tool.run(attempt, arguments, content)
    except Misused as error:
        return Result(_MISUSED, err=f"ERROR {error}\n")
    except Refused as error:
        return Result(_FAILED, err=f"ERROR {error}\n")
    return Result(out=answer.write(value, style))


TOOLS: Mapping[str, Tool] = {
    "action-fail": Tool(action.FAIL, action.fail),
    "action-get": Tool(action.GET, action.get),
    "action-log": Tool(action.LOG, action.log),
    "action-set": Tool(action.SET, action.change),
    "add-metric": Tool(other.METRIC, other.metric),
    "application-version-set": Tool(status.VERSION, status.version),
    "close-port": Tool(port.CHANGE, port.close),
    "config-get": Tool(other.CONFIG, other.config),
    "is-leader": Tool(other.LEADER, other.is_leader),
    "juju-log": Tool(other.LOG, other.log),
    "leader-get": Tool(relation.LEADER_GET, relation.leader_get),
    "leader-set": Tool(relation.LEADER_SET, relation.leader_set),
    "network-get": Tool(other.NETWORK, other.network),
    "open-port": Tool(port.CHANGE, port.open_ports),
    "opened-ports": Tool(port.OPENED, port.opened),
    "relation-get": Tool(relation.GET, relation.get),
    "relation-ids": Tool(relation.IDS, relation.ids),
    "relation-list": Tool(relation.LIST, relation.members),
    "relation-model-get": Tool(relation.MODEL, relation.model),
    "relation-set": Tool(relation.SET, relation.change),
    "resource-get": Tool(other.RESOURCE, other.resource),
    "secret-add": Tool(secret.ADD, secret.add),
    "secret-get": Tool(secret.GET, secret.get),
    "secret-grant": Tool(secret.GRANT, secret.grant),
    "secret-ids": Tool(secret.IDS, secret.ids),
    "secret-info-get": Tool(secret.INFO, secret.info),
    "secret-remove": Tool(secret.REMOVE, secret.remove),
    "secret-revoke": Tool(secret.REVOKE, secret.revoke),
    "secret-set": Tool(secret.SET, secret.change),
    "state-delete": Tool(state.DELETE, state.delete),
    "state-get": Tool(state.GET, state.get),
    "state-set": Tool(state.SET, state.change),
    "status-get": Tool(status.GET, status.get),
    "status-set": Tool(status.SET, status.change),
    "storage-add": Tool(storage.ADD, storage.add),
    "storage-get": Tool(storage.GET, storage.get),
    "storage-list": Tool(storage.LIST, storage.names),
    "unit-get": Tool(other.ADDRESS, other.address),
}
# Each of them has a program, also those that refuse, so that a charm is told why.
NAMES = (*TOOLS, *refusal.SENTENCES)
