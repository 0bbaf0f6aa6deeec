"""Walks the plan of one operation: asks `core.release.decide` what is to be done, and does it.

                        ┌───────────── how a step ended, what is heard of the operation, time
                        ▼
    view ─▶ decide ─▶ commands ─▶ steps, each a task
      ▲                 │  └────▶ reports, in the order of what changed
      └─────────────────┘

The view is the operation as it will be once all that was posted is stored. This walk is the only one that reports about
it, so the view goes on at once; where the server refuses a report, the operation is given up, and the view with it. What
must not be ahead of the server are containers: a step waits until it is stored that it is RUNNING before it starts one,
and until its end is stored before it removes it.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from tinkwell.client.release.model import Operation
from tinkwell.core.event.kinds import State
from tinkwell.core.release import outcome
from tinkwell.core.release.command import AdoptStep, Command, Finish, MoveNode, MovePhase, StartStep, StopStep, Wait
from tinkwell.core.release.decide import decide
from tinkwell.core.release.outcome import Outcome, Settled
from tinkwell.core.release.report import PhaseReport, step_id
from tinkwell.core.release.view import OperationView, StepKey
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.release.place import Keys, Places
from tinkwell.provisioner.release.reporter import Reporter
from tinkwell.provisioner.release.step import StepRun
from tinkwell.provisioner.agent.deadline import Deadline

logger = logging.getLogger(__name__)


class Caller(Protocol):
    """Who makes the calls that are decided upon."""

    async def call(self, run: StepRun, command: StartStep) -> Outcome:
        """Make a call, whose beginning is stored, and say what came of it."""

    def hear(self, key: StepKey, ended: Outcome) -> None:
        """Take note of how a step has ended."""
