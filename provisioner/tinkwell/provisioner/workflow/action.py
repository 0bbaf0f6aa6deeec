"""An action of a workflow as the agent sees it: what is to be run, and what the server is told and answers.

A report is made under the lease, and repeated until the server answers. It may refuse:

    RUNNING      nothing is started; where another workflow runs on a machine of this one, that is waited for
    an end       the action is over (cancelled, say), and its run is not needed; or it is another's by now

Where a refused end may have a hook, its run is left, and the next look decides. The states are in
`docs/reference/states.md`.
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
# Where a workflow's files are in a container.
WORKFLOW_DIR = "/workflow"

_STARTED = Outcome(state=State.RUNNING, message="started", seconds=0.0)
_ADOPTED = Outcome(state=State.RUNNING, message="adopted", seconds=0.0)
_REFUSALS = (errors.NotFound, errors.IllegalTransition, errors.WrongWorker)


def work_of(key: RunKey, action: Action, runtime: port.Runtime, files: workflow_folder.Files) -> Work:
    """Describe an attempt at an action, or a hook of it, which differs from it by its command alone."""
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
    """Say who runs, and where its workflow's files are."""
    if key.hook:
        yield f"TINKWELL_HOOK={key.hook}"
    yield f"WORKFLOW_DIR={workflow_dir}"
    yield f"TINKWELL_WORKFLOW_ID={key.owner}"
    yield f"TINKWELL_ACTION_ID={key.run}"
    yield f"TINKWELL_ATTEMPT={key.attempt}"
    yield f"TINKWELL_WORKER_ID={action.worker_id}"


@dataclass(frozen=True, slots=True)
class ActionReporter:
    """Tells the server of one attempt at an action.

    `document` is what the workflow's actions share. The start of `following` goes along with its end. Whoever is to
    report that start waits for the answer to it, which is `ahead`, and reports it by itself where there is none.
    """

    api: reporter.Reporter
    lease: lease.Keeper
    key: RunKey
    action: Action
    document: shared_document.SharedDocument
    following: "ActionReporter | None" = None
    ahead: "asyncio.Future[Reported | None] | None" = None

    async def begin(self, *, adopts: bool) -> Permit | Refusal:
        """Report RUNNING."""
        known = None if self.ahead is None else await self.ahead
        answer = known or await self._answer(_ADOPTED if adopts else _STARTED)
        if isinstance(answer, errors.Error):
            return Refusal(is_blocked=isinstance(answer, errors.MachineBusy))
        self.document.version = answer.data_version
        return Permit(answer.remaining_seconds)

    async def end(self, outcome: Outcome) -> Receipt:
        """Report how the attempt ended. One that has succeeded hands on its data first, and has failed if it cannot."""
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
        """Whether somebody waits for the answer to this start, which goes along with an end."""
        return self.ahead is not None and not self.ahead.done()

    def hear(self, answer: Reported | None) -> None:
        """Take the answer to the start that went along with an end, the first time; None for no answer."""
        if self.ahead is not None and not self.ahead.done():
            self.ahead.set_result(answer)

    async def append(self, key: RunKey, lines: Sequence[output.OutputLine]) -> None:
        """Store lines of the attempt's output, or of its hook's."""
        sent = [
            LogLine(key.run, key.attempt, line.number, line.text, line.stream, is_open=line.is_open) for line in lines
        ]
        await self.api.append_logs(key.owner, sent)

    async def _hand_on(self, outcome: Outcome) -> Outcome:
        async def is_ours() -> bool:
            # Whoever has taken over the run has its data as well, which must not be overwritten.
            return not isinstance(await self._answer(_ADOPTED), errors.Error)

        try:
            remark = await self.document.hand_on(is_ours)
        except (shared_document.Refused, port.RunError) as refused:
            return replace(outcome, state=State.FAILED, message=str(refused))
        return replace(outcome, message=f"{outcome.message}; {remark}") if remark else outcome

    async def _answer(self, outcome: Outcome) -> Reported | errors.Error:
        """Report until the server answers; returns a refusal, which says that the action is over, or not to begin."""

        def call(token: int) -> Awaitable[Reported]:
            return retry.until_answered(lambda: self._report(outcome, token), what=f"report {outcome.state}")

        try:
            return await self.lease.under(call)
        except _REFUSALS as error:
            logger.info("a report was refused", extra=fields(self.key) | {"cause": str(error)})
            return error

    async def _report(self, outcome: Outcome, token: int) -> Reported:
        report = self._told(outcome, token)
        # Whoever was stopped while it waited would not run what the server lets it begin.
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
    """Say what the answer to the report of an end means for the run."""
    if isinstance(answer, errors.LeaseLost):
        return Receipt(fate=Fate.TAKEN)
    if isinstance(answer, errors.Error):
        return Receipt(fate=Fate.NEEDED if action.on_failure or action.on_timeout else Fate.DISCARDED)
    # An attempt that is followed by another one leaves its action PENDING, and has no hook.
    ended = answer.state or outcome.state
    due = hook.due(ended, on_failure=action.on_failure, on_timeout=action.on_timeout)
    if not answer.revision:
        # Of a repetition nobody knows how long ago the end was, and whether its hook is done: a look will tell.
        return Receipt(fate=Fate.NEEDED if due else Fate.DISCARDED)
    return Receipt(fate=Fate.NEEDED if due else Fate.REMOVED, hook=due or "", has_succeeded=ended is State.SUCCEEDED)
