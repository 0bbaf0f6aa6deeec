"""`tinkwell chart package`, `verify` and `explain`."""

import hashlib
from pathlib import Path

from unit.provisioner.chart.conftest import EXAMPLES, HELM_CHARTS, CommandLine

from support import signing
from tinkwell.core.release.chart.file import archive

SHOP = str(EXAMPLES / "shop")


def test_an_archive_is_named_after_the_chart_and_told_with_its_digest(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "deeper"
    path, digest = cli.ok("package", SHOP, "-d", str(folder)).split()
    assert path == str(folder / "shop-1.0.0.tgz")
    data = Path(path).read_bytes()
    assert digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert "charts/store/Chart.yaml" in archive.unpack(data)
    assert cli.ok("dag", path) == cli.ok("dag", SHOP)


def test_to_pack_again_gives_the_same_digest(cli: CommandLine, tmp_path: Path) -> None:
    first = cli.ok("package", SHOP, "-d", str(tmp_path / "a")).split()[1]
    assert cli.ok("package", str(tmp_path / "a" / "shop-1.0.0.tgz"), "-d", str(tmp_path / "b")).split()[1] == first


def test_a_broken_chart_is_not_packed(cli: CommandLine, tmp_path: Path) -> None:
    chart = cli.chart({"Chart.yaml": "apiVersion: v2\nname: shop\n"})
    stderr = cli.fails("package", chart, "-d", str(tmp_path / "out"))
    assert stderr == f"Error: {chart}/Chart.yaml:1:1: version: must be given\n"
    assert not (tmp_path / "out").exists()


def test_a_signed_archive_is_verified(cli: CommandLine, tmp_path: Path) -> None:
    path, digest = cli.ok("package", SHOP, "-d", str(tmp_path)).split()
    with signing.signer() as signer:
        signer.sign(Path(path), signing.statement("shop-1.0.0.tgz", Path(path).read_bytes()))
        shown = cli.ok("verify", path, "--keyring", str(signer.keyring)).splitlines()
    assert shown[0] == f"{path}  {digest}"
    assert shown[1].startswith("signed by Ada <ada@example.org>, key ")


def test_an_archive_without_a_signature_is_not_verified(cli: CommandLine, tmp_path: Path) -> None:
    path = cli.ok("package", SHOP, "-d", str(tmp_path)).split()[0]
    (tmp_path / "ring.gpg").touch()
    assert "has no signature" in cli.fails("verify", path, "--keyring", str(tmp_path / "ring.gpg"))
    assert "Missing option '--keyring'" in cli.fails("verify", path, code=2)


def test_values_are_told_with_their_sources(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "prod.yaml").write_text("# for all\nweb:\n  host: a\n")
    given = ("-f", str(tmp_path / "prod.yaml"), "--set", "web.host=b", "--set-secret", "store.password=correct horse")
    found = {each["key"]: each for each in cli.json("explain", SHOP, "values", *given)}
    assert found["owner"] == {"key": "owner", "value": "Ada", "from": "values.yaml:1", "before": []}
    assert found["web.host"]["value"] == "b"
    assert found["web.host"]["from"] == "--set"
    assert found["web.host"]["before"] == [f"{tmp_path}/prod.yaml:3", "values.yaml:3", "charts/web/values.yaml:1"]
    assert found["store.port"]["from"] == "charts/store/values.yaml:1"
    assert (found["store.password"]["value"], found["store.password"]["from"]) == (None, "--set-secret")
    text = cli.ok("explain", SHOP, "values", *given)
    assert text.splitlines()[0].split() == ["KEY", "VALUE", "FROM", "BEFORE"]
    assert "•••" in text
    assert "horse" not in text


def test_dependencies_are_told_with_what_decided(cli: CommandLine) -> None:
    blog = str(HELM_CHARTS / "blog")
    found = {each["path"]: each for each in cli.json("explain", blog, "dependencies", "--set", "cache.enabled=true")}
    assert found["blog.database"]["why"] == "condition database.enabled is true"
    assert found["blog.database"]["from"] == ["values.yaml:2"]
    assert found["blog.cache"]["enabled"] is True
    assert found["blog.cache"]["from"][0] == "--set"
    text = cli.ok("explain", blog, "dependencies")
    assert "blog.cache     disabled  condition cache.enabled is false" in text


def test_what_subcharts_wait_for_is_told(cli: CommandLine) -> None:
    found = {each["path"]: each["after"] for each in cli.json("explain", str(EXAMPLES / "foo"), "dependencies")}
    assert found == {"foo.nginx": [], "foo.rabbitmq": [], "foo.bar": ["nginx", "rabbitmq"], "foo.orphaned": []}
