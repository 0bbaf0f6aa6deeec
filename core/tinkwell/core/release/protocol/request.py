"""The requests to a resource's image on its standard input: one JSON object, and then the end of the file.

    init      name, type, version, verbose, workspace, protocol, release, operation_id; chart_path in a chart
    state     the same and config
    action    the same, config and staleState, which is {} for a resource that does not exist
    destroy   the same, config and state

`version` is the version of Deployster with this protocol. Members that Deployster does not send have new names, so that
Deployster's images run unchanged; images that read `protocol` may answer more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tinkwell.core.value import document

VERSION = "18.0.0"
PROTOCOL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The resource that a call is for: `name` is its path, and `chart_path` the path of its chart, if it has one.

    `workspace` is a folder that the image sees.
    """

    name: str
    type: str
    workspace: str
    release: str
    operation_id: str
    chart_path: str = ""
    verbose: bool = False

    def init(self) -> bytes:
        """Return the request for the image's needs, and for the command that asks for the state."""
        return self._document()

    def state(self, config: Mapping[str, object]) -> bytes:
        """Return the request for the state."""
        return self._document(config=config)

    def action(self, config: Mapping[str, object], stale_state: Mapping[str, object] | None) -> bytes:
        """Return the request for an action; `stale_state` is None if the resource does not exist."""
        return self._document(config=config, staleState=stale_state or {})

    def destroy(self, config: Mapping[str, object], state: Mapping[str, object] | None) -> bytes:
        """Return the request to remove the resource; `state` is its last known state, None if there is none."""
        return self._document(config=config, state=state or {})

    def _document(self, **more: object) -> bytes:
        told = {
            "name": self.name,
            "type": self.type,
            "version": VERSION,
            "verbose": self.verbose,
            "workspace": self.workspace,
            "protocol": PROTOCOL,
            "release": self.release,
            "operation_id": self.operation_id,
            **({"chart_path": self.chart_path} if self.chart_path else {}),
            **more,
        }
        return document.dump_json(told).encode()
