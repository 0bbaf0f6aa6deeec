"""Translates an action of a workflow for the agent: builds the work to run, and reports its start and its end.

A report is made under the lease, and repeated until the server answers. The server may refuse a report:

    RUNNING      nothing is started; if another workflow runs on a machine of this one, this workflow waits for it
    an end       the action is over already (cancelled, for example), or another provisioner owns it now

If the server refuses the end of an action that has a hook, the run is left, and the next look at the workflow decides
about it. The states are in `docs/reference/states.md`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace

from tinkwell.client import errors, retry
from tinkwell.client.lease import keeper as lease
from tinkwell.client.workflow.model import Action, LogLine, Report, Reported
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey
from tinkwell.core.workflow import hook
from tinkwell.provisioner.agent.job import Fate, Outcome, Permit, Receipt, Refusal
from tinkwell.provisioner.agent.run_spec import Work, fields
from tinkwell.provisioner.runtime import output, port
from tinkwell.provisioner.workflow import reporter, shared_document, workflow_folder

logger = logging.getLogger(__name__)

MAX_MESSAGE_CHARACTERS = 1000
# The folder in a container where the workflow's files are mounted.
WORKFLOW_DIR = "/workflow"

_STARTED = Outcome(state=State.RUNNING, message="started", seconds=0.0)
_ADOPTED = Outcome(state=State.RUNNING, message="adopted", seconds=0.0)
_REFUSALS = (errors.NotFound, errors.IllegalTransition, errors.WrongWorker)


def work_of(key: RunKey, action: Action, runtime: port.Runtime, files: workflow_folder.Files) -> Work:
    """Build the work of an attempt at an action, or of its hook, which differs only in its command and environment."""
    commands = {hook.Hook.ON_FAILURE: action.on_failure, hook.Hook.ON_TIMEOUT: action.on_timeout}
    folder = files.workflow_dir(key.owner, action.worker_id)
    mount = port.Mount(source=str(folder), target=WORKFLOW_DIR, may_create=True)
    run = port.RunSpec(
        key=key,
        image=action.image,
        command=commands[hook.Hook(key.hook)] if key.hook else action.command,
        environment=(*_own_environment(key, action, runtime.seen_at(mount)), *action.environment),
        mounts=(mount,),
        volumes=action.volumes,
        labels={"task": action.task_name, "name": action.name, "worker": action.worker_id},
        pid=action.pid,
    )
    return Work(run=run, timeout_seconds=action.timeout_seconds, started_at=action.started_at, reboots=action.reboots)


def _own_environment(key: RunKey, action: Action, workflow_dir: str) -> Iterator[str]:
    """Yield the variables that tell a run its identity and the folder of its workflow's files."""
    if key.hook:
        yield f"TINKWELL_HOOK={key.hook}"
    yield f"WORKFLOW_DIR={workflow_dir}"
    yield f"TINKWELL_WORKFLOW_ID={key.owner}"
    yield f"TINKWELL_ACTION_ID={key.run}"
    yield f"TINKWELL_ATTEMPT={key.attempt}"
    yield f"TINKWELL_WORKER_ID={action.worker_id}"


