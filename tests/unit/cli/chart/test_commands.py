"""The commands for the charts that a server has."""

from pathlib import Path

from support.command_line import CommandLine
from tinkwell.client.release import package
from tinkwell.core.release.chart.file import archive

CHARTS = Path(__file__).parents[4] / "examples" / "charts"


def write(folder: Path, text: str) -> str:
    (folder / "Chart.yaml").write_text(text)
    return str(folder)


def test_a_chart_is_pushed_and_known_by_its_digest(cli: CommandLine) -> None:
    digest = archive.digest(package.pack(CHARTS / "shop"))
    assert cli.ok("chart", "push", str(CHARTS / "shop")) == f"shop 1.0.0  {digest}\n"
    found = cli.json("chart", "push", str(CHARTS / "shop"))
    assert (found["digest"], found["metadata"]["appVersion"]) == (digest, "2026")


def test_charts_are_listed_by_name(cli: CommandLine) -> None:
    for name in ("shop", "foo"):
        cli.ok("chart", "push", str(CHARTS / name))
    header, *rows = cli.ok("chart", "list").splitlines()
    assert header.split("  ")[0] == "NAME"
    assert [row.split()[:2] for row in rows] == [["foo", "1.0.0"], ["shop", "1.0.0"]]
    assert rows[1].split()[2] == "2026"
    assert rows[0].split()[-1].startswith("sha256:")
    assert [each["name"] for each in cli.json("chart", "list", "--name", "shop")] == ["shop"]
    assert cli.json("chart", "list", "--name", "none") == []


def test_warnings_do_not_mix_with_the_digest(cli: CommandLine, tmp_path: Path) -> None:
    chart = write(tmp_path, "apiVersion: v2\nname: shop\nversion: 1.0.0\nmaintainer: Ada\n")
    result = cli.run("chart", "push", chart)
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: Chart.yaml: there is no field maintainer")
    assert result.stdout.startswith("shop 1.0.0  sha256:")


def test_what_is_wrong_is_told_by_its_file(cli: CommandLine, tmp_path: Path) -> None:
    chart = write(tmp_path, "apiVersion: v1\nname: shop\nversion: 1.0.0\n")
    assert cli.fails("chart", "push", chart).startswith(
        f"Error: {chart}/Chart.yaml:1:1: apiVersion: v1 is that of Helm 2"
    )
    (tmp_path / "Chart.yaml").unlink()
    assert "is not the folder of a chart" in cli.fails("chart", "push", str(tmp_path))
    assert "does not exist" in cli.fails("chart", "push", "./nowhere", code=2)
    (tmp_path / "a.tgz").write_bytes(b"no archive")
    assert f"Error: {tmp_path}/a.tgz: archive: is not gzip" in cli.fails("chart", "push", str(tmp_path / "a.tgz"))
