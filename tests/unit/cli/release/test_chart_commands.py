"""The commands that make releases of charts, and what can be had of these."""

import json
from pathlib import Path

import pytest
from unit.cli.release.conftest import Site

from support import signing
from support.command_line import CommandLine
from support.release_provisioner import Provisioner
from tinkwell.cli.release import chart as release_chart
from tinkwell.cli.release import commands as release_commands
from tinkwell.client import Client, Revision
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.kinds import PlanKind
from tinkwell.core.release.plan import Plan, PlanNode

CHART = str(Path(__file__).parents[4] / "examples" / "charts" / "shop")
OPTIONS = ("--detach", "-o", "json")
NOTES = "Open the shop at port 80.\x1b[2J\nBye.\n"
RENDERED = {
    "plugs": {},
    "resources": {},
    "outputs": {},
    "charts": {
        "shop": {"name": "shop", "version": "1.0.0", "batches": [["store", "shop"]], "edges": [], "notes": NOTES},
        "shop.store": {"name": "store", "version": "1.0.0", "batches": [["store"]], "edges": [], "notes": "of it"},
    },
}


def test_an_installation_sends_the_chart_and_its_values(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "prod.yaml").write_text("owner: Bo\nweb: {host: a}\n")
    (tmp_path / "password").write_text("correct horse\n")
    given = ("-f", str(tmp_path / "prod.yaml"), "--set", "web.host=b,store.port=1", "--set-string", "tag=1")
    secret = ("--set-secret-file", f"store.password={tmp_path / 'password'}", "--set-secret", "web.key=abc,def")
    printed = cli.ok("release", "install", "shop", CHART, *given, *secret, "--description", "why", *OPTIONS)
    assert json.loads(printed)["kind"] == "INSTALL"
    request = cli.do(lambda server: server.requests("Install"))[-1]
    assert json.loads(request.values) == {
        "owner": "Bo",
        "web": {"host": "b", "key": "abc,def"},
        "store": {"port": 1, "password": "correct horse"},
        "tag": "1",
    }
    assert list(request.secret_values) == ["/web/key", "/store/password"]
    assert (request.name, request.description) == ("shop", "why")
    (uploaded,) = cli.do(lambda server: server.requests("UploadChart"))
    assert request.chart.startswith("sha256:")
    assert uploaded is not None


def test_the_options_of_charts_go_along(cli: CommandLine) -> None:
    options = ("--wait", "eager", "--strict", "--atomic", "--timeout", "90s")
    found = json.loads(cli.ok("release", "install", "shop", CHART, *options, *OPTIONS))["options"]
    assert (found["wait"], found["strict"], found["atomic"], found["timeout_seconds"]) == ("eager", True, True, 90)
    found = json.loads(cli.ok("release", "install", "other", CHART, *OPTIONS))["options"]
    assert (found["wait"], found["strict"]) == ("ordered", False)


@pytest.mark.parametrize(
    "line",
    [
        ("--wait", "shop", CHART),
        ("shop", CHART, "--wait"),
        ("shop", "--wait", CHART),
        ("--wait=ordered", "shop", CHART),
        ("--wait", "--", "shop", CHART),
        ("--wait", "--strict", "shop", CHART),
    ],
)
def test_to_wait_without_saying_how_is_to_wait_in_order(cli: CommandLine, line: tuple[str, ...]) -> None:
    found = json.loads(cli.ok("release", "install", *OPTIONS, *line))
    assert (found["release_name"], found["options"]["wait"]) == ("shop", "ordered")


def test_an_upgrade_says_what_becomes_of_former_values(cli: CommandLine) -> None:
    cli.ok("release", "upgrade", "shop", CHART, "--install", *OPTIONS)
    (request,) = cli.do(lambda server: server.requests("Upgrade")[-1:])
    assert (request.install, request.reset_values, request.reuse_values) == (True, False, False)
    stderr = cli.fails("release", "upgrade", "shop", CHART, "--reset-values", "--reuse-values", code=2)
    assert "--reset-values and --reuse-values exclude each other" in stderr
    assert "release none does not exist" in cli.fails("release", "upgrade", "none", CHART)


