"""Makes the document of what an operation would do, from the observed states of the resources."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.release.decision.view import Answer
from tinkwell.core.release.kinds import NodeState, NodeTask, ResourceStatus
from tinkwell.core.release.preview import difference
from tinkwell.core.release.preview.difference import Found
from tinkwell.core.release.preview.model import MAX_REASON, Difference, Mark, PlannedAction, Preview, PreviewNode
from tinkwell.core.release.report import Call
from tinkwell.core.secret.mask import MASK
from tinkwell.core.value import document, pointer
from tinkwell.core.value.document import JsonObject, JsonValue

# The beginning of a node's message if the result is known only when the operation runs.
DECIDED_AT_RUN = "decided at run"
# The server accepts no message above 4 MiB.
MAX_RESULT_BYTES = 3 * 1024 * 1024
_GONE = "it no longer exists"
_SHOWN_POINTERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of a resource after its state was asked for.

    `former_type`, `former_config` and `former_state` are the stored ones, "" and None if there are none. `config` is
    the wanted one, None if it is not known yet, and `found` is the resource's state in a STALE answer. `kept` says why
    a resource to remove is left in place, "" if it is not, and `moved_to` the node as which it goes on. `message` says
    why a node has FAILED or was SKIPPED. `ignore` and `sensitive` are JSON pointers into config and state.
    """

    path: str
    type: str
    task: NodeTask = NodeTask.INSTALL
    state: NodeState = NodeState.READY
    message: str = ""
    answer: Answer | None = None
    readonly: bool = False
    config: JsonObject | None = None
    found: JsonObject | None = None
    former_type: str = ""
    former_config: JsonObject | None = None
    former_state: JsonObject | None = None
    former_status: ResourceStatus = ResourceStatus.UNKNOWN
    kept: str = ""
    moved_to: str = ""
    revision: int = 0
    ignore: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Makes nodes of a document. `is_drift`: the resources are compared with the installed revision.

    Removals begin after the batch `last_batch`. `mask` and `mask_json` remove secrets from texts and values.
    """

    is_drift: bool = False
    last_batch: int = 0
    mask: Callable[[str], str] = str
    mask_json: Callable[[JsonValue], JsonValue] = lambda value: value

    def node(self, seen: Seen) -> PreviewNode:
        """Return what would happen to a resource."""
        node = self._removed(seen) if seen.task is NodeTask.REMOVE else self._installed(seen)
        return replace(node, reason=self.mask(node.reason)[:MAX_REASON])

    def _removed(self, seen: Seen) -> PreviewNode:
        node = PreviewNode(
            path=seen.path, type=seen.type, mark=Mark.REMOVE, status=seen.former_status, revision=seen.revision
        )
        if seen.state is NodeState.FAILED:
            return replace(node, mark=Mark.ATTENTION, status=ResourceStatus.UNKNOWN, reason=seen.message)
        if seen.moved_to:
            return replace(node, mark=Mark.SAME, status=ResourceStatus.LEFT, reason=f"it goes on as {seen.moved_to}")
        if seen.kept:
            reason = f"left in place: {seen.kept}"
            return replace(node, mark=Mark.ATTENTION, status=ResourceStatus.LEFT, reason=reason)
        when = f"removed after batch {self.last_batch}" if self.last_batch else "removed"
        return replace(node, reason=f"last in revision {seen.revision}, {when}")

    def _installed(self, seen: Seen) -> PreviewNode:
        node = PreviewNode(path=seen.path, type=seen.type, mark=Mark.SAME, status=ResourceStatus.VALID)
        if seen.state is NodeState.FAILED:
            return replace(node, mark=Mark.ATTENTION, status=ResourceStatus.UNKNOWN, reason=seen.message)
        if seen.state is not NodeState.READY or seen.answer is None:
            return replace(node, mark=Mark.OPEN, status=ResourceStatus.UNKNOWN, reason=seen.message)
        if seen.answer.status is ResourceStatus.VALID:
            return replace(node, reason=_retyped(seen))
        return self._stale(seen, seen.answer, node)

    def _stale(self, seen: Seen, answer: Answer, node: PreviewNode) -> PreviewNode:
        found = list(_differences(seen))
        ignored = {each.parts for each in found if difference.is_below(each.parts, _places(seen.ignore))}
        if self.is_drift and ignored:
            found = [each for each in found if each.parts not in ignored]
            if not found:
                return replace(node, reason=f"the manifest says to ignore {_listed(_hiding(seen.ignore, ignored))}")
        node = replace(
            node,
            mark=Mark.CHANGE if answer.has_state else Mark.CREATE,
            status=ResourceStatus.STALE if answer.has_state else ResourceStatus.ABSENT,
            actions=tuple(planned(action, self.mask) for action in answer.actions),
            differences=self._shown(found, seen.sensitive),
            reason=_retyped(seen) or (_GONE if seen.former_state is not None and not answer.has_state else ""),
        )
        if seen.readonly:
            why = "its state is STALE, and the manifest says readonly, so no action may change that"
            return replace(node, mark=Mark.ATTENTION, reason=why)
        return node

    def _shown(self, found: Iterable[Found], sensitive: Iterable[str]) -> tuple[Difference, ...]:
        masked = (
            each._replace(before=tuple(map(self.mask_json, each.before)), after=tuple(map(self.mask_json, each.after)))
            for each in found
        )
        shown = difference.shown(masked, hidden=_places(sensitive), cover=MASK)
        return tuple(replace(each, pointer=self.mask(each.pointer)) for each in shown)


def planned(call: Call, mask: Callable[[str], str]) -> PlannedAction:
    """Return an action as a plan shows it, without secrets."""
    return PlannedAction(
        name=mask(call.name),
        description=mask(call.description),
        image=call.image,
        entrypoint=call.entrypoint,
        args=None if call.args is None else tuple(map(mask, call.args)),
    )


def fitting(preview: Preview) -> str:
    """Return a document as JSON text that fits in one report; if it is too long, optional parts are left out.

    Raises `errors.InvalidField` if it is too long even then.
    """
    text = preview.dump()
    if len(text.encode()) <= MAX_RESULT_BYTES:
        return text
    text = replace(preview, nodes=tuple(map(_without_details, preview.nodes))).dump()
    if (size := len(text.encode())) > MAX_RESULT_BYTES:
        why = f"has {size:,} bytes; at most {MAX_RESULT_BYTES:,} are allowed, so divide the release into several"
        raise errors.InvalidField.of("plan", why)
    return text


def _without_details(node: PreviewNode) -> PreviewNode:
    """Return a node without its differences and the descriptions of its actions."""
    return replace(node, differences=(), actions=tuple(replace(action, description="") for action in node.actions))


def digest_of(manifest: str) -> str:
    """Return the digest of a manifest, given as JSON text with masked secrets; a plan stores the digest."""
    return hashlib.sha256(manifest.encode()).hexdigest()


def drift_of(nodes: Iterable[PreviewNode]) -> str:
    """Return the digest of the drift, "" for none: which resources differ, how, and at which places."""
    drifted: list[JsonValue] = [
        [
            node.path,
            node.mark,
            [action.name for action in node.actions],
            [each.pointer for each in node.differences],
        ]
        for node in nodes
        if node.status in (ResourceStatus.STALE, ResourceStatus.ABSENT)
    ]
    return hashlib.sha256(document.dump_json(drifted).encode()).hexdigest() if drifted else ""


def _differences(seen: Seen) -> Iterator[Found]:
    if seen.former_config is not None and seen.config is not None:
        yield from difference.differences("config", seen.former_config, seen.config)
    if seen.former_state is not None and seen.found is not None:
        # An image may report only the wrong part of the state that it found.
        told = {key: value for key, value in seen.former_state.items() if key in seen.found}
        yield from difference.differences("state", told, seen.found)


def _retyped(seen: Seen) -> str:
    if not seen.former_type or seen.former_type == seen.type:
        return ""
    return f"its type was {seen.former_type}"


def _places(pointers: Iterable[str]) -> list[tuple[str, ...]]:
    return [pointer.parse_pointer("", text) for text in pointers]


def _hiding(pointers: Iterable[str], places: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the pointers, as the manifest has them, that hide any of these places."""
    hidden = list(places)
    return [text for text in pointers if any(difference.is_below(parts, _places((text,))) for parts in hidden)]


def _listed(pointers: Sequence[str]) -> str:
    shown = pointers[:_SHOWN_POINTERS]
    more = len(pointers) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
