"""The delivery log: a line for each try, in the program's log and in a file of bounded size.

DIR/NAME.jsonl      the newest lines
DIR/NAME.1.jsonl    the ones before, replaced whenever the first is full
DIR/NAME.lock       locked by whoever writes, since what is delivered again by hand is written there, too
"""

import asyncio
import datetime
import fcntl
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinkwell.core.process_log import redaction
from tinkwell.provisioner.automation.effect import attempt
from tinkwell.provisioner.automation.rule import model as rule

logger = logging.getLogger(__name__)

MAX_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What the log tells of the last try at an effect; `fields` is its whole line."""

    key: str
    rule: str
    revision: int
    attempt: int
    is_given_up: bool
    fields: dict[str, Any]


class DeliveryLog:
    """Writes down what was tried, and how it went. A file that cannot be written is told of, and stops nothing."""

    def __init__(self, directory: Path, name: str, *, max_bytes: int = MAX_BYTES) -> None:
        self._path = directory / f"{name}.jsonl"
        self._older = directory / f"{name}.1.jsonl"
        self._lock_file = directory / f"{name}.lock"
        self._max_bytes = max_bytes
        self._lock = asyncio.Lock()

    async def write(
        self, effect: rule.Effect, tried: attempt.Attempt, *, number: int, seconds: float, again_in: float | None
    ) -> None:
        """Write down a try, the how-many-eth, how long it took, and when the next one is due: None means never."""
        fields = {
            "rule": effect.rule.name,
            "key": effect.key,
            "revision": effect.event.revision,
            "resource": effect.event.resource_id,
            "target": target_of(effect.rule.action),
            "attempt": number,
            "outcome": tried.outcome.value,
            "detail": redaction.redact(tried.detail),
            "seconds": round(seconds, 3),
        }
        if again_in is not None:
            fields["again_in"] = round(again_in, 1)
        is_given_up = tried.outcome is not attempt.Outcome.DONE and again_in is None
        # First, so that whoever reads of it in the process's log finds it in the delivery log.
        try:
            async with self._lock:
                await asyncio.to_thread(self._append, {"time": _now(), **fields, "given_up": is_given_up})
        except OSError as error:
            logger.warning("the delivery log cannot be written", extra={"path": self._path, "cause": str(error)})
        if tried.outcome is attempt.Outcome.DONE:
            logger.info("an effect is done", extra=fields)
        else:
            message = "an effect has failed for good" if is_given_up else "an effect has failed and is tried again"
            logger.log(logging.ERROR if is_given_up else logging.WARNING, message, extra=fields)

    def _append(self, record: dict[str, Any]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        with self._lock_file.open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._path.exists() and self._path.stat().st_size + len(line) > self._max_bytes:
                self._path.replace(self._older)
            with self._path.open("ab") as file:
                file.write(line)


def latest(directory: Path, name: str) -> dict[str, Delivery]:
    """Return the last try at each effect by its key, the one that was tried last at the end; raises OSError."""
    found: dict[str, Delivery] = {}
    for path in (directory / f"{name}.1.jsonl", directory / f"{name}.jsonl"):
        if path.exists():
            for read in filter(None, map(_read, path.read_bytes().splitlines())):
                found.pop(read.key, None)
                found[read.key] = read
    return found


def _read(line: bytes) -> Delivery | None:
    """Read a line; None for one that was cut short by a death."""
    try:
        fields = json.loads(line)
        return Delivery(
            key=fields["key"],
            rule=fields["rule"],
            revision=fields["revision"],
            attempt=fields["attempt"],
            is_given_up=fields["given_up"],
            fields=fields,
        )
    except (ValueError, KeyError, TypeError):
        return None


def target_of(action: rule.Action) -> str:
    """Name what an effect acts upon, without what may be secret: the path of a URL often is."""
    match action:
        case rule.StartWorkflow(template=template):
            return f"workflow {template.text}"
        case rule.PostWebhook(url=url):
            return rule.origin(url)
        case rule.RunCommand(program=program):
            return program


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
