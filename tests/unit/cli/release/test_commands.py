"""The commands for releases."""

import json
from pathlib import Path

import pytest
from unit.cli.release.conftest import Site

from support.command_line import CommandLine
from support.release_provisioner import MANIFEST, PLAN, Provisioner
from tinkwell.client import Client
from tinkwell.core.release.kinds import NodeState
from tinkwell.core.release.report import NodeReport


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "shop.yaml"
    path.write_text(MANIFEST)
    return str(path)


def test_releases_are_listed_by_namespace_and_state(deployed: Site, manifest: str) -> None:
    cli = deployed.cli
    cli.ok("release", "apply", "back", manifest, "-n", "prod", "--detach")
    header, first, second = cli.ok("release", "list").splitlines()
    assert header.split() == ["NAMESPACE", "NAME", "STATE", "REVISION", "CHART", "UPDATED", "DESCRIPTION"]
    assert first.split()[:4] == ["default", "shop", "DEPLOYED", "1"]
    assert first.endswith("  first")
    assert second.split()[:4] == ["prod", "back", "PENDING_INSTALL", "-"]
    assert [found["name"] for found in cli.json("release", "list", "-n", "prod")] == ["back"]
    assert [found["name"] for found in cli.json("release", "list", "--state", "deployed")] == ["shop"]


def test_the_status_shows_the_operation_and_each_resource(deployed: Site) -> None:
    fields, table = deployed.cli.ok("release", "status", "shop").split("\n\n")
    shown = dict(line.split(maxsplit=1) for line in fields.splitlines())
    assert (shown["NAME"], shown["STATE"], shown["REVISION"]) == ("shop", "DEPLOYED", "1")
    assert shown["OPERATION"].endswith("install SUCCEEDED: 2 changed")
    assert shown.keys().isdisjoint({"CAUSE", "NEXT", "ENGINE"})
    header, role, db = table.splitlines()
    assert header.split() == ["BATCH", "RESOURCE", "TASK", "STATE", "SECONDS", "ACTIONS", "MESSAGE"]
    assert role.split()[:4] == ["1", "role", "install", "READY"]
    assert db.split()[5:] == ["create", "-"]


def test_the_status_of_a_failure_says_why_and_how_to_go_on(failed: Site) -> None:
    fields, table = failed.cli.ok("release", "status", "shop").split("\n\n")
    assert "STATE      FAILED" in fields
    assert "REVISION   none (latest 1)" in fields
    assert "REASON     try" in fields
    assert "CAUSE      db failed at action create (exit 3): exited with code 3" in fields
    assert 'NEXT       "tinkwell release resume shop" goes on' in fields
    assert "1 changed, 1 failed" in fields
    assert "exited with code 3" in table


def test_the_status_of_what_has_not_begun_has_no_table(pending: Site) -> None:
    shown = pending.cli.ok("release", "status", "shop")
    assert "install PENDING" in shown
    assert 'NEXT       "tinkwell release watch shop" shows it' in shown
    assert "BATCH" not in shown


def test_the_status_says_what_a_resource_waits_for(pending: Site) -> None:
    async def begin(client: Client, owner: Provisioner) -> None:
        release = await client.releases.get("shop")
        await owner.begin(release.operation_id)
        await owner.report(release.operation_id, NodeReport(path="role", state=NodeState.INSTALLING))

    pending.work(begin)
    assert "waits for role (INSTALLING)" in pending.cli.ok("release", "status", "shop")


def test_the_status_as_json_has_release_operation_and_nodes(failed: Site) -> None:
    found = failed.cli.json("release", "status", "shop")
    assert found.keys() == {"release", "operation", "nodes"}
    assert (found["release"]["name"], found["operation"]["state"]) == ("shop", "FAILED")
    assert [(node["path"], node["state"]) for node in found["nodes"]] == [("role", "READY"), ("db", "FAILED")]
    assert found["nodes"][1]["steps"][1]["exit_code"] == 3


def test_the_history_lists_revisions(deployed: Site) -> None:
    header, row = deployed.cli.ok("release", "history", "shop").splitlines()
    assert header.split("  ")[0] == "REVISION"
    assert row.split()[:2] == ["1", "DEPLOYED"]
    assert row.endswith("  first")
    (found,) = deployed.cli.json("release", "history", "shop")
    assert (found["revision"], "manifest" in found) == (1, False)


