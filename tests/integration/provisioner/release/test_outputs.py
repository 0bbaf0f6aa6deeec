"""What a release gives out, with what is secret in it, through a real server."""

from typing import Any

from support.chart_stage import chart, packed, thing
from support.release_stage import Stage

SECRET = "a-word-that-nobody-is-to-see"


async def test_what_a_release_gives_out_is_kept_without_what_is_secret_in_it(stage: Stage) -> None:
    outputs = {"text": "{{ disk.state.text }}", "size": "{{ 1 + 2 }}", "of": {"name": "{{ release.name }}"}}
    files = chart("shop", {"disk": thing("disk", "<{{ values.password }}>")}, outputs=outputs)
    values: Any = {"global": {"folder": str(stage.folder)}, "password": SECRET}
    async with stage.provisioner():
        begun = await stage.client.releases.install("shop", packed(files), values=values, secret_values=["/password"])
        ended = await stage.ends(begun.id)
        again = await stage.client.releases.upgrade("shop", packed(files))
        assert (await stage.ends(again.id)).revision == ended.revision
        found = await stage.client.releases.outputs("shop")
    assert stage.content("disk") == f"<{SECRET}>"
    assert found == {"text": None, "size": 3, "of": {"name": "shop"}}
    assert SECRET not in (stage.path / "stderr").read_text()
