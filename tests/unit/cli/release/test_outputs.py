"""`tinkwell release get outputs`: what a release gives out."""

from unit.cli.release.conftest import Site

from support.release_provisioner import Provisioner, apply
from tinkwell.client import Client


def test_what_a_release_gives_out_can_be_had(site: Site) -> None:
    async def deploy(client: Client, owner: Provisioner) -> None:
        first = await apply(client)
        await owner.begin(first.id)
        for path in ("role", "db"):
            await owner.install(first.id, path)
        await owner.finish(first.id, result='{"outputs": {"url": "https://shop.example", "size": 3}}')

    site.work(deploy)
    assert site.cli.ok("release", "get", "outputs", "shop") == 'url: "https://shop.example"\nsize: 3\n'
    assert site.cli.json("release", "get", "outputs", "shop", "--revision", "1")["size"] == 3
    assert "revision 2 of release shop does not exist" in site.cli.fails(
        "release", "get", "outputs", "shop", "--revision", "2"
    )


def test_a_release_may_give_nothing_out(deployed: Site) -> None:
    assert deployed.cli.ok("release", "get", "outputs", "shop") == "{}\n"
