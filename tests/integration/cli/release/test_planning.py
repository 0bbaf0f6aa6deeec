"""The commands that plan, and those that apply a plan: what they send, what they print, and how they end."""

import asyncio
import contextlib
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.cli import running
from integration.cli.running import WAIT_SECONDS, Terminal, end

import tinkwell.client
from support import waiting
from support.command_line import CommandLine
from support.release_provisioner import MANIFEST, Provisioner, apply
from tinkwell.cli.release import begin, planning
from tinkwell.cli.shell import output
from tinkwell.client import Client, OperationHandle, testing
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import ResourceStatus
from tinkwell.core.release.manifest.hook import HookEvent
from tinkwell.core.release.preview.model import Mark, PlannedAction, PlannedHook, Preview, PreviewNode

CHART = str(Path(__file__).parents[4] / "examples" / "charts" / "shop")
DB = PreviewNode(
    path="db",
    type="acme/db:1",
    mark=Mark.CHANGE,
    status=ResourceStatus.STALE,
    actions=(PlannedAction(name="resize"),),
)
ROLE = PreviewNode(path="role", type="acme/role:1", mark=Mark.SAME, status=ResourceStatus.VALID)
CHANGES = Preview(digest="d", revision=1, nodes=(ROLE, DB))
NOTHING = Preview(digest="d", revision=1, nodes=(ROLE,))
HOOK = PlannedHook(path="migrate", type="acme/job:1", event=HookEvent.PRE_UPGRADE)
RUNS = Preview(digest="d", revision=1, nodes=(ROLE,), hooks=(HOOK,))
WANTED = begin.Wanted(
    namespace="default",
    timeout=None,
    readiness_timeout=None,
    on_failure=None,
    parallel=None,
    verbose=False,
    reason="",
    wait_lock=0.0,
    detach=False,
    output_format=output.Format.TABLE,
)
LINES = ["  = role  valid", "  ~ db    1 action    resize"]


class Site:
    """A fake server with a provisioner, where the release shop is DEPLOYED."""

    def __init__(self, server: testing.FakeServer, client: Client, owner: Provisioner, manifest: str) -> None:
        self.server = server
        self.client = client
        self.owner = owner
        self.manifest = manifest

    def tinkwell(self, *args: str, **streams: Any) -> contextlib.AbstractAsyncContextManager[Process]:
        return running.tinkwell(self.server, "release", *args, **streams)

    async def asked(self, method: str = "Plan") -> str:
        """Wait until an operation was begun, and return its id."""
        await waiting.eventually(lambda: bool(self.server.requests(method)), deadline_seconds=WAIT_SECONDS)
        id_: str = self.server.requests(method)[-1].operation_id
        return id_

    async def find(self, preview: Preview, state: State = State.SUCCEEDED) -> str:
        """Carry out the plan that was asked for."""
        id_ = await self.asked()
        await self.owner.begin(id_)
        for path in ("role", "db"):
            if state is State.SUCCEEDED or path == "role":
                await self.owner.keep(id_, path)
        await self.owner.finish(id_, state, path="" if state is State.SUCCEEDED else "db", result=preview.dump())
        return id_

    async def apply(self) -> None:
        """Carry out the operation that applies the plan."""
        id_ = await self.asked("ApplyPlan")
        await self.owner.begin(id_)
        await self.owner.keep(id_, "role")
        await self.owner.install(id_, "db")
        await self.owner.finish(id_)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    path = tmp_path / "shop.yaml"
    path.write_text(MANIFEST)
    async with testing.FakeServer(bookmark_seconds=0.1) as fake, tinkwell.client.connect(fake.address) as client:
        owner = await Provisioner.enter(client)
        await owner.deploy(await apply(client))
        yield Site(fake, client, owner, str(path))


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


async def test_a_plan_is_shown_with_how_long_it_is_good(site: Site) -> None:
    async with site.tinkwell("plan", "shop", site.manifest, "--var", "size=4", "--parallel", "3") as process:
        id_ = await site.find(CHANGES)
        code, stdout, stderr = await end(process)
    last = f"1 to change.   Plan {id_}, valid while shop stays at revision 1"
    assert (code, stdout.splitlines(), stderr) == (0, [*LINES, last], "")
    (request,) = site.server.requests("Plan")
    assert json.loads(request.variables) == {"size": "4"}
    assert request.options.parallel == 3


@pytest.mark.parametrize(
    ("found", "expected", "summary"),
    [(CHANGES, 2, "1 to change."), (NOTHING, 0, "Nothing to change."), (RUNS, 2, "1 hook.")],
)
async def test_the_exit_code_tells_of_changes_where_that_is_asked_for(
    site: Site, found: Preview, expected: int, summary: str
) -> None:
    async with site.tinkwell("plan", "shop", site.manifest, "--detailed-exitcode", "-o", "json") as process:
        id_ = await site.find(found)
        code, stdout, stderr = await end(process)
    told = json.loads(stdout)
    assert (code, stderr) == (expected, "")
    assert (told["operation_id"], told["release_name"], told["nodes"]) == (id_, "shop", found.as_json()["nodes"])
    assert (told["summary"], told["hooks"]) == (summary, found.as_json()["hooks"])


