"""How much there may be of applications: at each limit there is one error that names it."""

import json

from support.application_site import PG, WEB, Site, refusal
from tinkwell.api.v1 import application_service_pb2 as pb

_UNITS = """
    INSERT INTO unit (namespace, application_id, number, name, is_anywhere)
    SELECT a.namespace, a.id, n, concat(a.name, '/', n), true
      FROM application a, generate_series(a.next_number, a.next_number + $2 - 1) n WHERE a.name = $1
"""
_NUMBERS = "UPDATE application SET next_number = next_number + $2 WHERE name = $1"


async def _add(site: Site, application: str, count: int) -> None:
    """Add units as AddUnits does, which takes them one by one."""
    async with site.sql.transaction():
        await site.sql.execute(_UNITS, application, count)
        await site.sql.execute(_NUMBERS, application, count)


async def test_a_configuration_has_one_mebibyte(site: Site) -> None:
    text = json.dumps({"title": "x" * (1 << 20)})
    sentence = "at most 1,048,576"
    made = await site.charm(WEB)
    refused = await refusal(site.apps.Deploy(pb.DeployRequest(name="web", charm=made.digest, config=text)))
    assert sentence in refused.fields["config"]
    await site.deploy(WEB, "web")
    refused = await refusal(site.apps.SetConfig(pb.SetConfigRequest(application="web", config=text)))
    assert sentence in refused.fields["config"]
    refused = await refusal(site.apps.Refresh(pb.RefreshRequest(application="web", charm=made.digest, config=text)))
    assert sentence in refused.fields["config"]


async def test_a_manifest_that_is_larger_as_json_is_refused_too(site: Site) -> None:
    options = "".join(f"    o{number}: {{type: string, description: '{chr(34) * 60_000}'}}\n" for number in range(16))
    refused = await refusal(site.charm(f"name: web\nconfig:\n  options:\n{options}", part_bytes=1 << 20))
    assert (refused.reason, list(refused.fields.values())) == (
        "INVALID_FIELD",
        ["a document of an application may not be larger than 1 MiB of JSON"],
    )


async def test_an_application_has_ten_thousand_units(site: Site) -> None:
    await site.deploy(WEB, "web", 1)
    for count in (10_001, 2**31 - 1):
        refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="web", units=count)))
        assert "10,000" in refused.fields["units"]
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="web", units=10_000, is_anywhere=True)))
    assert refused.reason == "LIMIT_REACHED"
    assert refused.message == "web would have more than the 10,000 units that one may have"
    assert await site.count("unit") == 1


async def test_a_relation_has_two_thousand_members(site: Site) -> None:
    await site.deploy(WEB, "web", 1)
    await site.deploy(PG, "pg", 1)
    await _add(site, "web", 1_000)
    await _add(site, "pg", 999)
    relating = pb.RelateRequest(first="web", second="pg")
    refused = await refusal(site.apps.Relate(relating))
    assert refused.reason == "LIMIT_REACHED"
    assert refused.message == "the relation would have 2,001 units; at most 2,000 may be in one"
    await site.sql.execute("DELETE FROM unit WHERE name = 'web/1000'")
    await site.apps.Relate(relating)
    refused = await refusal(site.apps.AddUnits(pb.AddUnitsRequest(application="pg", units=1, is_anywhere=True)))
    assert refused.reason == "LIMIT_REACHED"
    assert refused.message == "a relation of pg would have more than 2,000 units, which one may have"
