"""Folders of charts are packed: the same files give the same archive, and nothing else comes along."""

import os
from pathlib import Path

import pytest

from tinkwell.client.release import package
from tinkwell.client.release.ignore import Rules
from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive

CHART = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def packed(folder: Path) -> dict[str, bytes]:
    return archive.unpack(package.pack(folder))


def test_the_same_files_give_the_same_archive_in_any_folder(tmp_path: Path) -> None:
    files = {"Chart.yaml": CHART, "templates/a.yaml": "{}", "charts/b/Chart.yaml": CHART}
    first = write(tmp_path / "one", files)
    second = write(tmp_path / "two" / "deeper", dict(reversed(files.items())))
    (second / "Chart.yaml").chmod(0o600)
    (second / "empty").mkdir()
    assert package.pack(first) == package.pack(second)
    assert packed(first) == {path: text.encode() for path, text in files.items()}


def test_an_archive_is_read_as_it_is(tmp_path: Path) -> None:
    folder = write(tmp_path / "shop", {"Chart.yaml": CHART})
    data = package.read(folder)
    (tmp_path / "shop.tgz").write_bytes(data)
    assert package.read(tmp_path / "shop.tgz") == data
    (tmp_path / "large.tgz").write_bytes(bytes(archive.MAX_PACKED_BYTES + 1))
    with pytest.raises(errors.ChartInvalid, match="at most 8,388,608 are allowed"):
        package.read(tmp_path / "large.tgz")


def test_what_is_ignored_stays_out(tmp_path: Path) -> None:
    ignored = "# notes\n*.bak\n/secret.txt\ndocs/\n!docs/\ndrafts/\ncharts/*/README.md\n"
    folder = write(
        tmp_path,
        {
            "Chart.yaml": CHART,
            ".helmignore": ignored,
            "a.bak": "",
            "templates/b.bak": "",
            "templates/.swp": "",
            "secret.txt": "",
            "files/secret.txt": "",
            "docs/a.md": "",
            "drafts/a.md": "",
            "charts/b/README.md": "",
            "charts/b/Chart.yaml": CHART,
            ".git/HEAD": "",
        },
    )
    assert sorted(packed(folder)) == [
        ".helmignore",
        "Chart.yaml",
        "charts/b/Chart.yaml",
        "docs/a.md",
        "files/secret.txt",
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "is_folder", "is_ignored"),
    [
        ("*.txt", "a/b.txt", False, True),
        ("*.txt", "a.txt/b", False, False),
        ("a/*.txt", "a/b.txt", False, True),
        ("a/*.txt", "c/a/b.txt", False, False),
        ("/b.txt", "a/b.txt", False, False),
        ("b.tx?", "a/b.txt", False, True),
        ("[ab].txt", "a/b.txt", False, True),
        ("[^ab].txt", "a/b.txt", False, False),
        ("[^ab].txt", "a/c.txt", False, True),
        ("a/", "a", False, False),
        ("a/", "a", True, True),
        ("A.TXT", "a.txt", False, False),
    ],
)
def test_patterns_match_names_and_paths(pattern: str, path: str, is_folder: bool, is_ignored: bool) -> None:
    assert Rules.parse("", pattern).ignores(path, is_folder=is_folder) is is_ignored


def test_a_pattern_over_levels_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, {"Chart.yaml": CHART, ".helmignore": "a\ndocs/**/x\n"})
    with pytest.raises(errors.ChartInvalid, match=r"\.helmignore: line 2, column 1: \*\* means nothing here"):
        package.pack(folder)


def dependency(name: str, repository: str) -> str:
    return f"dependencies:\n  - name: {name}\n    version: ^1.0.0\n    repository: {repository}\n"