def test_a_chart_may_be_an_archive_or_a_digest(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "tiny.tgz"
    data = archive.pack("tiny", {"Chart.yaml": b"apiVersion: v2\nname: tiny\nversion: 1.0.0\n"})
    path.write_bytes(data)
    assert cli.ok("chart", "push", str(path)) == f"tiny 1.0.0  {archive.digest(data)}\n"
    cli.ok("release", "install", "one", str(path), *OPTIONS)
    cli.ok("release", "install", "two", archive.digest(data), *OPTIONS)
    assert [each.chart for each in cli.do(lambda server: server.requests("Install"))] == [archive.digest(data)] * 2
    stderr = cli.fails("release", "install", "three", f"sha256:{'0' * 64}")
    assert "this server does not have it" in stderr


def test_what_is_wrong_with_a_chart_is_told_with_its_file(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: shop\n")
    assert f"Error: {tmp_path}/Chart.yaml:1:1: version: must be given\n" in cli.fails(
        "release", "install", "shop", str(tmp_path)
    )
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: web}]\n")
    assert f"Error: {tmp_path}/Chart.yaml" in cli.fails("release", "install", "shop", str(tmp_path))
    (tmp_path / "Chart.yaml").unlink()
    assert "is not the folder of a chart" in cli.fails("release", "install", "shop", str(tmp_path))
    assert "there is no such chart; name a folder" in cli.fails("release", "install", "shop", "./nowhere")


def test_a_chart_that_is_applied_is_told_from_manifests(cli: CommandLine) -> None:
    found = cli.fails("release", "apply", "shop", CHART)
    assert found == f'Error: {CHART} is a chart; "tinkwell release install NAME {CHART}" makes a release of it\n'


def test_a_way_to_wait_that_there_is_none_of_is_told_as_such(cli: CommandLine) -> None:
    for line in (("--wait", "watcher"), ("--wait=watcher",)):
        assert "ordered" in cli.fails("release", "install", "shop", CHART, *line, code=2)


def test_what_is_wrong_with_values_is_told_with_their_flag(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "prod.yaml").write_text("a: 1\na: 2\n")
    install = ("release", "install", "shop", CHART)
    assert f"Error: {tmp_path}/prod.yaml:2:1: the key a occurs twice\n" == cli.fails(
        *install, "-f", str(tmp_path / "prod.yaml")
    )
    assert cli.fails(*install, "--set", "a").startswith("Error: --set a: ")
    assert cli.fails(*install, "--set-file", "a=none.txt") == "Error: none.txt: No such file or directory\n"
    assert "store" in cli.fails(*install, "--set", "store=1")


def test_a_signature_is_checked_before_anything_is_sent(cli: CommandLine, tmp_path: Path) -> None:
    install = ("release", "install", "shop", CHART)
    assert "--verify and --keyring FILE go together" in cli.fails(*install, "--verify", code=2)
    assert "--verify and --keyring FILE go together" in cli.fails(*install, "--keyring", "x", code=2)
    (tmp_path / "ring.gpg").touch()
    stderr = cli.fails(*install, "--verify", "--keyring", str(tmp_path / "ring.gpg"))
    assert "is a folder; only an archive can have a signature" in stderr
    assert not cli.do(lambda server: server.requests("UploadChart"))


