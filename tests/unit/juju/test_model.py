"""Models, which are namespaces."""

import pytest
from unit.juju.stage import JujuLine, Site

from tinkwell.juju.model import lifecycle


def test_a_model_is_added_and_becomes_the_current_one(juju: JujuLine) -> None:
    assert juju.notes("add-model", "staging") == "Added 'staging' model on tinkwell for user 'admin'\n"
    assert juju.ok("switch") == "tinkwell:admin/staging\n"
    assert juju.json("status")["model"]["name"] == "staging"


def test_a_model_can_be_added_without_becoming_the_current_one(juju: JujuLine) -> None:
    juju.ok("add-model", "--no-switch", "staging", "tinkwell/default", "--controller", "tinkwell")
    assert juju.ok("switch") == "tinkwell:admin/default\n"
    assert juju.notes("switch", "staging") == "tinkwell:admin/default -> tinkwell:admin/staging\n"
    assert juju.json("whoami") == {"controller": "tinkwell", "model": "staging", "user": "admin"}
    assert juju.fails("switch", "production") == 'ERROR model "production" not found\n'


def test_the_environment_counts_more_than_what_was_switched_to_and_an_option_more_than_that(juju: JujuLine) -> None:
    for each in ("one", "two"):
        juju.ok("add-model", each)
    assert juju.run("switch", env={"JUJU_MODEL": "one"}).stdout == "tinkwell:admin/one\n"
    shown = juju.run("show-model", "-m", "tinkwell:admin/two", "--format", "json", env={"JUJU_MODEL": "one"}).stdout
    assert shown.startswith('{"two":')


def test_a_model_whose_name_is_taken_is_refused(deployed: Site) -> None:
    refused = deployed.juju.fails("add-model", "default")
    assert refused == 'ERROR failed to create new model: model "default" for admin already exists\n'


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("other:m", "controller other not found; the server is the controller tinkwell"),
        ("bob/m", 'model "bob/m" not found; all models belong to admin'),
        ("Bad_Name", '"Bad_Name" is not a valid model name: '),
    ],
)
def test_a_reference_to_what_cannot_be_is_refused(juju: JujuLine, reference: str, sentence: str) -> None:
    assert juju.fails("status", "--model", reference).startswith(f"ERROR {sentence}")


def test_models_are_listed_and_shown(juju: JujuLine) -> None:
    juju.ok("add-model", "staging")
    found = juju.json("models")
    assert [each["short-name"] for each in found["models"]] == ["staging"]
    assert found["current-model"] == "staging"
    assert juju.ok("models").splitlines()[-1].split() == ["staging*", "available"]
    shown = juju.json("show-model")["staging"]
    assert shown == juju.json("show-model", "staging")["staging"]
    assert (shown["name"], shown["model-type"], shown["life"]) == ("admin/staging", "iaas", "alive")
    assert len(shown["model-uuid"]) == 36
    assert juju.fails("show-model", "production") == 'ERROR model "production" not found\n'


def test_the_controller_is_the_server(juju: JujuLine) -> None:
    juju.ok("add-model", "staging")
    found = juju.json("controllers")
    assert found["current-controller"] == "tinkwell"
    assert found["controllers"]["tinkwell"]["current-model"] == "admin/staging"
    shown = juju.json("show-controller")["tinkwell"]
    assert shown["details"]["api-endpoints"] == [juju.fake.address]
    assert list(shown["models"]) == ["staging"]
    assert juju.fails("show-controller", "aws").startswith("ERROR controller aws not found")
    assert juju.ok("controllers").splitlines()[1].split() == ["tinkwell*", "staging", "admin", "tinkwell", "3.6.9"]


