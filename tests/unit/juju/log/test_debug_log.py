"""`debug-log`: whose lines are written, in which order, and how."""

import re
from datetime import UTC, datetime

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import Agent
from tinkwell.client import Client, Grant, UnitLogLine
from tinkwell.core.unit.effect import NO_EFFECTS, Effects
from tinkwell.juju.log import debug_log

NOON = datetime(2026, 11, 27, 12, 0, 1, 250_000, UTC)


@pytest.fixture
def told(site: Site) -> Site:
    """Units of two applications have logged something at each of their starts."""

    async def act(client: Client, agent: Agent) -> None:
        starts: list[Grant] = []

        def start(grant: Grant) -> Effects:
            starts.append(grant)
            return NO_EFFECTS

        agent.handlers["start"] = start
        await client.applications.deploy("web", site.web, units=2, anywhere=True)
        await client.applications.deploy("pg", site.pg, anywhere=True)
        await agent.run()
        for grant in starts:
            event = grant.event
            lines = [UnitLogLine(event.ordinal, event.attempt, 1, f"{grant.unit} is there")]
            lines.append(UnitLogLine(event.ordinal, event.attempt, 2, "a detail", level="DEBUG"))
            await client.units.append_logs(agent.token, grant.unit_id, lines)

    site.work(act)
    return site


def test_it_has_the_lines_of_all_units_and_ends(juju: JujuLine, told: Site) -> None:
    lines = juju.ok("debug-log").splitlines()
    assert len(lines) == 6
    assert all(
        re.fullmatch(r"unit-\w+-\d: \d\d:\d\d:\d\d (INFO|DEBUG) unit\.\w+/\d\.juju-log .+", each) for each in lines
    )
    assert juju.ok("debug-log", "--limit", "0").splitlines() == lines
    assert juju.ok("debug-log", "--limit", "2").splitlines() == lines[-2:]


@pytest.mark.parametrize(
    ("words", "units"),
    [
        (("--include", "web/0"), ["web/0"]),
        (("--include", "unit-web-1", "--include", "pg"), ["pg/0", "web/1"]),
        (("--include", "unit-web-*"), ["web/0", "web/1"]),
        (("--exclude", "web"), ["pg/0"]),
        (("--include", "nobody"), []),
    ],
)
def test_lines_are_chosen_by_their_units(juju: JujuLine, told: Site, words: tuple[str, ...], units: list[str]) -> None:
    lines = juju.ok("debug-log", "--level", "info", *words).splitlines()
    assert sorted(each.split()[-3] for each in lines) == units


def test_of_those_that_are_wanted_the_newest_are_written(juju: JujuLine, told: Site) -> None:
    all_of_one = juju.ok("debug-log", "--include", "web/0").splitlines()
    assert juju.ok("debug-log", "--include", "web/0", "--limit", "1").splitlines() == all_of_one[-1:]


def test_it_does_not_go_on(juju: JujuLine) -> None:
    assert "--tail: debug-log ends with the last line" in juju.fails("debug-log", "--tail", code=2)


def test_what_a_script_has_written_is_under_its_event() -> None:
    line = UnitLogLine(1, 1, 1, "one\ntwo", level="STDERR", created_at=NOON, unit="web/0", event_name="install")
    write = debug_log.writer(has_date=False, has_milliseconds=False)
    head = "unit-web-0: 12:00:01 WARNING unit.web/0.install"
    assert [*write(line)] == [f"{head} one", f"{head} two"]


def test_times_have_what_is_asked_for() -> None:
    line = UnitLogLine(1, 1, 1, "x", created_at=NOON, unit="web/0")
    (text,) = debug_log.writer(has_date=True, has_milliseconds=True)(line)
    assert text == "unit-web-0: 2026-11-27 12:00:01.250 INFO unit.web/0.juju-log x"
