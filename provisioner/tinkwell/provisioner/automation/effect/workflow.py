"""Starts the workflows of one rule."""

import functools
from collections.abc import Mapping
from typing import Protocol

from tinkwell.client import errors, retry
from tinkwell.client.value.change import Created
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Workflow
from tinkwell.core.event.kinds import ResourceType
from tinkwell.provisioner.automation.effect import attempt
from tinkwell.provisioner.automation.rule import evaluation, expression, key
from tinkwell.provisioner.automation.rule import model as rule

# What the server will say again, however often it is asked.
_HOPELESS = (
    errors.InvalidField,
    errors.NotFound,
    errors.IllegalTransition,
    errors.PermissionDenied,
)
# Answers, too, though another time there may be another. A server that is away is waited for instead.
_ANSWERS = (errors.AlreadyExists, errors.Internal, errors.LostRace)
# These say nothing about the effect: nobody may go on without a valid token, or with a server of another kind.
FATAL = (errors.Unauthenticated, errors.Unimplemented, errors.Closed)


class WorkflowApi(Protocol):
    """What starting workflows needs of the server."""

    async def create(
        self,
        template: str,
        devices: Mapping[str, str] | str,
        *,
        id: str | None = None,  # noqa: A002
    ) -> Created:
        """Create a workflow; a repeated call changes nothing."""

    async def get(self, id: str) -> Workflow:  # noqa: A002
        """Get a workflow."""


class Starter:
    """Starts a workflow for each effect of one rule, under an id that follows from the effect's key."""

    def __init__(self, action: rule.StartWorkflow, api: WorkflowApi, evaluator: evaluation.Evaluator) -> None:
        self._action = action
        self._api = api
        self._evaluator = evaluator

    async def attempt(self, effect: rule.Effect) -> attempt.Attempt:
        """Ask once; raises an `errors.Error` of `FATAL`."""
        workflow_id = key.workflow_id(effect.key)
        try:
            (template,) = await self._evaluator.texts([self._action.template], effect.event)
            devices = await self._devices(effect.event)
            create = functools.partial(self._api.create, template, devices, id=workflow_id)
            created = await retry.until_answered(create, what="start a workflow", gives_up=_ANSWERS)
        except errors.AlreadyExists:
            # Nobody else derives this id: it was started, and its template has been changed or it was deleted since.
            return attempt.done(f"workflow {workflow_id} was started before")
        except (expression.ExpressionError, *_HOPELESS) as error:
            return attempt.hopeless(str(error))
        except errors.Error as error:
            if isinstance(error, FATAL):
                raise
            return attempt.failed(str(error))
        verb = "is started" if created.revision else "was started before"
        return attempt.done(f"workflow {workflow_id} {verb}")

    async def close(self) -> None:
        """Nothing is held between effects."""

    async def _devices(self, event: Event) -> Mapping[str, str]:
        if self._action.devices is not None:
            values = await self._evaluator.texts(self._action.devices.values(), event)
            return dict(zip(self._action.devices, values, strict=True))
        if event.resource_type is ResourceType.WORKFLOW:
            hardware: Mapping[str, str] = Workflow.from_json(event.data).hardware
            return hardware
        get = functools.partial(self._api.get, event.parent_id)
        return (await retry.until_answered(get, what="get a workflow", gives_up=_ANSWERS)).hardware