async def test_drift_has_no_source_and_is_nothing_to_apply(site: Site) -> None:
    drifted = Preview(digest="d", revision=1, nodes=CHANGES.nodes, drift="ab")
    async with site.tinkwell("drift", "shop", "--detailed-exitcode") as process:
        await site.find(drifted)
        code, stdout, stderr = await end(process)
    assert (code, stdout.splitlines(), stderr) == (2, [*LINES, "1 to change.   shop is at revision 1"], "")
    (request,) = site.server.requests("Plan")
    assert not request.files
    assert not request.chart


async def test_what_could_not_be_looked_at_is_shown_and_is_an_error(site: Site) -> None:
    broken = PreviewNode(path="db", type="acme/db:1", mark=Mark.ATTENTION, reason="state FAILED (exit 3)")
    async with site.tinkwell("plan", "shop", site.manifest) as process:
        await site.find(Preview(digest="d", revision=1, nodes=(ROLE, broken)), State.FAILED)
        code, stdout, stderr = await end(process)
    assert stdout.splitlines() == ["  = role  valid", "  ! db    state FAILED (exit 3)", "1 would fail."]
    assert code == 1
    assert stderr.startswith("Error: this plan cannot be applied: ")


@pytest.mark.parametrize(
    ("command", "begin"), [("plan", "this plan cannot be applied"), ("drift", "not all resources could")]
)
async def test_what_failed_says_what_it_printed_last(site: Site, command: str, begin: str) -> None:
    source = [site.manifest] if command == "plan" else []
    broken = Preview(digest="d", revision=1, nodes=(ROLE, DB))
    async with site.tinkwell(command, "shop", *source) as process:
        id_ = await site.asked()
        await site.owner.begin(id_)
        await site.owner.keep(id_, "role")
        await site.owner.fail_to_look(id_, "db", "no route to host")
        await site.owner.finish(id_, State.FAILED, path="db", result=broken.dump())
        code, _, stderr = await end(process)
    *lines, last = stderr.splitlines()
    assert (code, lines[-1]) == (1, "db | no route to host")
    assert last.startswith(f"Error: {begin}")
    assert "db failed at state (exit 3)" in last


async def test_a_plan_that_comes_to_nothing_says_why(site: Site) -> None:
    async with site.tinkwell("plan", "shop", site.manifest) as process:
        id_ = await site.asked()
        await site.client.releases.acquire(id_, site.owner.token)
        await site.client.releases.cancel(id_, now=True)
        await site.owner.finish(id_, State.CANCELLED)
        code, stdout, stderr = await end(process)
    assert (code, stdout) == (1, "")
    assert stderr.startswith("Error: no plan for shop was made: ")


async def test_a_drift_that_comes_to_nothing_says_why(site: Site) -> None:
    async with site.tinkwell("drift", "shop") as process:
        id_ = await site.asked()
        await site.client.releases.acquire(id_, site.owner.token)
        await site.client.releases.cancel(id_, now=True)
        await site.owner.finish(id_, State.CANCELLED)
        code, stdout, stderr = await end(process)
    assert (code, stdout) == (1, "")
    assert stderr.startswith("Error: the drift of shop is unknown: ")


async def test_a_dry_run_is_a_plan(site: Site) -> None:
    async with site.tinkwell("apply", "shop", site.manifest, "--dry-run") as process:
        await site.find(CHANGES)
        code, stdout, _ = await end(process)
    assert (code, stdout.splitlines()[:2]) == (0, LINES)
    assert site.server.requests("Apply")[1:] == []


async def test_a_plan_is_applied_by_its_id(site: Site) -> None:
    async with site.tinkwell("plan", "shop", site.manifest) as process:
        id_ = await site.find(CHANGES)
        await end(process)
    async with site.tinkwell("apply", "shop", "--plan", id_) as process:
        await site.apply()
        code, stdout, _ = await end(process)
    assert code == 0
    assert stdout.splitlines()[-1].endswith(": 1 changed, 1 unchanged")
    assert [request.plan for request in site.server.requests("ApplyPlan")] == [id_]


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1)])
async def test_a_terminal_is_asked_before_a_plan_is_applied(
    site: Site, terminal: Terminal, answer: str, code: int
) -> None:
    streams = {"stdin": terminal.descriptor, "stdout": terminal.descriptor, "stderr": terminal.descriptor}
    async with site.tinkwell("apply", "shop", site.manifest, "--confirm", **streams) as process:
        await site.find(CHANGES)
        await terminal.shows("Apply this plan? [y/N]")
        terminal.type(answer)
        if code == 0:
            await site.apply()
            await terminal.shows("shop DEPLOYED as revision")
        else:
            await terminal.shows("Error: not applied")
        assert await process.wait() == code
    assert bool(site.server.requests("ApplyPlan")) is (code == 0)


