"""The contents of a template."""

from dataclasses import dataclass

from tinkwell.core.workflow import retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One step: a container that a worker runs.

    `timeout_seconds` 0 means no timeout of its own. `environment` holds sorted `KEY=value`, `volumes`
    `host:container:ro`. `retries` counts the attempts after the first, and `retry_delay_seconds` is the delay before
    the second attempt. An action that `reboots` ends when its machine has rebooted.
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
    retries: int = 0
    retry_delay_seconds: int = retry.DEFAULT_DELAY_SECONDS
    reboots: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The actions of one worker, with the volumes and the environment that all of them get."""

    name: str
    worker: str
    volumes: tuple[str, ...]
    environment: tuple[str, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A whole template; `global_timeout_seconds` 0 means none.

    `on_timeout` and `on_failure` name the templates of the workflows that recover a workflow of this template; "" for
    none.
    """

    name: str
    version: str
    global_timeout_seconds: int
    tasks: tuple[Task, ...]
    on_timeout: str = ""
    on_failure: str = ""
