"""What handlers have said in an operation, as who follows it is shown."""

from typing import Any

from unit.cli.operation import ID, RELEASE, at, node, operation, tree
from unit.cli.release.conftest import Site

from support.release_provisioner import Provisioner, apply
from tinkwell.cli.release.follow import line as release_line
from tinkwell.cli.release.follow import outline
from tinkwell.client import Client, Event, LifecycleRun
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.report import LifecycleReport

HANDLER = HandlerRun(chart="shop", file="ext/lua/init.lua", line=3, weight=0.5, seconds=0.2, outcome=Outcome.SUCCEEDED)


def run(event: str, message: str = "", *, ordinal: int = 1, **fields: Any) -> LifecycleRun:
    base: dict[str, Any] = {"chart": "shop", "handlers": (HANDLER,), "version": 1, "seconds": 0.2, "updated_at": at(3)}
    fields = {"operation_id": ID, "release_id": RELEASE, **base, **fields}
    return LifecycleRun(f"run-{event}", ordinal=ordinal, event=event, message=message, **fields)


def happened(found: LifecycleRun) -> Event:
    return Event(
        id="e",
        revision=1,
        resource_type=ResourceType.LIFECYCLE,
        event_type=EventType.LIFECYCLE_EMITTED,
        name="lifecycle.emitted",
        resource_id=found.id,
        parent_id=RELEASE,
        version=found.version,
        created_at=at(3),
        data=found.to_json(),
    )


def told(found: LifecycleRun) -> list[str]:
    lines = release_line.Lines(tree(operation(), node(0, "shop:web")))
    return [each.partition("  ")[2] for each in lines.of(found, at(0))]


def test_each_line_that_handlers_have_said_is_a_line() -> None:
    assert told(run("pre-render", "got chart shop\nall is \x1b[2Jwell")) == [
        "LIFECYCLE  SUCCEEDED   shop  pre-render  0.2s  got chart shop",
        "LIFECYCLE  SUCCEEDED   shop  pre-render  all is \\x1b[2Jwell",
    ]


def test_what_was_heard_in_silence_is_a_line_too() -> None:
    assert told(run("ready", outcome=Outcome.WARNED)) == ["LIFECYCLE  WARNED      shop  ready  0.2s"]
    # Without charts it is the release that is named.
    assert told(run("ready", chart="")) == ["LIFECYCLE  SUCCEEDED   shop  ready  0.2s"]


def test_a_tree_tells_each_event_once_and_none_that_nobody_has_heard() -> None:
    followed = tree(operation(), node(0, "shop:web"))
    first, silent = run("pre-render", "a"), run("render", handlers=())
    assert followed.replace(operation(), [], [first, silent]) == [first]
    assert followed.replace(operation(), [], [first]) == []
    assert followed.apply(happened(first)) is None
    assert followed.apply(happened(run("pre-render", "b", version=2))) == run("pre-render", "b", version=2)
    assert followed.apply(happened(run("ready", "c", operation_id=RELEASE))) is None
    assert [(each.event, lines) for each, lines in followed.said] == [("pre-render", ["b"])]


def test_a_terminal_shows_what_was_said_last() -> None:
    followed = tree(operation(), node(0, "shop:web"))
    spoken = [run("ready", "4\n5\x07", ordinal=2), run("pre-render", "0\n1\n2\n3", ordinal=1)]
    followed.replace(operation(), [], spoken)
    first, second, web = outline.outline(followed, at(3)).children
    assert (first.title, [each.title for each in first.children]) == ("shop/pre-render", ["1", "2", "3"])
    assert (second.title, [each.title for each in second.children]) == ("shop/ready", ["4", "5\\x07"])
    assert web.title == "shop:web"


def test_who_watches_late_is_shown_what_was_said_before(site: Site) -> None:
    async def deploy(client: Client, owner: Provisioner) -> None:
        handle = await apply(client)
        await owner.begin(handle.id)
        said = LifecycleReport(event="pre-render", handlers=(HANDLER,), message="got chart shop\nand more", seconds=0.2)
        await owner.report(handle.id, said, LifecycleReport(event="render"))
        for path in ("role", "db"):
            await owner.install(handle.id, path)
        await owner.finish(handle.id)

    site.work(deploy)
    lines = site.cli.ok("release", "watch", "shop").splitlines()
    assert [each.split("  ", 1)[1] for each in lines if "LIFECYCLE" in each] == [
        "LIFECYCLE  SUCCEEDED   shop  pre-render  0.2s  got chart shop",
        "LIFECYCLE  SUCCEEDED   shop  pre-render  and more",
    ]
    _, first, second, third = site.cli.ok("release", "events", "shop").splitlines()
    assert first.split()[-3:] == ["got", "chart", "shop"]
    assert second.split() == [*("-",) * 5, "and", "more"]
    assert third.split()[0] == "render"