async def test_nothing_is_asked_where_nothing_changes(site: Site, terminal: Terminal) -> None:
    streams = {"stdin": terminal.descriptor, "stdout": terminal.descriptor, "stderr": terminal.descriptor}
    async with site.tinkwell("apply", "shop", site.manifest, "--confirm", **streams) as process:
        await site.find(NOTHING)
        await terminal.shows("Nothing to change.")
        assert await process.wait() == 0
    assert not site.server.requests("ApplyPlan")


async def test_a_plan_ends_with_the_command_that_waits_for_it(site: Site) -> None:
    async with site.tinkwell("plan", "shop", site.manifest) as process:
        id_ = await site.asked()
        await waiting.eventually(lambda: bool(site.server.requests("GetOperation")), deadline_seconds=WAIT_SECONDS)
        await site.owner.begin(id_)
        await asyncio.to_thread(process.send_signal, 2)
        await process.wait()
    assert (await site.client.releases.operation(id_)).cancel_requested


async def test_a_plan_ends_with_the_command_that_is_interrupted_while_it_asks_for_it(site: Site) -> None:
    has_answered = asyncio.Event()

    async def plan_it() -> OperationHandle:
        handle = await site.client.releases.plan("shop", files={"shop.yaml": MANIFEST})
        has_answered.set()
        await asyncio.sleep(0)  # the answer is there, and nobody has it yet
        return handle

    making = asyncio.ensure_future(planning._make(site.client, WANTED, plan_it, planning._OF_PLAN))
    await has_answered.wait()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    id_ = await site.asked()
    # Nobody has taken it, so that it has ended at once.
    assert (await site.client.releases.operation(id_)).state is State.CANCELLED


async def test_a_plan_that_is_refused_leaves_nothing_to_end(site: Site) -> None:
    has_begun = asyncio.Event()

    async def plan_it() -> OperationHandle:
        has_begun.set()
        return await site.client.releases.plan("Not a name", files={"shop.yaml": MANIFEST})

    making = asyncio.ensure_future(planning._make(site.client, WANTED, plan_it, planning._OF_PLAN))
    await has_begun.wait()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert not site.server.requests("Cancel")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("plan", "shop"), "`tinkwell release drift NAME` looks at what is installed"),
        (("plan", "shop", CHART, "--var", "a=b"), "a chart takes --set and -f"),
        (("plan", "shop", "shop.yaml", "--set", "a=b"), "manifests take --var"),
        (("plan", "shop", "shop.yaml", "--wait"), "manifests take --var"),
        (("plan", "shop", CHART, "shop.yaml"), "is a chart; name nothing beside it"),
        (("plan", "shop", CHART, "--reset-values", "--reuse-values"), "exclude each other"),
        (("apply", "shop"), "Missing argument 'FILE|-...'"),
        (("install", "shop"), "Missing argument 'CHART'"),
        (("apply", "shop", "shop.yaml", "--dry-run", "--confirm"), "exclude each other"),
        (("apply", "shop", "shop.yaml", "--plan", "x"), "leave them out beside --plan"),
        (("apply", "shop", "--plan", "x", "--var", "a=b"), "leave them out beside --plan"),
        (("install", "shop", CHART, "--plan", "x"), "leave them out beside --plan"),
        (("upgrade", "shop", "--plan", "x", "--set", "a=b"), "leave them out beside --plan"),
        (("apply", "shop", "MANIFEST", "--confirm"), "there is no terminal; make a plan by `tinkwell release plan`"),
        (("apply", "shop", "MANIFEST", "--confirm", "--detach"), "leave out --detach and -o"),
    ],
)
def test_what_does_not_go_together_is_told_with_what_to_do(
    cli: CommandLine, tmp_path: Path, args: tuple[str, ...], told: str
) -> None:
    (tmp_path / "shop.yaml").write_text(MANIFEST)
    words = [str(tmp_path / "shop.yaml") if word == "MANIFEST" else word for word in args]
    stderr = " ".join(cli.fails("release", *words, code=2).replace("│", " ").split())
    assert told in stderr


def test_a_plan_of_another_release_is_not_applied(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(MANIFEST)
    id_ = cli.ok("release", "plan", "shop", str(tmp_path / "shop.yaml"), "--detach").strip()
    stderr = cli.fails("release", "apply", "other", "--plan", id_)
    assert f"operation {id_} belongs to shop, not to other" in stderr
    stderr = cli.fails("release", "apply", "shop", "-n", "prod", "--plan", id_)
    assert f"operation {id_} belongs to default/shop, not to shop" in stderr
