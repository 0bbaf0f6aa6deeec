"""What is run for an action: the description that a runtime gets."""

from tinkwell.client.workflow.model import Action
from tinkwell.core.workflow.decide import RunKey
from tinkwell.core.workflow.hook import Hook
from tinkwell.provisioner.runtime import port


def of(key: RunKey, action: Action) -> port.RunSpec:
    """Describe an attempt at an action, or a hook of it, which differs from it by its command alone."""
    return port.RunSpec(
        key=key,
        worker_id=action.worker_id,
        task_name=action.task_name,
        action_name=action.name,
        image=action.image,
        command=_command(key.hook, action),
        environment=action.environment,
        volumes=action.volumes,
        pid=action.pid,
    )


def _command(hook: str, action: Action) -> tuple[str, ...]:
    match hook:
        case Hook.ON_FAILURE:
            return action.on_failure
        case Hook.ON_TIMEOUT:
            return action.on_timeout
        case _:
            return action.command
