"""Relations, by jubilant: what is joined, told, looked at and ended."""

import jubilant
import pytest
from integration.juju import stage
from integration.juju.stage import SITE, STORE

# Each question starts a process, and each event several; a loaded machine takes minutes for a module.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def related(juju: jubilant.Juju) -> jubilant.Juju:
    """A site with two units, related to a store."""
    juju.deploy(SITE, num_units=2)
    juju.deploy(STORE)
    stage.settle(juju, "site", "store")
    juju.integrate("site:store", "store:store")
    stage.wait(juju, jubilant.all_active)
    stage.settle(juju)
    return juju


def test_what_one_side_writes_the_other_reads(related: jubilant.Juju) -> None:
    assert stage.message(related, "site/0") == "reads store/0"
    assert stage.message(related, "site/1") == "reads store/0"


def test_the_status_has_the_relations_of_both_sides(related: jubilant.Juju) -> None:
    status = related.status()
    (relation,) = status.apps["site"].relations["store"]
    assert (relation.related_app, relation.interface) == ("store", "store")
    (relation,) = status.apps["store"].relations["store"]
    assert relation.related_app == "site"


def test_a_unit_is_shown_with_what_is_written_in_its_relations(related: jubilant.Juju) -> None:
    found = {each.endpoint: each for each in related.show_unit("site/0").relation_info}
    relation = found["store"]
    assert (relation.related_endpoint, relation.app_data) == ("store", {"version": "4"})
    assert relation.local_unit is not None
    assert (relation.local_unit.in_scope, relation.local_unit.data["reader"]) == (True, "site/0")
    assert relation.related_units["store/0"].data["address"] == "store/0"


def test_siblings_meet_in_their_peer_relation(related: jubilant.Juju) -> None:
    found = {each.endpoint: each for each in related.show_unit("site/1").relation_info}
    assert [*found["cluster"].related_units] == ["site/0"]
    assert found["cluster"].related_units["site/0"].data["name"] == "site/0"


def test_ends_that_do_not_fit_are_refused(related: jubilant.Juju) -> None:
    with pytest.raises(jubilant.CLIError) as caught:
        related.integrate("site:backup", "store")
    assert "site:backup" in stage.error_of(caught)
    with pytest.raises(jubilant.CLIError) as caught:
        related.integrate("site", "nothing")
    assert "nothing" in stage.error_of(caught)


def test_a_relation_is_ended_and_can_be_made_anew(related: jubilant.Juju) -> None:
    related.remove_relation("site", "store:store")
    status = stage.wait(related, lambda status: jubilant.all_blocked(status, "site"))
    assert "store" not in stage.settle(related).apps["site"].relations
    assert status.apps["site"].app_status.message == "needs a store"
    assert "site/1 has left" in related.debug_log()
    related.integrate("store:second-store", "site")
    stage.settle(related)
    assert "second-store" in related.status().apps["store"].relations
    with pytest.raises(jubilant.CLIError):
        related.remove_relation("site:store", "store:store")
