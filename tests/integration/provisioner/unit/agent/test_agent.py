"""An agent runs the events of a unit: scripts see what they should, and what they do lands with the event."""

import contextlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from support import real_agent
from support.unit_server import UNIT_ID, UnitServer
from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.client.unit.agent.grant import Leadership
from tinkwell.client.unit.agent.outcome import Outcome, OutcomeFolder
from tinkwell.provisioner.unit import agent, script, unit

Hooks = Mapping[str, str]


async def _run(server: UnitServer, path: Path) -> UnitServer:
    async with real_agent.serving(server, path / "units"):
        await eventually(lambda: server.is_over or bool(server.state.failures))
    return server


def _said(server: UnitServer) -> list[str]:
    return [text for _, (_, text) in sorted(server.state.lines.items())]


def _is_alive(file: Path) -> bool:
    return Path(f"/proc/{file.read_text().strip()}").exists()


async def test_events_run_one_after_the_other_and_a_missing_script_is_a_success(tmp_path: Path) -> None:
    hooks = {"install": "echo installs", "start": "echo starts"}
    server = await _run(UnitServer(["install", "config-changed", "start"], hooks), tmp_path)
    assert server.state.committed == [("install", 1), ("config-changed", 1), ("start", 1)]
    assert _said(server) == ["installs", "starts"]


async def test_what_others_have_put_among_its_folders_is_left_alone(tmp_path: Path) -> None:
    for stray in (tmp_path / "units/units/lost+found", tmp_path / "units/outcomes/lost+found"):
        stray.mkdir(parents=True)
    (tmp_path / "units/units/notes").write_text("mine")
    server = await _run(UnitServer(["install", "start"], {}), tmp_path)
    assert server.state.committed == [("install", 1), ("start", 1)]
    assert (tmp_path / "units/units/notes").read_text() == "mine"


async def test_what_a_script_does_lands_with_its_event(tmp_path: Path) -> None:
    hooks = {
        "db-relation-changed": """
set -e
status-set waiting "for $(relation-get dsn)"
relation-set ready=yes
relation-set --app url=http://web
state-set "seen=$JUJU_REMOTE_UNIT $JUJU_RELATION_ID"
juju-log -l WARNING "workers: $(config-get workers), leads: $(is-leader)"
"""
    }
    server = await _run(UnitServer(["db-relation-changed"], hooks), tmp_path)
    assert server.state.bag == {"ready": "yes", "app.url": "http://web"}
    assert server.state.kept == {"seen": "pg/0 db:7"}
    assert server.state.statuses == ["waiting"]
    assert list(server.state.lines.values()) == [("WARNING", "workers: 2, leads: True")]


async def test_the_next_event_sees_what_the_former_has_done(tmp_path: Path) -> None:
    hooks = {"install": "state-set step=one", "start": "echo $(state-get step)"}
    assert _said(await _run(UnitServer(["install", "start"], hooks), tmp_path)) == ["one"]


async def test_of_a_failure_nothing_lands_but_what_was_told_at_once(tmp_path: Path) -> None:
    hooks = {"install": "state-set step=one; relation-set -r 7 a=b; status-set blocked; echo no; exit 4"}
    server = await _run(UnitServer(["install"], hooks), tmp_path)
    assert server.state.failures == ["exit 4"]
    assert (server.state.bag, server.state.kept) == ({}, {})
    assert (server.state.statuses, _said(server)) == (["blocked"], ["no"])


async def test_a_failed_event_is_tried_again_when_it_is_resolved(tmp_path: Path) -> None:
    hooks = {"install": f"test -e {tmp_path}/mended"}
    server = UnitServer(["install"], hooks)
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.state.failures == ["exit 1"])
        (tmp_path / "mended").touch()
        server.retry()
        await eventually(lambda: server.state.committed == [("install", 2)])


async def test_what_runs_too_long_is_ended(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": "exec sleep 60"})
    server.timeout_seconds = 0.3
    await _run(server, tmp_path)
    assert server.state.failures == ["it took longer than 0 s, and was ended"]


async def test_a_script_that_is_killed_from_outside_is_lost_and_comes_again(tmp_path: Path) -> None:
    hooks = {"install": f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; kill -KILL $$; }}"}
    server = await _run(UnitServer(["install"], hooks), tmp_path)
    assert (server.state.lost, server.state.committed) == (1, [("install", 2)])


async def test_a_commit_that_is_refused_is_not_sent_again(tmp_path: Path) -> None:
    server = UnitServer(["install"], {})
    server.refused = {"install"}
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.state.in_flight == (0, 1, 0, True))
        await eventually(lambda: not OutcomeFolder(tmp_path / "units/outcomes").unit_ids())
    assert not server.state.committed