def test_each_part_of_a_revision_can_be_had(deployed: Site) -> None:
    cli = deployed.cli
    assert cli.ok("release", "get", "variables", "shop") == "size: 3\n"
    assert cli.ok("release", "get", "files", "shop").startswith("shop.yaml: |")
    assert cli.json("release", "get", "files", "shop") == {"shop.yaml": MANIFEST}
    assert cli.json("release", "get", "manifest", "shop", "--revision", "1")["resources"]["db"]["type"] == "acme/db:1"
    assert cli.json("release", "get", "plan", "shop") == json.loads(PLAN.dump())
    assert [line.split() for line in cli.ok("release", "get", "plan", "shop").splitlines()] == [
        ["BATCH", "RESOURCE", "AFTER"],
        ["1", "role", "-"],
        ["2", "db", "role"],
    ]
    assert cli.json("release", "get", "all", "shop").keys() >= {"source", "manifest", "plan", "state"}
    assert "revision 9" in cli.fails("release", "get", "all", "shop", "--revision", "9")


def test_the_output_has_the_resource_before_each_line(failed: Site) -> None:
    cli = failed.cli
    assert cli.ok("release", "logs", "shop") == 'db   | creating\ndb   | role "bar" exists\n'
    assert cli.ok("release", "logs", "shop", "--no-prefix", "--resource", "db").splitlines()[0] == "creating"
    assert cli.ok("release", "logs", "shop", "--resource", "role") == ""
    stderr = cli.fails("release", "logs", "shop", "--resource", "dd")
    assert stderr.endswith("has no resource dd; it has role, db\n")
    first, _ = (json.loads(line) for line in cli.ok("release", "logs", "shop", "-o", "jsonl").splitlines())
    assert (first["path"], first["step_name"], first["text"]) == ("db", "create", "creating")


def test_the_output_of_an_operation_that_is_over_is_followed_to_its_end(failed: Site) -> None:
    operation_id = failed.cli.json("release", "status", "shop")["operation"]["id"]
    assert len(failed.cli.ok("release", "logs", "shop", "-f", "--operation", operation_id).splitlines()) == 2


def test_a_detached_operation_prints_its_id(cli: CommandLine, manifest: str) -> None:
    id_ = cli.ok("release", "apply", "shop", manifest, "--detach").strip()
    found = cli.json("release", "status", "shop")
    assert (found["operation"]["id"], found["operation"]["state"]) == (id_, "PENDING")
    assert cli.fails("release", "uninstall", "shop", "--detach").startswith("Error: release shop: operation")


def test_the_options_of_an_operation_go_along(cli: CommandLine, manifest: str) -> None:
    options = ("--timeout", "90s", "--readiness-timeout", "1500ms", "--on-failure", "continue", "--atomic")
    more = ("--parallel", "3", "--history-max", "2", "--description", "why", "--reason", "try", "-v")
    found = json.loads(cli.ok("release", "apply", "shop", manifest, *options, *more, "--detach", "-o", "json"))
    assert found["options"] == {
        "timeout_seconds": 90,
        "readiness_timeout_seconds": 2,
        "on_failure": "continue",
        "parallel": 3,
        "history_max": 2,
        "atomic": True,
        "verbose": True,
        "accept_lost": False,
        "move_engine": False,
        "wait": "ordered",
        "strict": False,
    }
    assert found["reason"] == "try"
    (request,) = cli.do(lambda server: server.requests("Apply"))
    assert request.description == "why"


