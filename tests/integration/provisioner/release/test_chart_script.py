"""A chart with scripts from end to end: a real server, a provisioner as a process, and resources as processes."""

from typing import Any

from support.chart_stage import Files, chart, packed, thing
from support.release_stage import Stage
from tinkwell.core.event.kinds import State
from tinkwell.core.release.lifecycle_event.run import Outcome

SECRET = "a-word-that-nobody-is-to-see"
SCRIPT = """
function init(events)
  events.on("pre-render", 0.5, function (name, namespace, chart, values)
    values.text = values.text .. " of " .. chart.name
    values.store = values.store or {}
    values.store.text = "for " .. name
    values.twin = values.password
  end)
  events.on("post-render", 0.5, function (name, namespace, chart, values, manifest, context)
    context.objects.extra = nil
  end)
  events.on("post-install", 0, function (name, namespace, chart, values, manifest, context)
    if manifest.resources.extra then fail("extra is there") end
    print(name .. " is installed")
  end)
  events.on("store:post-install", 0, function () end)
  events.on("pre-delete", 0, function (name, namespace, chart, values)
    if values.text ~= "mine of shop" then fail("the values are " .. tostring(values.text)) end
  end)
end
"""


def shop(script: str = SCRIPT) -> dict[str, str]:
    """Give a chart `shop` with a subchart and a script."""
    store = chart("store", {"disk": thing("disk", "{{ values.text }}")})
    own = {"front": thing("front", "{{ values.text }} {{ values.twin }}"), "extra": thing("extra")}
    return chart("shop", own, subcharts={"store": store}) | {"ext/lua/init.lua": script}


async def install(stage: Stage, files: Files) -> str:
    values = {"global": {"folder": str(stage.folder)}, "text": "mine", "password": SECRET}
    begun = await stage.client.releases.install("shop", packed(files), values=values, secret_values=["/password"])
    return begun.id


async def events(stage: Stage, operation_id: str) -> list[tuple[str, str, Outcome]]:
    """Return what was emitted, by event and chart."""
    return [(run.event, run.chart, run.outcome) async for run in stage.client.releases.lifecycle(operation_id)]


async def test_a_chart_with_scripts_goes_through_its_life(stage: Stage) -> None:
    async with stage.provisioner():
        installed = await stage.ends(await install(stage, shop()))
        assert stage.content("front") == f"mine of shop {SECRET}"
        assert stage.content("disk") == "for shop"
        assert stage.content("extra") is None
        revision = await stage.client.releases.revision("shop", with_all_values=True)
        back = await stage.client.releases.upgrade("shop", packed(shop(SCRIPT.replace("mine of", "none of"))))
        await stage.ends(back.id)
        gone = await stage.client.releases.uninstall("shop")
        failed = await stage.ends(gone.id, State.FAILED)
    found = await events(stage, installed.id)
    assert [(event, of) for event, of, _ in found if of == "shop.store"] == [("post-install", "shop.store")]
    assert [event for event, of, _ in found if of == "shop"] == [
        *("read-chart", "chart-loaded", "pre-render", "render", "post-render", "pre-validate", "validate"),
        *("post-validate", "pre-install", "install", "post-install", "wait", "ready"),
    ]
    assert {outcome for *_, outcome in found} == {Outcome.SUCCEEDED}
    all_values: Any = revision.all_values
    assert (all_values["text"], all_values["store"]["text"]) == ("mine of shop", "for shop")
    assert SECRET not in str(revision)
    assert (all_values["password"], all_values["twin"]) == (None, None)
    assert failed.cause is not None
    assert "the handler of pre-delete for shop failed: the values are mine of shop" in failed.cause["message"]
