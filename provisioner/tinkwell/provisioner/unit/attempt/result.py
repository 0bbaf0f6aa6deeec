"""What an action of a charm answers to who has asked for it."""

import json
import re

from tinkwell.core.unit import limit
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.unit.attempt.world import Refused

# The rest of what the server takes is for the program's own output.
MAX_BYTES = limit.TASK_RESULT_BYTES // 2
MAX_DEPTH = 32
# What is kept for the program's own output.
RESERVED = ("stdout", "stderr", "return-code")
_KEY = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")


class Result:
    """Values by their keys, which may lie in others, and whether the action has failed by its own word."""

    def __init__(self) -> None:
        self.values: JsonObject = {}
        # Why the action says that it has failed; None while it does not.
        self.failure: str | None = None

    def set(self, path: str, value: str) -> None:
        """Set a value by a key such as `backup.size`. Raises `Refused`, and then does nothing."""
        *above, last = path.split(".")
        if path in RESERVED:
            raise Refused(f'cannot set reserved action key "{path}"')
        if not all(_KEY.fullmatch(part) for part in (*above, last)):
            raise Refused(
                f'key "{path}" must start and end with lowercase alphanumeric, and contain only lowercase '
                "alphanumeric, hyphens and periods"
            )
        if len(above) >= MAX_DEPTH:
            raise Refused(f"a key of a result has {len(above) + 1:,} parts; at most {MAX_DEPTH} are allowed")
        # Each part costs its quotes, a colon, a comma and its braces at most.
        parts = 8 * (len(above) + 1)
        if parts + len(json.dumps(self.values)) + len(path) + len(json.dumps(value)) > MAX_BYTES:
            raise Refused(f"the result of an action has at most {MAX_BYTES:,} bytes")
        here = self.values
        for part in above:
            inner = here.get(part)
            if not isinstance(inner, dict):
                inner = here[part] = {}
            here = inner
        here[last] = value

    def fail(self, message: str) -> None:
        """Say that the action has failed."""
        self.failure = message
