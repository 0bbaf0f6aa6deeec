"""Leases, as calls return them."""

from dataclasses import dataclass

from tinkwell.client.value.shaped import Shaped


@dataclass(frozen=True, slots=True)
class Lease(Shaped):
    """A lease that was acquired: its token, for how many seconds it lives, and what is held under it already."""

    token: int
    seconds: float
    workflow_ids: tuple[str, ...] = ()
    operation_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Renewed(Shaped):
    """A lease that lives on for so many seconds, and workflows and operations that were held under one that is over.

    Whoever hears of lost workflows calls `workflows.expire` for each; a lost operation may be acquired.
    """

    seconds: float
    lost_workflow_ids: tuple[str, ...] = ()
    lost_operation_ids: tuple[str, ...] = ()
