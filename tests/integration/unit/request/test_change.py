"""SetConfig and Refresh: what units hear of, and what may not be changed."""

import json

from support.application_site import PG, WEB, Site, refusal
from tinkwell.api.v1 import application_service_pb2 as pb


async def configure(site: Site, **config: object) -> pb.Application:
    return await site.apps.SetConfig(pb.SetConfigRequest(application="web", config=json.dumps(config)))


async def test_units_hear_of_another_configuration_once(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    await site.run(agent, "web/0")
    assert (await configure(site, workers=5, title="a")).config_version == 2
    changed = await configure(site, title=None)
    assert (json.loads(changed.config), changed.config_version) == ({"workers": 5}, 3)
    assert await site.run(agent, "web/0") == ["web/0 config-changed"]


async def test_the_same_configuration_changes_nothing(site: Site) -> None:
    first = await site.deploy(WEB, "web", config={"workers": 2})
    assert await configure(site, workers="2") == first
    assert (await refusal(configure(site, workers=0))).fields == {"config.workers": "is 0; it must be at least 1"}
    refused = await refusal(site.apps.SetConfig(pb.SetConfigRequest(application="web", config="[]")))
    assert refused.fields == {"config": "must be a JSON object, such as {}, and not a list"}
    assert (await refusal(site.apps.SetConfig(pb.SetConfigRequest(application="pg")))).reason == "NOT_FOUND"


async def refresh(site: Site, name: str, manifest: str, **config: object) -> pb.Application:
    text = json.dumps(config) if config else ""
    digest = (await site.charm(manifest)).digest
    return await site.apps.Refresh(pb.RefreshRequest(application=name, charm=digest, config=text))


async def test_units_are_told_of_another_charm_and_run_on_it(site: Site) -> None:
    first = await site.deploy(WEB, "web", config={"workers": 5, "title": "a"})
    agent = await site.agent()
    await site.run(agent, "web/0")
    options = "config: {options: {title: {}, size: {type: int}}}"
    newer = f"name: web\nrequires: {{db: postgresql}}\nstorage: {{cache: {{}}}}\n{options}"
    refreshed = await refresh(site, "web", newer, size=3)
    assert refreshed.charm != first.charm
    assert json.loads(refreshed.config) == {"title": "a", "size": 3}
    assert await site.run(agent, "web/0") == [
        "web/0 upgrade-charm",
        "web/0 config-changed",
        "web/0 start",
        "web/0 cache-storage-attached",
    ]
    assert (await site.unit("web/0")).charm == refreshed.charm


async def test_the_same_charm_changes_nothing_but_what_is_configured(site: Site) -> None:
    first = await site.deploy(WEB, "web")
    assert await refresh(site, "web", WEB) == first
    changed = await refresh(site, "web", WEB, workers=4)
    assert (changed.charm, changed.config_version) == (first.charm, 2)


async def test_a_charm_that_takes_away_what_is_used_is_refused(site: Site) -> None:
    await site.deploy(PG, "pg")
    refused = await refusal(refresh(site, "pg", "name: pg\nkind: native\npeers: {more: m}"))
    assert refused.reason == "CHARM_REFUSED"
    assert sorted(refused.fields) == ["kind", "peers.cluster", "peers.more", "storage.disk"]
    await site.deploy(WEB, "web")
    await site.apps.Relate(pb.RelateRequest(first="web", second="pg"))
    refused = await refusal(refresh(site, "web", "name: web"))
    assert refused.fields == {"requires.db": "is missing, and db is related; remove its relations first"}


async def test_a_new_peer_comes_after_the_upgrade_in_the_profile_of_juju(site: Site) -> None:
    await site.deploy(WEB, "web", profile=pb.UNIT_PROFILE_JUJU)
    agent = await site.agent()
    await site.run(agent, "web/0")
    await refresh(site, "web", f"{WEB}peers: {{ring: r}}\n")
    told = await site.run(agent, "web/0")
    assert told[-1] == "web/0 ring-relation-created"