def test_variables_are_merged_as_long_as_nothing_is_to_be_evaluated(
    cli: CommandLine, manifest: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("db: {size: 1, user: a}\nsize: 7\n")
    second.write_text('{"db": {"size": 1.50}}')
    files = ("--var-file", str(first), "--var-file", str(second))
    cli.ok("release", "apply", "shop", manifest, "--var", 'size="x y"', *files, "--detach")
    (request,) = cli.do(lambda server: server.requests("Apply"))
    assert json.loads(request.variables) == {"db": {"size": 1.5, "user": "a"}, "size": "x y"}
    assert "1.50" in request.variables
    assert not request.variable_files


def test_secret_variables_are_sent_with_their_names(cli: CommandLine, manifest: str, tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text('"correct horse"\r\n')
    given = ("--secret-var", "token=abc=123", "--secret-var-file", f"password={path}", "--var", "size=3")
    cli.ok("release", "apply", "shop", manifest, *given, "--detach")
    (request,) = cli.do(lambda server: server.requests("Apply"))
    assert json.loads(request.variables) == {"size": "3", "token": "abc=123", "password": '"correct horse"'}
    assert sorted(request.secret_variables) == ["password", "token"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--secret-var", "token=abc123", "--secret-var", "token=abc124"), "token is given twice"),
        (("--secret-var", "token=abc123", "--var", "token=x"), "token is among variables, too; give it once"),
        (("--secret-var-file", "token=/nowhere/at/all"), "/nowhere/at/all: No such file or directory"),
    ],
)
def test_secret_variables_that_cannot_be_had_are_told(
    cli: CommandLine, manifest: str, given: tuple[str, ...], told: str
) -> None:
    assert told in cli.fails("release", "apply", "shop", manifest, *given)


def test_files_of_variables_with_expressions_are_sent_as_they_are(
    cli: CommandLine, manifest: str, tmp_path: Path
) -> None:
    path = tmp_path / "vars.yaml"
    path.write_text('replicas: "{{ size * 2 }}"\n')
    cli.ok("release", "apply", "shop", manifest, "--var", "size={{ x }}", "--var-file", str(path), "--detach")
    (request,) = cli.do(lambda server: server.requests("Apply"))
    assert json.loads(request.variables) == {"size": "{{ x }}"}
    (sent,) = request.variable_files
    assert (sent.name, json.loads(sent.variables)) == (str(path), {"replicas": "{{ size * 2 }}"})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; a file of variables must be an object"),
        ("- a\n- b\n", "holds 2 values; a file of variables is one object"),
        ("just text\n", "a file of variables must be an object"),
        ("release: 3\n", "1:1: release: release means something else in expressions"),
        ("a: [1\n", "not YAML"),
    ],
)
def test_a_file_of_variables_that_is_none_is_told(
    cli: CommandLine, manifest: str, tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "vars.yaml"
    path.write_text(text)
    stderr = cli.fails("release", "apply", "shop", manifest, "--var-file", str(path))
    assert str(path) in stderr
    assert sentence in stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("Shop", "x.yaml"), '"Shop" is not a name; use a-z, 0-9 and -'),
        (("shop",), "Missing argument 'FILE|-...'"),
        (("shop", "x.yaml", "--var", "size"), "has no =; write it as NAME=VALUE"),
        (("shop", "x.yaml", "--var", "9=x"), "is not the name of a variable"),
        (("shop", "x.yaml", "--secret-var-file", "password"), "is not NAME=FILE"),
        (("shop", "x.yaml", "--timeout", "5"), "'5' has no unit"),
        (("shop", "x.yaml", "--on-failure", "retry"), "is not one of 'stop', 'continue'"),
        (("shop", "x.yaml", "-n", "a b"), '"a b" is not a name'),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(cli: CommandLine, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in cli.fails("release", "apply", *arguments, code=2)


def test_a_file_where_the_name_belongs_is_recognised(cli: CommandLine, manifest: str) -> None:
    stderr = cli.fails("release", "apply", manifest, code=2)
    assert "the name of the release comes before its files" in stderr


def test_a_file_that_is_not_there_is_told(cli: CommandLine) -> None:
    assert cli.fails("release", "apply", "shop", "no.yaml") == "Error: no.yaml: No such file or directory\n"


def test_a_file_that_is_given_twice_is_told(cli: CommandLine, manifest: str) -> None:
    assert cli.fails("release", "apply", "shop", manifest, manifest) == f"Error: {manifest} is given twice\n"


def test_mistakes_in_manifests_are_told_with_file_line_and_column(
    cli: CommandLine, manifest: str, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("resources:\n  web: {typ: x}\n")
    stderr = cli.fails("release", "apply", "shop", manifest, str(wrong))
    assert stderr.startswith(f"Error: {wrong}:2:")
    assert "resources.web.typ" in stderr
    wrong.write_text("resources: {web: [\n")
    assert f"{wrong}:2:1: " in cli.fails("release", "apply", "shop", str(wrong))
    wrong.write_text("apiVersion: v1\nkind: Pod\n")
    assert "is a Kubernetes Pod" in cli.fails("release", "apply", "shop", str(wrong))


def test_files_with_long_names_can_be_told_apart(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 20)
    folder.mkdir()
    paths = [folder / f"{name}.yaml" for name in ("a", "b")]
    for path in paths:
        path.write_text("{resources: {}}")
    cli.ok("release", "apply", "shop", *map(str, paths), "--detach")
    (request,) = cli.do(lambda server: server.requests("Apply"))
    assert [len(file.name) for file in request.files] == [60, 60]
    paths[1].write_text("{resource: {}}")
    assert cli.fails("release", "apply", "shop", *map(str, paths)).startswith(f"Error: {paths[1]}:1:2: resource: ")


def test_a_folder_stands_for_its_files(cli: CommandLine, manifest: str) -> None:
    cli.ok("release", "apply", "shop", str(Path(manifest).parent), "--detach")
    (request,) = cli.do(lambda server: server.requests("Apply"))
    assert [file.text for file in request.files] == [MANIFEST]


def test_a_manifest_may_come_from_standard_input(cli: CommandLine) -> None:
    cli.ok("release", "apply", "shop", "-", "--detach", stdin=MANIFEST)
    (request,) = cli.do(lambda server: server.requests("Apply"))
    assert [(file.name, file.text) for file in request.files] == [("standard input", MANIFEST)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "shop"),
        ("history", "shop"),
        ("get", "all", "shop"),
        ("logs", "shop"),
        ("watch", "shop"),
        ("uninstall", "shop"),
        ("rollback", "shop"),
        ("resume", "shop"),
        ("cancel", "shop"),
    ],
)
def test_a_release_that_does_not_exist_is_told(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    assert cli.fails("release", *arguments) == "Error: release shop does not exist\n"


def test_the_namespace_of_a_release_that_does_not_exist_is_told(deployed: Site) -> None:
    stderr = deployed.cli.fails("release", "status", "shop", "-n", "prod")
    assert stderr == "Error: release prod/shop does not exist\n"


def test_there_must_be_something_to_go_back_to(deployed: Site) -> None:
    stderr = deployed.cli.fails("release", "rollback", "shop")
    assert "there is no former revision to go back to" in stderr
    assert "revision 7" in deployed.cli.fails("release", "rollback", "shop", "7").lower()


def test_only_what_has_failed_is_resumed(deployed: Site) -> None:
    assert "only a FAILED one can be resumed" in deployed.cli.fails("release", "resume", "shop")


def test_another_operation_is_named_with_what_can_be_done(pending: Site, manifest: str) -> None:
    operation_id = pending.cli.json("release", "status", "shop")["operation"]["id"]
    stderr = pending.cli.fails("release", "apply", "shop", manifest)
    assert operation_id in stderr
    assert '"tinkwell release watch shop" shows it' in stderr
    assert "--wait-lock 60s waits for its end" in stderr


def test_another_operation_is_waited_for_as_long_as_wanted(pending: Site, manifest: str) -> None:
    operation_id = pending.cli.json("release", "status", "shop")["operation"]["id"]
    stderr = pending.cli.fails("release", "apply", "shop", manifest, "--wait-lock", "100ms")
    assert stderr.splitlines() == [
        f"Waiting for the end of operation {operation_id} of shop.",
        f"Error: operation {operation_id} has not ended within 0.1 s",
    ]


def test_what_nobody_has_taken_is_cancelled_at_once(pending: Site) -> None:
    operation_id = pending.cli.json("release", "status", "shop")["operation"]["id"]
    assert (
        pending.cli.ok("release", "cancel", "shop", "--reason", "no") == f"shop  cancelled  operation {operation_id}\n"
    )
    stderr = pending.cli.fails("release", "cancel", "shop")
    assert stderr == f"Error: shop has no operation to cancel; its last operation {operation_id} ended as CANCELLED\n"


def test_what_somebody_has_taken_gets_time_to_end(pending: Site) -> None:
    async def take(client: Client, owner: Provisioner) -> None:
        await owner.begin((await client.releases.get("shop")).operation_id)

    pending.work(take)
    assert pending.cli.ok("release", "cancel", "shop").strip().endswith("running steps have 30s to end")
    assert pending.cli.ok("release", "cancel", "shop", "--now").strip().endswith("running steps are killed")


def test_events_of_one_release_are_shown_with_any_option(deployed: Site) -> None:
    shown = deployed.cli.ok("release", "watch", "shop", "--until", "release_deployed").splitlines()
    assert len(shown) == 14
    assert shown[0].endswith("default/shop PENDING_INSTALL")
    assert shown[-1].endswith("default/shop DEPLOYED revision 1")
    assert "db ACTION create" in shown[9]
    found = json.loads(deployed.cli.ok("release", "watch", "--count", "1", "-o", "jsonl"))
    assert found["name"] == "release.created"


def test_events_are_not_chosen_by_namespace(cli: CommandLine) -> None:
    assert "--namespace goes with a NAME" in cli.fails("release", "watch", "-n", "prod", code=2)


def test_a_watch_of_what_is_over_tells_how_it_ended(deployed: Site) -> None:
    *_, last = deployed.cli.ok("release", "watch", "shop").splitlines()
    assert last.startswith("shop DEPLOYED as revision 1 in ")
    assert last.endswith(": 2 changed")


def test_a_watch_of_a_failure_shows_the_last_output_and_fails(failed: Site) -> None:
    result = failed.cli.run("release", "watch", "shop")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-2:] == ["db | creating", 'db | role "bar" exists']
    first, second = result.stderr.splitlines()
    assert first == "Error: db failed at action create (exit 3): exited with code 3"
    assert second.startswith("Error: shop FAILED in ")
    assert second.endswith(': 1 changed, 1 failed; "tinkwell release resume shop" goes on from db')
