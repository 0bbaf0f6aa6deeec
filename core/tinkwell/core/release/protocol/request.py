"""What a resource's image is told on its standard input: one JSON object, and then the end of the file.

    init      name, type, version, verbose, workspace, protocol, release, operation_id; chart_path for one of a chart
    state     the same and config
    action    the same, config and staleState, which is {} for a resource that does not exist
    destroy   the same, config and state

`version` is the one of Deployster whose protocol this is. What Deployster does not send has names of its own, so that
its images run unchanged; images that know `protocol` may answer more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tinkwell.core.value import document

VERSION = "18.0.0"
PROTOCOL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls, and for which resource: `name` is its path, and `chart_path` that of its chart, if it has one.

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
        """Ask what the image needs, and how to ask for the state."""
        return self._document()

    def state(self, config: Mapping[str, object]) -> bytes:
        """Ask for the state."""
        return self._document(config=config)

    def action(self, config: Mapping[str, object], stale_state: Mapping[str, object] | None) -> bytes:
        """Ask to act upon a state, None where there is none."""
        return self._document(config=config, staleState=stale_state or {})

    def destroy(self, config: Mapping[str, object], state: Mapping[str, object] | None) -> bytes:
        """Ask to remove the resource, which was seen last in a state, None where it never was."""
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
