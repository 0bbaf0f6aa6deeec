"""Models, by jubilant: namespaces that are made, set and emptied."""

import jubilant
import pytest
from integration.juju import stage
from integration.juju.stage import Place

# Each question starts a process, and each event several; a loaded machine takes minutes for a module.
pytestmark = pytest.mark.timeout(600)


def test_a_temporary_model_is_there_until_its_tests_are_done(place: Place) -> None:
    with jubilant.temp_model() as juju:
        assert juju.model is not None
        info = juju.show_model()
        assert (info.short_name, info.life, info.cloud) == (juju.model, "alive", "tinkwell")
        assert juju.show_model(juju.model).model_uuid == info.model_uuid
        juju.deploy(stage.STORE, "kept")
        stage.wait(juju, jubilant.all_active)
        name = juju.model
        with pytest.raises(jubilant.CLIError) as caught:
            jubilant.Juju().add_model(name)
        assert "already exists" in stage.error_of(caught)
    assert jubilant.Juju(model=name).status().apps == {}


def test_a_model_is_empty_at_first(juju: jubilant.Juju) -> None:
    status = juju.wait(jubilant.all_active)
    assert (status.apps, status.model.name, status.model.controller) == ({}, juju.model, "tinkwell")
    assert status.model.model_status.current == "available"


def test_the_interval_of_update_status_is_set_for_a_model_and_reset(juju: jubilant.Juju) -> None:
    name = "update-status-hook-interval"
    before = juju.model_config()[name]
    juju.model_config({name: "10s"})
    assert juju.model_config()[name] == "10s"
    juju.model_config(reset=name)
    assert juju.model_config()[name] == before == "5m0s"


def test_what_a_model_cannot_be_set_to_is_refused(juju: jubilant.Juju) -> None:
    with pytest.raises(jubilant.CLIError) as caught:
        juju.model_config({"update-status-hook-interval": "often"})
    assert "often" in stage.error_of(caught)
    with pytest.raises(jubilant.CLIError) as caught:
        juju.model_config({"image-stream": "daily"})
    assert "image-stream" in stage.error_of(caught)


def test_the_version_is_one_that_charms_of_today_run_under(place: Place) -> None:
    version = jubilant.Juju().version()
    assert version.tuple == (3, 6, 9)
    assert version.release == "tinkwell"


def test_what_there_is_not_says_so_and_why(juju: jubilant.Juju) -> None:
    for words in (("add-cloud", "here"), ("offer", "site:store"), ("bootstrap", "here", "there"), ("scp", "a", "b")):
        with pytest.raises(jubilant.CLIError) as caught:
            juju.cli(*words, include_model=False)
        assert caught.value.returncode == 2
        assert f"juju {words[0]} is not supported: " in stage.error_of(caught)
