"""Measures all that units cost, part by part."""

from bench.context import Context
from bench.result import Outcome
from bench.unit import beside, crowd, death, ops, play, rate, storm

_COMPARES = f"""\
A server, and an agent as `tinkwell unit run` has it, with a charm whose handlers do nothing but write a bag.
{play.UNITS} units, each an application of its own, are related in pairs and send balls to each other: a unit is told
that the other one's bag has changed, reads it, and writes its own. It is checked that each ball was sent and told
exactly once. *DBOS* and *Procrastinate* are as under *Throughput*.

*A crowd* is related to one unit, in the profile `juju`: `relation-created`, `-joined` and `-changed` on each side, for
each unit of the other one. *Single events* are as many `config-changed` of the same units, which concern nobody else.
No charm handles them. *At rest* nothing is due, and no `update-status` comes.

*A storm* relates two applications, in the profile `literal`, where units are told of those of their own application,
too. *kill -9* strikes an agent: that of a leader, whose application has another unit with another agent, until this one
is told that it leads; or the one of all players, amid their game, until each of these has ended an event of the agent
that is started at once. *Other watchers* are a machine's, which changes as under *Idle watchers*, while players with a
pause of some seconds between balls play or rest.

*A charm of ops* has some units, each of which hears of each configuration of their application, by a provisioner that
does nothing else: one that starts Python for each event, *cold*, and one that forks a process which has ops loaded,
*warm*. What is ours of that is the server, PostgreSQL, the agent without the programs that it starts, and the process
that is forked. While events run nobody asks how far they are, and the request that they come of counts.
"""
_NOTES = (
    (
        "A step of a peer is a call of a function in its worker. An event is granted and committed in transactions with"
        " events of the log, its handler reads the other side's bag by a call, and what it has done is in a file of the"
        " agent, flushed, before the server is told."
    ),
    (
        "The one unit of a relation with a crowd has its events one after the other: two for each unit of the crowd,"
        " and each is found among all of them."
    ),
)


async def run(context: Context) -> Outcome:
    """Measure."""
    parts = [await part.measure(context) for part in (rate, crowd, storm, death, beside, ops)]
    return Outcome(
        title="Units",
        compares=_COMPARES,
        tables=tuple(table for part in parts for table in part.tables),
        verdicts=tuple(verdict for part in parts for verdict in part.verdicts),
        notes=_NOTES,
    )
