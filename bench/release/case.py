"""Measures all that releases cost, part by part."""

from bench.container import image
from bench.context import Context
from bench.release import call, chain, resource, site, takeover, transition, unchanged
from bench.release.part import Part
from bench.result import Outcome, Verdict

_COMPARES = """\
A resource's image is busybox and a script, and a resource is an empty file in a plug. *A call* asks for its state: in
the engine from before its container is created until that is removed, and with its reports from before it is told that
it runs until its end is stored as well. Beside it is `docker run --rm -i` with the same image, input and mount. *An
apply* of ten unchanged resources runs from the call of Apply to the end of the operation at the client. Deployster asks
each resource for `init` and for its state, so it makes twenty calls; they are made by `docker run --rm -i` in turn, and
once more the way that it waits for each: by a look once a second.

*The chain* installs ten resources that are not there, each after the one before. Each is asked for its state, made by
an action, and asked again, after ten `init` in the beginning. docker-compose 1.29 brings up ten containers that do what
the action does, each after the one before has ended well (`service_completed_successfully`), or only was started.

*Transitions* are those of nodes to INSTALLING and to READY, where calls do nothing and answer at once: each resource is
asked for its state, changed by an action and asked again. Workflows beside them are as under *Throughput*.

*kill -9* strikes a provisioner while it asks a resource for its state, and the time runs until the engine starts
another container of the release: by a neighbour that shares its state directory, by a provisioner with another one, or
by the same one, started again at once.
"""
_NOTES = (
    (
        "Both reports of a call are in the database before they are answered, and its container is removed only after"
        " the second one; `docker run` starts a process."
    ),
    (
        "In a chain a resource may use the state of the one before it, which is why each is asked once more after its"
        " action; docker-compose knows no more than that a container has ended."
    ),
    (
        "What a dead owner held is left for a third of the lease to those who have its runs at hand; only then others"
        " take it over, so one on another engine is later by that."
    ),
)


async def run(context: Context) -> Outcome:
    """Measure."""
    try:
        await resource.provide()
    except image.NotPossibleError as error:
        parts = [_missing(str(error))]
    else:
        async with site.opened(context) as stage:
            parts = [await part.measure(context, stage) for part in (call, unchanged, chain)]
        parts.append(await takeover.measure(context))
    parts.append(await transition.measure(context))
    return Outcome(
        title="Releases",
        compares=_COMPARES,
        tables=tuple(part.table for part in parts if part.table is not None),
        verdicts=tuple(verdict for part in parts for verdict in part.verdicts),
        notes=_NOTES,
    )


def _missing(reason: str) -> Part:
    """Return the verdicts without an engine."""
    asked = [(part.WHAT, float(part.BOUND), "×") for part in (call, unchanged, chain)]
    asked += [(what, float(takeover.BOUND), "s") for what in takeover.WHATS.values()]
    return Part(None, tuple(Verdict.missing(what, "≤", bound, reason=reason, unit=unit) for what, bound, unit in asked))
