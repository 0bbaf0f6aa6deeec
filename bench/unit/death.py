"""What follows the sudden death of an agent: another leader, or the same units with the agent's successor."""

import os
import signal
import time
import uuid

from bench import statistic
from bench.context import Context
from bench.result import Table, Verdict, span
from bench.unit import charms, play, site
from bench.unit.part import Part
from tinkwell.core.unit.resolver import leadership

_LEASE_SECONDS = 5
_LEADER_BOUND = _LEASE_SECONDS + leadership.GRACE_SECONDS + _LEASE_SECONDS / 3 + 1
_RESTART_BOUND = 2
_SAMPLES = 5
_SETTINGS = {"TINKWELL_LEASE_SECONDS": str(_LEASE_SECONDS)}
# More than are sent before the death and after it.
_RETURNS = 10_000
_BEGUN = 200
_ELECTED = """
    SELECT extract(epoch FROM max(finished_at))::float8 FROM unit_event
     WHERE kind = 'leader-elected' AND state = 'COMMITTED' AND finished_at >= to_timestamp($1)
"""
# For a run that only shows that this works: the leader has been away for so long.
_AGE = """
    UPDATE lease SET expires_at = clock_timestamp() - make_interval(secs => $2)
     WHERE id = (SELECT lease_id FROM unit WHERE name = $1)
"""
_EVENTS = "SELECT count(*) FROM unit_event WHERE state = 'COMMITTED' AND kind = 'relation-changed'"
_TOKEN = "SELECT max(token) FROM lease"
# When each unit has first ended something that it was given by a later agent.
_FIRSTS = """
    SELECT extract(epoch FROM min(finished_at))::float8 AS at FROM unit_event
     WHERE lease_token > $1 AND state = 'COMMITTED' GROUP BY unit_id ORDER BY 1
"""


async def measure(context: Context) -> Part:
    """Kill agents again and again."""
    samples = context.scale.choose(quick=1, full=min(_SAMPLES, context.scale.pairs))
    leaders = statistic.spread([await _leader(context) for _ in range(samples)])
    successors = [await _successor(context) for _ in range(samples)]
    first, last = (statistic.spread([each[place] for each in successors]) for place in (0, 1))
    context.say(f"unit: another leader after {leaders.median:.1f} s, all units go on after {last.median:.1f} s")
    table = Table(
        f"After kill -9, with a lease of {_LEASE_SECONDS} s",
        ("", "s"),
        (
            ("another unit is told that it leads", span(leaders)),
            ("the first unit goes on with the agent's successor", span(first)),
            (f"all {play.UNITS} units do", span(last)),
        ),
    )
    told = f"from kill -9 of a leader's agent to another one's leader-elected, with a lease of {_LEASE_SECONDS} s"
    going = f"from the start of a killed agent's successor until all {play.UNITS} units have gone on"
    return Part(
        (table,),
        (
            Verdict.of(told, leaders, "≤", round(_LEADER_BOUND, 1), unit="s"),
            Verdict.of(going, last, "≤", _RESTART_BOUND, unit="s"),
        ),
    )


async def _leader(context: Context) -> float:
    """Kill the leader's agent, and return the seconds until another unit has ended its leader-elected."""
    machines = [str(uuid.uuid4()) for _ in range(2)]
    async with (
        site.opened(context, settings=_SETTINGS) as stage,
        stage.agent(charms.Member, name="first", machines=machines[:1]) as first,
    ):
        await stage.place(charms.Member, "group", machines)
        await stage.until("SELECT is_started FROM unit WHERE name = 'group/0'")
        async with stage.agent(charms.Member, name="second", machines=machines[1:]):
            await stage.settled("group")
            killed = time.time()
            os.kill(first.pid, signal.SIGKILL)
            if context.scale.name == "quick":
                await stage.sql.execute(_AGE, "group/0", leadership.GRACE_SECONDS)
            return await stage.until(_ELECTED, killed) - killed


async def _successor(context: Context) -> tuple[float, float]:
    """Kill the agent of a game, and return the seconds from its successor's start till one unit, and all, go on."""
    async with site.opened(context, settings=_SETTINGS) as stage:
        players = play.Play(stage)
        async with stage.agent(charms.Player) as agent:
            await players.prepare()
            await players.begin(_RETURNS)
            await stage.until(f"SELECT ({_EVENTS}) >= {_BEGUN}")
            token = await stage.sql.fetchval(_TOKEN)
            os.kill(agent.pid, signal.SIGKILL)
            await agent.process.wait()
        started = time.time()
        async with stage.agent(charms.Player):
            await stage.until(f"SELECT count(*) = {play.UNITS} FROM ({_FIRSTS}) AS firsts", token)
            moments = [row["at"] - started for row in await stage.sql.fetch(_FIRSTS, token)]
    return moments[0], moments[-1]