@dataclass(frozen=True, slots=True)
class ActionReporter:
    """Reports one attempt at an action to the server.

    `document` is the document that the workflow's actions share. `following` is the reporter of the next action: its
    start is reported in the same call as the end of this attempt. The reporter of that next action waits in `ahead` for
    the server's answer to its start, and reports the start itself if `ahead` ends without an answer.
    """

    api: reporter.Reporter
    lease: lease.Keeper
    key: RunKey
    action: Action
    document: shared_document.SharedDocument
    following: "ActionReporter | None" = None
    ahead: "asyncio.Future[Reported | None] | None" = None

    async def begin(self, *, adopts: bool) -> Permit | Refusal:
        """Report RUNNING, or wait for the answer if the reporter of the action before has reported it already."""
        known = None if self.ahead is None else await self.ahead
        answer = known or await self._answer(_ADOPTED if adopts else _STARTED)
        if isinstance(answer, errors.Error):
            return Refusal(is_blocked=isinstance(answer, errors.MachineBusy))
        self.document.version = answer.data_version
        return Permit(answer.remaining_seconds)

    async def end(self, outcome: Outcome) -> Receipt:
        """Report how the attempt ended.

        If it succeeded, its document is sent first; if the server does not take the document, FAILED is reported.
        """
        try:
            if outcome.state is State.SUCCEEDED:
                outcome = await self._hand_on(outcome)
            answer = await self._answer(outcome)
        finally:
            if self.following is not None:
                self.following.hear(None)
        if not isinstance(answer, errors.Error):
            end = {"state": outcome.state.value, "outcome": outcome.message}
            logger.info("an action has ended", extra=fields(self.key) | end)
        return receipt_of(self.action, outcome, answer)

    @property
    def is_awaited(self) -> bool:
        """Whether `begin` still needs the answer to a start that is reported together with an end."""
        return self.ahead is not None and not self.ahead.done()

    def hear(self, answer: Reported | None) -> None:
        """Hand `begin` the server's answer to the start, None for no answer. Only the first call counts."""
        if self.ahead is not None and not self.ahead.done():
            self.ahead.set_result(answer)

    async def append(self, key: RunKey, lines: Sequence[output.OutputLine]) -> None:
        """Store lines of the output of the attempt or of its hook."""
        sent = [
            LogLine(key.run, key.attempt, line.number, line.text, line.stream, is_open=line.is_open) for line in lines
        ]
        await self.api.append_logs(key.owner, sent)

    async def _hand_on(self, outcome: Outcome) -> Outcome:
        async def is_ours() -> bool:
            # Another provisioner that has taken over the run sends the document itself; this one must not overwrite it.
            return not isinstance(await self._answer(_ADOPTED), errors.Error)

        try:
            remark = await self.document.hand_on(is_ours)
        except (shared_document.Refused, port.RunError) as refused:
            return replace(outcome, state=State.FAILED, message=str(refused))
        return replace(outcome, message=f"{outcome.message}; {remark}") if remark else outcome

    async def _answer(self, outcome: Outcome) -> Reported | errors.Error:
        """Report until the server answers. Returns a refusal as an error: the action is over, or must not begin."""

        def call(token: int) -> Awaitable[Reported]:
            return retry.until_answered(lambda: self._report(outcome, token), what=f"report {outcome.state}")

        try:
            return await self.lease.under(call)
        except _REFUSALS as error:
            logger.info("the server refused a report of an action", extra=fields(self.key) | {"cause": str(error)})
            return error

    async def _report(self, outcome: Outcome, token: int) -> Reported:
        report = self._told(outcome, token)
        # If the next action was stopped while it waited, nobody would run it: its start must not be reported.
        if self.following is None or not self.following.is_awaited:
            return await self.api.report(report)
        reported, started = await self.api.report_both(report, self.following._told(_STARTED, token))
        self.following.hear(started)
        return reported

    def _told(self, outcome: Outcome, token: int) -> Report:
        return Report(
            workflow_id=self.key.owner,
            action_id=self.key.run,
            worker_id=self.action.worker_id,
            state=outcome.state,
            attempt=self.key.attempt,
            seconds=outcome.seconds,
            message=outcome.message[:MAX_MESSAGE_CHARACTERS],
            exit_code=outcome.exit_code,
            lease_token=token,
        )


def receipt_of(action: Action, outcome: Outcome, answer: Reported | errors.Error) -> Receipt:
    """Return what happens to the run after the server's answer to the report of its end."""
    if isinstance(answer, errors.LeaseLost):
        return Receipt(fate=Fate.TAKEN)
    if isinstance(answer, errors.Error):
        return Receipt(fate=Fate.NEEDED if action.on_failure or action.on_timeout else Fate.DISCARDED)
    # If another attempt will follow, the server answers PENDING, and no hook is due.
    ended = answer.state or outcome.state
    due = hook.due(ended, on_failure=action.on_failure, on_timeout=action.on_timeout)
    if not answer.revision:
        # The server had this report before. Whether the hook is done already is not known here: the next look decides.
        return Receipt(fate=Fate.NEEDED if due else Fate.DISCARDED)
    return Receipt(fate=Fate.NEEDED if due else Fate.REMOVED, hook=due or "", has_succeeded=ended is State.SUCCEEDED)