def test_settings_of_a_model_are_shown_set_and_given_back(juju: JujuLine) -> None:
    juju.ok("add-model", "staging", "--config", "update-status-hook-interval=10s")
    found = juju.json("model-config")
    assert found["update-status-hook-interval"] == {"Value": "10s", "Source": "model"}
    assert found["automatically-retry-hooks"] == {"Value": True, "Source": "default"}
    assert found["agent-version"]["Value"] == "3.6.9"
    juju.ok("model-config", "automatically-retry-hooks=false", "update-status-hook-interval=1h")
    assert juju.ok("model-config", "automatically-retry-hooks") == "false\n"
    assert juju.ok("model-config", "update-status-hook-interval") == "1h0m0s\n"
    juju.ok("model-config", "--reset", "automatically-retry-hooks,update-status-hook-interval")
    assert juju.ok("model-config", "update-status-hook-interval") == "5m0s\n"


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("http-proxy=x", "http-proxy: Tinkwell has no such setting; it has automatically-retry-hooks and "),
        ("agent-version=4", '"agent-version" cannot be changed'),
        ("update-status-hook-interval=soon", "update-status-hook-interval: 'soon' is not a duration"),
        ("update-status-hook-interval=1s", "update_status_seconds"),
        ("automatically-retry-hooks=maybe", "automatically-retry-hooks: expected bool, got 'maybe'"),
    ],
)
def test_a_setting_that_is_not_there_or_not_right_is_refused(juju: JujuLine, setting: str, sentence: str) -> None:
    assert juju.fails("model-config", setting).startswith(f"ERROR {sentence}")


def test_a_setting_of_what_is_logged_has_no_effect(juju: JujuLine) -> None:
    said = juju.notes("model-config", "logging-config=<root>=DEBUG")
    assert said == "logging-config has no effect: Tinkwell keeps all that units log\n"


def test_a_model_has_no_constraints(juju: JujuLine) -> None:
    assert juju.json("model-constraints", "--model", "default") == {}
    assert juju.fails("set-model-constraints", "mem=4G", code=2).startswith(
        "ERROR juju set-model-constraints is not supported: "
    )


def test_a_model_is_destroyed_with_all_that_is_in_it(deployed: Site) -> None:
    said = deployed.juju.notes("destroy-model", "default", "--no-prompt", "--force", "--no-wait", "--destroy-storage")
    assert said.splitlines()[0] == "Destroying model"
    assert said.splitlines()[-1] == "Model destroyed."
    assert deployed.juju.json("status")["applications"] == {}
    deployed.juju.ok("add-model", "default")


def test_a_model_is_destroyed_though_an_application_of_it_is_being_removed(deployed: Site) -> None:
    deployed.juju.ok("remove-application", "web", "--no-prompt")
    deployed.juju.ok("destroy-model", "default", "--no-prompt", "--force", "--no-wait")
    assert deployed.juju.json("status")["applications"] == {}


def test_a_model_is_destroyed_only_by_who_is_sure(deployed: Site) -> None:
    assert "ERROR aborted" in deployed.juju.fails("destroy-model", "default", stdin="n\n")
    assert len(deployed.juju.json("status")["applications"]) == 2
    assert deployed.juju.fails("destroy-model", "other") == "ERROR model tinkwell:admin/other not found\n"


def test_the_default_is_current_again_after_the_end_of_the_current_model(juju: JujuLine) -> None:
    juju.ok("add-model", "staging")
    juju.ok("destroy-model", "staging", "--no-prompt")
    assert juju.ok("switch") == "tinkwell:admin/default\n"


def test_the_end_of_a_model_is_not_waited_for_for_ever_and_units_in_error_are_named(
    deployed: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed.juju.ok("config", "web", "title=second")
    deployed.fail("config-changed", "exit 1")
    monkeypatch.setattr(lifecycle, "_PATIENCE_SECONDS", 1.0)
    said = deployed.juju.fails("destroy-model", "default", "--no-prompt")
    assert "Waiting for model to be removed, 2 error(s): web/0, web/1; 2 application(s), 3 unit(s)..." in said
    assert "ERROR timed out waiting for the end of model default; its applications go on ending: " in said


def test_who_cannot_answer_is_told_how_not_to_be_asked(deployed: Site) -> None:
    said = deployed.juju.fails("destroy-model", "default", stdin="")
    assert said.endswith("\nERROR aborted: nobody has answered; --no-prompt does not ask\n")


@pytest.mark.parametrize(
    "words",
    [
        ("secrets",),
        ("storage",),
        ("debug-log",),
        ("operations",),
        ("resolved", "--all"),
        ("add-secret", "api", "token=x"),
        ("model-config", "automatically-retry-hooks=false"),
        ("show-unit", "web/0"),
        ("run", "web/0", "backup"),
    ],
)
def test_a_model_that_is_not_there_is_neither_empty_nor_made(juju: JujuLine, words: tuple[str, ...]) -> None:
    assert juju.fails(words[0], "-m", "nowhere", *words[1:]) == 'ERROR model "nowhere" not found\n'
    assert juju.json("models")["models"] == []