async def test_effects_that_the_server_cannot_take_are_a_failure(tmp_path: Path) -> None:
    server = UnitServer(["install"], {})
    server.errors["commit"] = [errors.InvalidField("they are too large")]
    await _run(server, tmp_path)
    assert server.state.failures == ["the server refused the effects of the event: they are too large"]


async def test_a_unit_that_is_not_to_be_had_is_left_until_it_is_woken(tmp_path: Path) -> None:
    server = UnitServer(["install"], {})
    server.errors["next_event"] = [errors.LeaseHeld("somebody has it")]
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: not server.errors["next_event"])
        assert server.state.in_flight is None
        server.woken.set()
        await eventually(lambda: server.is_over)


async def test_an_answer_that_is_none_is_asked_for_again(tmp_path: Path) -> None:
    server = UnitServer(["install"], {})
    server.errors["next_event"] = [errors.PermissionDenied("not now")]
    await _run(server, tmp_path)


async def test_an_old_outcome_that_is_refused_does_not_stop_the_unit(tmp_path: Path) -> None:
    server = UnitServer(["install"], {})
    outcome = Outcome(unit_id=UNIT_ID, event_id="7", attempt=1, lease_token=1, effects=b"")
    OutcomeFolder(tmp_path / "units/outcomes").keep(outcome)
    await _run(server, tmp_path)
    assert server.state.committed == [("install", 1)]


@pytest.mark.parametrize("content, reason", [(b"no zip", "cannot be unpacked: "), (None, "cannot be fetched: ")])
async def test_a_charm_that_is_not_to_be_had_fails_the_event(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    server = UnitServer(["install"], {})
    server.state.packages = {} if content is None else {server.state.charm: content}
    await _run(server, tmp_path)
    assert reason in server.state.failures[0]


async def test_a_status_that_is_refused_is_told_to_the_script(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": "status-set active 2>&1; true"})
    server.errors["set_status"] = [errors.InvalidField("it is too long")]
    await _run(server, tmp_path)
    assert _said(server) == ["ERROR it is too long"]


async def test_an_error_while_a_woken_unit_works_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit, "LOOK_SECONDS", 0.01)
    server = UnitServer(["install"], {"install": f"while ! test -e {tmp_path}/go; do sleep 0.02; done"})
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.state.in_flight is not None)
        server.errors["next_event"] = [errors.PermissionDenied("not now")]
        server.woken.set()
        await eventually(lambda: not server.errors["next_event"])
        (tmp_path / "go").touch()
        await eventually(lambda: server.is_over)
    assert server.state.committed == [("install", 1)]


async def test_an_outcome_on_the_disk_is_sent_before_anything_is_asked(tmp_path: Path) -> None:
    server = UnitServer(["install", "start"], {"install": "exit 1"})
    server.state.token = 1
    await server.next_event(1, UNIT_ID)
    outcome = Outcome(unit_id=UNIT_ID, event_id="0", attempt=1, lease_token=1, effects=b"")
    OutcomeFolder(tmp_path / "units/outcomes").keep(outcome)
    await _run(server, tmp_path)
    assert server.state.committed == [("install", 1), ("start", 1)]
    assert not server.state.failures


async def test_an_agent_that_begins_ends_what_its_predecessor_has_left(tmp_path: Path) -> None:
    hooks = {"install": f"test -e {tmp_path}/pid || {{ echo $$ > {tmp_path}/pid; exec sleep 60; }}"}
    server = UnitServer(["install"], hooks)
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
    assert not _is_alive(tmp_path / "pid")
    assert (server.handed_back, server.state.lost) == ([0], 0)
    await _run(server, tmp_path)
    assert server.state.committed == [("install", 2)]


async def test_another_charm_is_there_before_its_first_event(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": "echo old; touch made"})
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.is_over)
        server.refresh({"upgrade-charm": "echo new; test ! -e hooks/install"})
        server.state.names.append("upgrade-charm")
        server.woken.set()
        await eventually(lambda: server.is_over)
    assert _said(server) == ["old", "new"]


async def test_a_storage_is_there_before_its_first_event_and_stays(tmp_path: Path) -> None:
    server = UnitServer(["data-storage-attached"], {"data-storage-attached": 'echo x > "$JUJU_STORAGE_LOCATION/file"'})
    server.storages = {"data/0": False, "other/1": False}
    await _run(server, tmp_path)
    assert (tmp_path / "units/storages/default/data-0/file").read_text() == "x\n"
    assert not (tmp_path / "units/storages/default/other-1").exists()