def test_dependencies_on_this_machine_are_vendored_with_theirs(tmp_path: Path) -> None:
    write(
        tmp_path / "store",
        {"Chart.yaml": CHART + dependency("disk", "file://../disk"), "x.bak": "", ".helmignore": "*.bak"},
    )
    write(tmp_path / "disk", {"Chart.yaml": CHART})
    shop = write(
        tmp_path / "shop",
        {
            "Chart.yaml": CHART + dependency("store", "file://../store"),
            "charts/store/old.txt": "",
            "charts/store-0.9.0.tgz": "",
            "charts/store-front-1.0.0.tgz": "",
            "charts/web/Chart.yaml": CHART,
        },
    )
    assert sorted(packed(shop)) == [
        "Chart.yaml",
        "charts/store-front-1.0.0.tgz",
        "charts/store/.helmignore",
        "charts/store/Chart.yaml",
        "charts/store/charts/disk/Chart.yaml",
        "charts/web/Chart.yaml",
    ]


def test_an_archive_of_this_machine_is_vendored_as_it_is(tmp_path: Path) -> None:
    store = package.pack(write(tmp_path / "store", {"Chart.yaml": CHART}))
    (tmp_path / "store-1.0.0.tgz").write_bytes(store)
    shop = write(tmp_path / "shop", {"Chart.yaml": CHART + dependency("store", "file://../store-1.0.0.tgz")})
    assert packed(shop)["charts/store.tgz"] == store


def test_two_versions_of_a_dependency_are_both_vendored(tmp_path: Path) -> None:
    entries = "".join(f"  - {{name: store, alias: s{n}, repository: file://../v{n % 2}}}\n" for n in range(3))
    write(tmp_path / "v0", {"Chart.yaml": CHART})
    write(tmp_path / "v1", {"Chart.yaml": CHART.replace("1.0.0", "2.0.0")})
    files = packed(write(tmp_path / "shop", {"Chart.yaml": f"{CHART}dependencies:\n{entries}"}))
    assert {path: files[path][-6:] for path in files if path.startswith("charts/")} == {
        "charts/store/Chart.yaml": b"1.0.0\n",
        "charts/store-1/Chart.yaml": b"2.0.0\n",
    }


@pytest.mark.parametrize("vendored", ["charts/store/Chart.yaml", "charts/store-1.0.0.tgz", "charts/store.tgz"])
def test_what_is_vendored_stays_where_its_folder_is_gone(tmp_path: Path, vendored: str) -> None:
    folder = write(tmp_path, {"Chart.yaml": CHART + dependency("store", "file://../store"), vendored: CHART})
    assert sorted(packed(folder)) == ["Chart.yaml", vendored]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            CHART + dependency("store", "file://../none"),
            'Chart.yaml.dependencies: "store" has the repository "file://../none", where there is no chart',
        ),
        (CHART + dependency("shop", "file://."), "the chart in .* is a dependency of itself"),
        (CHART + dependency("../up", "file://."), "is no name of a chart"),
        ("name: [", "Chart.yaml: line 1, column 8: not YAML"),
    ],
)
def test_what_cannot_be_vendored_is_told(tmp_path: Path, metadata: str, message: str) -> None:
    with pytest.raises(errors.ChartInvalid, match=message):
        package.pack(write(tmp_path, {"Chart.yaml": metadata}))


def test_a_folder_without_metadata_is_no_chart(tmp_path: Path) -> None:
    with pytest.raises(errors.ChartInvalid, match=r"Chart\.yaml: there is none; .* is not the folder of a chart"):
        package.read(tmp_path)


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, {"Chart.yaml": CHART})
    (folder / "passwd").symlink_to("/etc/passwd")
    with pytest.raises(errors.ChartInvalid, match="passwd: is a link; put the file itself in its place"):
        package.pack(folder)
    (folder / "passwd").unlink()
    (folder / "up").symlink_to("..", target_is_directory=True)
    with pytest.raises(errors.ChartInvalid, match="up: is a link"):
        package.pack(folder)
    (folder / "up").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(errors.ChartInvalid, match="pipe: is no plain file"):
        package.pack(folder)


def test_large_folders_are_refused_before_they_are_read(tmp_path: Path) -> None:
    folder = write(tmp_path, {"Chart.yaml": CHART})
    with (folder / "disk.img").open("wb") as file:
        file.truncate(archive.MAX_UNPACKED_BYTES + 1)
    with pytest.raises(errors.ChartInvalid, match=r"disk\.img: unpacks to more than"):
        package.pack(folder)
