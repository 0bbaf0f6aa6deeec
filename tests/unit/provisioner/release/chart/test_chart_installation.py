"""Charts that are installed, upgraded and removed: what their containers are given, and what becomes of them."""

from typing import Any

import pytest
from unit.provisioner.release.chart.releasing import SHOP, alone, files
from unit.provisioner.release.stage import Stage

from tinkwell.core.event.kinds import State
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.kinds import ReleaseState

# What the images of a test say of a disk is its config.
LIVE = SHOP | {
    "charts/store/templates/disk.yaml": """
        resources: {disk: {type: acme/disk, config: {address: "10.0.0.{{ values.last }}", name: www}}}
        outputs: {address: "{{ disk.state.address }}", again: "{{ inputs.nothing | default(1) }}"}
    """,
    "charts/store/values.yaml": "last: 7\n",
    "charts/site/templates/site.yaml": """
        resources:
          web:
            type: acme/web
            config:
              url: "{{ inputs.url }}"
              size: "{{ inputs.size }}"
              name: www
              text: "{{ files.get('a') ~ inputs.path }}"
        outputs: {name: "{{ web.state.name }}-{{ web.name }}", url: "{{ inputs.url }}"}
    """,
    "charts/site/files/a": "A",
    "templates/own.yaml": """
        resources:
          door:
            type: acme/door
            config: {site: "{{ subcharts['site'].outputs.name }}", url: "{{ subcharts.site.outputs.url }}"}
    """,
}


def packed(given: Any, **others: Any) -> bytes:
    return archive.pack("shop", files(given, **others))


async def install(stage: Stage, given: Any, **others: Any) -> str:
    return (await stage.operator.install("shop", packed(given), **others)).id


async def upgrade(stage: Stage, given: Any, **others: Any) -> str:
    return (await stage.operator.upgrade("shop", packed(given), **others)).id


def told(stage: Stage, name: str, call: str = "state") -> dict[str, Any]:
    """Return what a container was told at its first call."""
    return next(each for each in stage.images.told if (each["name"], each["call"]) == (name, call))


async def test_charts_are_given_what_others_give(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await install(stage, LIVE))
    assert told(stage, "web")["config"] == {"url": "https://10.0.0.7/x", "size": 3, "name": "www", "text": "Ax"}
    assert told(stage, "door")["config"] == {"site": "www-web", "url": "https://10.0.0.7/x"}
    assert [call["chart_path"] for call in (told(stage, "door"), told(stage, "web"))] == ["shop", "shop.site"]


async def test_after_a_change_of_owner_it_is_evaluated_anew(stage: Stage) -> None:
    thing = stage.images.thing("door")
    thing.exits["create"] = 3
    async with stage.provisioner():
        await stage.ends(await install(stage, LIVE), State.FAILED)
    thing.exits.clear()
    stage.images.told.clear()
    async with stage.provisioner(slot=1):
        await stage.ends((await stage.operator.resume("shop")).id)
    assert told(stage, "door")["config"] == {"site": "www-web", "url": "https://10.0.0.7/x"}
    assert "create" not in stage.images.calls("web")[3:]


async def test_each_container_gets_the_files_of_its_chart_and_no_others(stage: Stage) -> None:
    given = LIVE | {"files/top.conf": "top", "charts/store/files/sub/x.conf": b"\xff"}
    async with stage.provisioner():
        await stage.ends(await install(stage, given))
        await stage.ends((await stage.operator.uninstall("shop")).id)
    found = {(spec.labels["path"], call): dict(spec.files) for call, spec in stage.images.specs}
    assert {path: content for (path, call), content in found.items() if call == "state"} == {
        "shop:door": {"top.conf": b"top"},
        "shop.store:disk": {"sub/x.conf": b"\xff"},
        "shop.site:web": {"a": b"A"},
    }
    # Who is removed has the files by which it was installed.
    assert found["shop.store:disk", "destroy"] == {"sub/x.conf": b"\xff"}
    assert found["shop.site:web", "destroy"] == {"a": b"A"}


async def test_what_is_removed_has_the_files_of_its_own_revision(stage: Stage) -> None:
    given = alone("resources: {a: {type: t}, b: {type: t, config: {x: 1}}}", **{"files/f": "first"})
    async with stage.provisioner():
        await stage.ends(await install(stage, given))
        await stage.ends(await upgrade(stage, alone("resources: {a: {type: t}}", **{"files/f": "second"})))
    last = {(spec.labels["path"], call): dict(spec.files) for call, spec in stage.images.specs}
    assert last["one:b", "destroy"] == {"f": b"first"}
    assert last["one:a", "state"] == {"f": b"second"}