async def test_a_unit_that_is_removed_by_force_is_ended_and_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(script, "TERM_SECONDS", 0.1)
    server = UnitServer(["install"], {"install": f"trap '' TERM; echo $$ > {tmp_path}/pid; sleep 60; sleep 60"})
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        server.remove()
        await eventually(lambda: not (tmp_path / "units/units" / UNIT_ID).exists())
    assert not _is_alive(tmp_path / "pid")


async def test_a_unit_that_went_while_no_agent_was_there_is_cleared(tmp_path: Path) -> None:
    server = await _run(UnitServer(["install"], {}), tmp_path)
    assert (tmp_path / "units/units" / UNIT_ID).exists()
    server.state.is_gone = True
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: not (tmp_path / "units/units" / UNIT_ID).exists())


async def test_what_belongs_to_another_history_is_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = UnitServer(["install"], {"install": "touch $(storage-get -s data/0 location)/file"})
    server.storages = {"data/0": True}
    await _run(server, tmp_path)
    server.state.is_gone, server.history_id = True, "two"
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: "the unit's files are kept" in caplog.text)
    assert (tmp_path / "units/storages/default/data-0/file").exists()
    assert (tmp_path / "units/units" / UNIT_ID / "charm").exists()


async def test_storages_go_with_their_unit_but_for_those_that_were_detached(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": "touch $(storage-get -s data/0 location)/file"})
    server.storages, server.kept_storages = {"data/0": True, "data/1": True}, {"data/1"}
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.is_over)
        assert (tmp_path / "units/storages/default/data-0/file").exists()
        server.remove()
        await eventually(lambda: not (tmp_path / "units/units" / UNIT_ID).exists())
    assert [path.name for path in (tmp_path / "units/storages/default").iterdir()] == ["data-1"]


async def test_leadership_that_is_nearly_over_is_asked_for_again(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": "while is-leader | grep -q False; do sleep 0.05; done; echo leads"})
    server.leadership = Leadership(leads=True, term=3, remaining_seconds=29.0)
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.state.in_flight is not None)
        server.leadership = Leadership(leads=True, term=3, remaining_seconds=90.0)
        await eventually(lambda: server.is_over)
    assert _said(server) == ["leads"]


async def test_a_follower_is_told_that_it_does_not_lead(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": "is-leader; relation-set -r 7 --app a=b || echo refused"})
    server.leadership = Leadership(leads=False)
    await _run(server, tmp_path)
    assert _said(server)[0] == "False"
    assert _said(server)[-1] == "refused"


async def test_scripts_have_nothing_of_the_agents_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TINKWELL_TOKEN", "hidden")
    server = await _run(UnitServer(["install"], {"install": "env | grep -c hidden; true"}), tmp_path)
    assert _said(server) == ["0"]


async def test_a_bag_that_is_not_for_the_unit_is_refused(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": "relation-get -r db:7 - pg/9 2>&1; true"})
    await _run(server, tmp_path)
    assert _said(server) == ["ERROR permission denied: the bag of pg/9 is not for web/0"]


async def test_a_secret_that_is_not_for_the_unit_is_refused(tmp_path: Path) -> None:
    server = UnitServer(["install"], {"install": f"secret-get secret:{'a' * 20} 2>&1; true"})
    await _run(server, tmp_path)
    assert _said(server) == [f'ERROR secret "{"a" * 20}" not found']


async def test_a_storage_is_left_where_nobody_says_whether_it_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Silent(UnitServer):
        async def storages_in(self, namespace: str) -> frozenset[str]:
            raise errors.PermissionDenied("agents may not")

    server = Silent(["install"], {"install": "touch $(storage-get -s data/0 location)/file"})
    server.storages = {"data/0": True}
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.is_over)
        server.remove()
        await eventually(lambda: not (tmp_path / "units/units" / UNIT_ID).exists())
    assert "the storage of a unit that is gone is kept" in caplog.text
    assert (tmp_path / "units/storages/default/data-0/file").exists()


async def test_a_second_agent_waits_for_the_end_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(agent, "CHECK_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    first, second = UnitServer(["install"], {}), UnitServer(["install"], {})
    async with contextlib.AsyncExitStack() as former:
        _ = await former.enter_async_context(real_agent.serving(first, tmp_path / "units"))
        await eventually(lambda: first.is_over)
        async with real_agent.serving(second, tmp_path / "units"):
            await eventually(lambda: "another agent serves units" in caplog.text)
            assert not second.state.committed
            await former.aclose()
            await eventually(lambda: second.is_over)
