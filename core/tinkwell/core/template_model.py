"""What a template says, once it is read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One step: a container that a worker runs.

    `timeout_seconds` 0 means none of its own. `environment` holds sorted `KEY=value`, `volumes` `host:container:ro`.
    """

    task_name: str
    name: str
    image: str
    timeout_seconds: int
    command: tuple[str, ...]
    volumes: tuple[str, ...]
    environment: tuple[str, ...]
    pid: str
    on_timeout: tuple[str, ...]
    on_failure: tuple[str, ...]
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Actions of one worker, with the volumes and the environment that all of them get."""

    name: str
    worker: str
    volumes: tuple[str, ...]
    environment: tuple[str, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A whole template; `global_timeout_seconds` 0 means none."""

    name: str
    version: str
    global_timeout_seconds: int
    tasks: tuple[Task, ...]