async def test_a_rollback_brings_about_what_was_stored(stage: Stage) -> None:
    changed = LIVE | {"charts/store/values.yaml": "last: 9\n", "charts/site/files/a": "B"}
    async with stage.provisioner():
        await stage.ends(await install(stage, LIVE, values={"path": "p"}))
        await stage.ends(await upgrade(stage, changed))
        assert stage.images.thing("web").state == {
            "url": "https://10.0.0.9/p",
            "size": 3,
            "name": "www",
            "text": "Bp",
        }
        await stage.ends((await stage.operator.rollback("shop")).id)
    assert stage.images.thing("web").state == {"url": "https://10.0.0.7/p", "size": 3, "name": "www", "text": "Ap"}
    assert [spec.files for call, spec in stage.images.specs if spec.labels["path"] == "shop.site:web"][-1] == {
        "a": b"A"
    }


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "resources: {a: {type: t, config: {x: '{{ values.no }}'}}}",
            "RENDER: templates/a.yaml.resources.a.config.x: ",
        ),
        ("resources: {a: {type: t, config: {x: '{{ 1 / 0 }}'}}}", "RENDER: templates/a.yaml.resources.a.config.x: "),
        ("resources: {a: [", "RENDER: templates/a.yaml: line 1, column "),
        ("apiVersion: v1\nkind: Pod\n", "RENDER: templates/a.yaml: line 1, column 1: is a Kubernetes Pod"),
        (
            "resources: {a: {type: t, dependencies: {b: b}}, b: {type: t, dependencies: {a: a}}}",
            "VALIDATE: resources: depend on each other in a loop: ",
        ),
        ("{plugs: {x: {path: /}}, resources: {}}", 'VALIDATE: plugs["one:x"]: "/" is not granted here'),
        ("{plugs: {x: {path: /proc}}, resources: {}}", 'VALIDATE: plugs["one:x"]: "/proc" is not granted here'),
        ("{plugs: {x: {path: ../../x}}, resources: {}}", 'VALIDATE: plugs["one:x"].path: "../../x" is neither'),
        ("{plugs: {x: {path: planted}}, resources: {}}", 'VALIDATE: plugs["one:x"].path: '),
        (
            "resources: {a: {type: t, config: {x: \"{{ ''.__class__ }}\"}}}",
            "RENDER: templates/a.yaml.resources.a.config.x",
        ),
        ("resources: {a: {type: t, for_each: '{{ range(9999) }}'}}", "RENDER: templates/a.yaml.resources.a.for_each: "),
        (
            "resources: {a: {type: t, config: {x: '{{ 9 ** 9 ** 9 }}'}}}",
            "RENDER: templates/a.yaml.resources.a.config.x",
        ),
    ],
)
async def test_what_only_rendering_finds_leaves_the_release_as_it_was(
    stage: Stage, template: str, message: str
) -> None:
    async with stage.provisioner():
        await stage.ends(await install(stage, alone("resources: {a: {type: t}}")))
        before = await stage.operator.get("shop")
        (folder := stage._folder / "releases" / before.id).mkdir(parents=True, exist_ok=True)
        (folder / "planted").symlink_to("/etc")
        calls = list(stage.images.journal)
        operation = await stage.ends(await upgrade(stage, alone(template)), State.FAILED)
        assert operation.cause is not None
        assert operation.cause["reason"] == "PREPARATION_FAILED"
        assert str(operation.cause["message"]).startswith(message)
        release = await stage.operator.get("shop")
    assert (release.state, release.revision, release.latest_revision) == (ReleaseState.DEPLOYED, 1, 1)
    assert release.chart_version == before.chart_version
    assert stage.images.journal == calls


async def test_plugs_of_one_name_in_two_charts_are_each_chart_s_own(stage: Stage, tmp_path: Any) -> None:
    (tmp_path / "granted").mkdir()
    given = {
        "Chart.yaml": "apiVersion: v2\nname: top\nversion: 0.1.0\ndependencies: [{name: a}]\n",
        "templates/x.yaml": "plugs: {data: {path: mine}}\nresources: {x: {type: t}}\n",
        "charts/a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.1.0\n",
        "charts/a/templates/y.yaml": f"plugs: {{data: {{path: {tmp_path}/granted}}}}\nresources: {{y: {{type: t}}}}\n",
    }
    for name in ("x", "y"):
        stage.images.thing(name).init["plugs"] = {"data": {"container_path": "/data", "writable": True}}
    async with stage.provisioner(grants=[f"data={tmp_path}/granted"]):
        await stage.ends(await install(stage, given))
    sources = {spec.labels["path"]: spec.mounts[0].source for call, spec in stage.images.specs if call == "state"}
    assert sources["top.a:y"] == f"{tmp_path}/granted"
    assert sources["top:x"].endswith("/mine")


async def test_a_plug_of_a_subchart_may_be_kept_to_names_of_its_own(stage: Stage) -> None:
    given = alone(
        "plugs: {data: {path: d, resource_names: ['^x$']}}\nresources: {x: {type: t}, y: {type: t, config: {n: 1}}}"
    )
    for name in ("x", "y"):
        stage.images.thing(name).init["plugs"] = {"data": {"container_path": "/data", "optional": True}}
    async with stage.provisioner():
        await stage.ends(await install(stage, given))
    mounts = {spec.labels["path"]: len(spec.mounts) for call, spec in stage.images.specs if call == "state"}
    assert mounts == {"one:x": 1, "one:y": 0}


async def test_data_that_poses_as_our_own_markers_reaches_containers_as_it_is(stage: Stage) -> None:
    data = {"$expr": "{{ values.n }}", "$secret": "x", "pointers": ["/d"], "late": {"/d": "{{ 1 }}"}}
    given = alone(
        """
        resources:
          a: {type: t, config: {d: "{{ values.d }}"}}
          b: {type: t, dependencies: {a: a}, config: {d: "{{ a.state.d }}", t: "{{ values.t }}{{ a.type }}"}}
        """
    )
    async with stage.provisioner():
        await stage.ends(await install(stage, given, values={"d": data, "t": "{{ a.state }}"}))
    assert told(stage, "a")["config"] == {"d": data}
    assert told(stage, "b")["config"] == {"d": data, "t": "{{ a.state }}t"}
