"""Secrets of users, by jubilant: made, granted, read by a charm, changed and removed."""

import contextlib

import jubilant
import pytest
from integration.juju import stage
from integration.juju.stage import SITE

# Each question starts a process, and each event several; a loaded machine takes minutes for a module.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def site(juju: jubilant.Juju) -> jubilant.Juju:
    juju.deploy(SITE)
    stage.wait(juju, jubilant.all_active)
    stage.settle(juju)
    return juju


def test_a_secret_is_made_and_shown(juju: jubilant.Juju) -> None:
    uri = juju.add_secret("api", {"user": "ann", "password": "4e2", "more": "on"}, info="for the API")
    assert uri.startswith("secret:")
    assert len(uri.unique_identifier) == 20
    secret = juju.show_secret(uri)
    assert (secret.name, secret.owner, secret.revision) == ("api", "<model>", 1)
    assert (secret.description, secret.access) == ("for the API", None)
    revealed = juju.show_secret("api", reveal=True)
    # What looks like a number, or a truth, is a text here.
    assert revealed.content == {"user": "ann", "password": "4e2", "more": "on"}
    assert revealed.uri == uri


def test_a_secret_has_revisions(juju: jubilant.Juju) -> None:
    uri = juju.add_secret("turning", {"password": "one"})
    juju.update_secret("turning", {"password": "two"}, info="turned", name="turned")
    secret = juju.show_secret(uri, revisions=True)
    assert secret.revisions is not None
    assert sorted(each.revision for each in secret.revisions) == [1, 2]
    assert (secret.name, secret.description) == ("turned", "turned")
    assert juju.show_secret(uri, reveal=True).content == {"password": "two"}
    assert juju.show_secret("turned", reveal=True, revision=1).content == {"password": "one"}
    juju.remove_secret(uri, revision=1)
    with pytest.raises(jubilant.CLIError):
        juju.show_secret(uri, reveal=True, revision=1)
    juju.remove_secret(uri)
    with pytest.raises(jubilant.CLIError) as caught:
        juju.show_secret(uri)
    assert stage.error_of(caught) == f'secret "{uri.unique_identifier}" not found'


def test_a_charm_reads_a_secret_that_it_is_granted_and_hears_of_its_change(site: jubilant.Juju) -> None:
    uri = site.add_secret("token", {"password": "seventeen-letters"})
    site.grant_secret("token", "site")
    (access,) = site.show_secret("token").access or []
    assert (access.target, access.role) == ("application-site", "view")
    site.config("site", {"token": uri})
    stage.settle(site)
    assert site.config("site")["token"] == uri
    assert "the token has 17 characters" in site.debug_log()
    site.update_secret(uri, {"password": "shorter"})
    stage.settle(site)
    assert "the token has 7 characters now" in site.debug_log()


def test_a_secret_that_is_not_granted_any_more_is_not_read(site: jubilant.Juju) -> None:
    uri = site.add_secret("lent", {"password": "x"})
    site.grant_secret(uri, ["site"])
    site.cli("revoke-secret", uri, "site")
    assert site.show_secret(uri).access is None
    site.config("site", {"token": uri})
    stage.wait(site, lambda status: jubilant.any_error(status, "site"))
    site.config("site", reset="token")
    # It may have been tried again by itself since, and then there is nothing to resolve.
    with contextlib.suppress(jubilant.CLIError):
        site.cli("resolved", "site/0")
    stage.wait(site, lambda status: jubilant.all_active(status, "site"))


def test_secrets_are_listed_by_their_owners(juju: jubilant.Juju) -> None:
    uri = juju.add_secret("listed", {"key": "value"})
    found = {each.uri: each for each in juju.secrets()}
    assert found[uri].name == "listed"
    assert uri in [each.uri for each in juju.secrets(owner="<model>")]
    assert juju.secrets(owner="site") == []


def test_what_is_wrong_with_a_secret_is_one_sentence(juju: jubilant.Juju) -> None:
    juju.add_secret("taken", {"key": "value"})
    with pytest.raises(jubilant.CLIError) as caught:
        juju.add_secret("taken", {"key": "other"})
    assert stage.error_of(caught) == 'secret with name "taken" already exists'
    with pytest.raises(jubilant.CLIError):
        juju.add_secret("empty", {})
    with pytest.raises(jubilant.CLIError) as caught:
        juju.grant_secret("taken", "nothing")
    assert "nothing" in stage.error_of(caught)