def test_a_signed_archive_is_sent_as_it_was_verified(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "tiny-1.0.0.tgz"
    path.write_bytes(archive.pack("tiny", {"Chart.yaml": b"apiVersion: v2\nname: tiny\nversion: 1.0.0\n"}))
    with signing.signer() as signer:
        signer.sign(path, signing.statement(path.name, path.read_bytes()))
        verified = ("--verify", "--keyring", str(signer.keyring))
        result = cli.run("release", "install", "tiny", str(path), *verified, *OPTIONS)
    assert result.exit_code == 0, result.output
    assert "is signed by Ada <ada@example.org>, key " in result.stderr
    assert [each.chart for each in cli.do(lambda server: server.requests("Install"))][-1:] == [
        archive.digest(path.read_bytes())
    ]


@pytest.fixture
def installed(site: Site) -> Site:
    """The release shop is DEPLOYED, and made of a chart."""
    site.cli.ok("release", "install", "shop", CHART, "--set", "owner=Bo", *OPTIONS)

    async def deploy(client: Client, owner: Provisioner) -> None:
        operation_id = (await client.releases.get("shop")).operation_id
        await client.releases.acquire(operation_id, owner.token)
        await owner.submit(operation_id, Plan(()), manifest=json.dumps(RENDERED))
        await owner.finish(operation_id)

    site.work(deploy)
    return site


def test_values_are_had_as_they_were_given_and_with_those_of_the_chart(installed: Site) -> None:
    cli = installed.cli
    assert cli.ok("release", "get", "values", "shop") == "owner: Bo\n"
    found = cli.json("release", "get", "values", "shop", "--all")
    assert (found["owner"], found["web"]["host"], found["store"]["port"]) == ("Bo", "shop.example.org", 5432)
    assert "--all is for values" in cli.fails("release", "get", "notes", "shop", "--all", code=2)


def test_notes_are_those_of_the_root_and_move_no_cursor(installed: Site) -> None:
    assert installed.cli.ok("release", "get", "notes", "shop") == "Open the shop at port 80.\\x1b[2J\nBye.\n"
    assert installed.cli.json("release", "get", "notes", "shop").endswith("Bye.")


def test_notes_with_a_secret_are_not_shown() -> None:
    charts = {"shop": {"notes": None}, "shop.store": {"notes": "of it"}}
    assert release_chart.notes(Revision("r1", manifest={"charts": charts})) == "•••"
    assert release_chart.notes(Revision("r1", manifest={"charts": {"shop": {}}})) == ""
    assert release_chart.notes(Revision("r1")) == ""


def test_the_plan_is_shown_without_what_is_in_plans_alone() -> None:
    first = PlanNode(path="a/begin", kind=PlanKind.GATE)
    store = PlanNode(path="a.b", kind=PlanKind.CHART, after=("a/begin",), begin="a/begin")
    barrier = PlanNode(path="a@1", kind=PlanKind.BARRIER, after=("a.b",))
    second = PlanNode(path="a.c/begin", kind=PlanKind.GATE, after=("a/begin", "a@1"))
    page = PlanNode(path="a.c:page", after=("a.c/begin",))
    web = PlanNode(path="a.c", kind=PlanKind.CHART, batch=2, after=("a.c/begin", "a.c:page"), begin="a.c/begin")
    root = PlanNode(path="a", kind=PlanKind.CHART, after=("a/begin", "a.b", "a.c"), begin="a/begin")
    plan = Plan((first, store, barrier, second, page, web, root))
    found = release_commands.plan_rows(json.loads(plan.dump()))
    assert found == [("1", "a.b", ""), ("1", "a.c:page", "a.b"), ("2", "a.c", "a.b"), ("1", "a", "")]
    assert release_commands.plan_rows(None) == []


def test_before_its_first_plan_a_release_has_no_revision(cli: CommandLine) -> None:
    cli.ok("release", "install", "new", CHART, "--detach")
    assert cli.fails("release", "get", "plan", "new") == "Error: revision of release new does not exist\n"


def test_releases_are_listed_with_their_charts(installed: Site) -> None:
    header, row = installed.cli.ok("release", "list").splitlines()
    assert header.split()[4] == "CHART"
    assert row.split()[4] == "shop-1.0.0"


def test_words_that_stand_for_a_way_to_wait_are_taken_as_such() -> None:
    written_out = release_chart.written_out
    assert written_out(["--wait", "none", "a"]) == ["--wait", "none", "a"]
    assert written_out(["--wait", "a"]) == ["--wait=ordered", "a"]
    assert written_out(["--wait"]) == ["--wait=ordered"]
    assert written_out(["a", "--", "--wait"]) == ["a", "--", "--wait"]


def test_an_explanation_says_what_has_enabled_a_subchart_and_where_values_are_from(installed: Site) -> None:
    cli = installed.cli
    said = cli.ok("release", "explain", "shop", "shop.store")
    assert "shop.store is enabled: " in said
    header, *rows = cli.ok("release", "explain", "shop", "values").splitlines()
    assert header.split() == ["KEY", "VALUE", "FROM", "BEFORE"]
    (owner,) = (row.split() for row in rows if row.startswith("owner"))
    assert owner[0] == "owner"
    assert owner[1].strip('"') == "Bo"
    (port,) = cli.ok("release", "explain", "shop", "values", "store.port").splitlines()[1:]
    assert port.split()[:2] == ["store.port", "5432"]
    found = cli.json("release", "explain", "shop", "values", "store.port")
    assert [each["key"] for each in found["values"]] == ["store.port"]
