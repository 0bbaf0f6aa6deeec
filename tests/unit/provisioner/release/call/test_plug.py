"""Plugs: what the operator grants, and what a manifest gets of it."""

import re
from pathlib import Path

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest.model import Plug
from tinkwell.core.release.protocol.answer import PlugRequest
from tinkwell.provisioner.release.call import plug


def _machine(folder: Path, *grants: str, namespace: str = "default") -> plug.Machine:
    return plug.Machine(map(plug.parse_grant, grants), namespace=namespace, folder=folder)


@pytest.mark.parametrize(
    ("text", "grant"),
    [
        ("kube=/etc/kube", plug.Grant(name="kube", path="/etc/kube")),
        ("kube=/etc/kube:ro", plug.Grant(name="kube", path="/etc/kube", read_only=True)),
        ("d=/d,ns=a,ns=b", plug.Grant(name="d", path="/d", namespaces=frozenset("ab"))),
    ],
)
def test_a_grant_is_read(text: str, grant: plug.Grant) -> None:
    assert plug.parse_grant(text) == grant


def test_an_expression_for_images_may_have_commas() -> None:
    grant = plug.parse_grant("d=/d:ro,ns=a,images=registry/x:[0-9]{1,3}")
    assert grant.allows_image("registry/x:12")
    assert not grant.allows_image("registry/x:1234")
    assert not grant.allows_image("elsewhere/registry/x:12")
    assert (grant.read_only, grant.namespaces) == (True, frozenset({"a"}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kube",
        "kube=",
        "=/x",
        "1x=/x",
        "k=etc",
        "k=/a/../b",
        "k=/a/",
        "k=//a",
        "k=/a,who=me",
        "k=/a,ns=",
        "k=/a,images=(",
    ],
)
def test_what_is_no_grant_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(errors.InvalidField, match=r"plug: .*(write it as|regular expression)"):
        plug.parse_grant(text)


def test_a_relative_path_is_a_folder_of_the_release(tmp_path: Path) -> None:
    found = _machine(tmp_path / "releases" / "id").find("data", "www", read_only=True)
    assert found == plug.Place(path=str(tmp_path / "releases" / "id" / "www"), read_only=True)
    assert Path(found.path).is_dir()


@pytest.mark.parametrize("path", ["..", ".", "", "a/b", "../x", ".hidden", "a\nb", "~root", "x" * 129])
def test_a_relative_path_is_one_name(tmp_path: Path, path: str) -> None:
    with pytest.raises(errors.InvalidField, match=r"plugs\.data\.path"):
        _machine(tmp_path / "id").find("data", path, read_only=False)
    assert not (tmp_path / "id").exists()


def test_a_link_in_the_folder_of_a_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "www").symlink_to("/etc")
    with pytest.raises(errors.InvalidField, match=r"plugs\.data\.path: .* is not a folder"):
        _machine(tmp_path).find("data", "www", read_only=False)


def test_a_granted_path_is_found_and_is_as_read_only_as_both_sides_say(tmp_path: Path) -> None:
    places = _machine(tmp_path / "id", f"d={tmp_path}", f"r={tmp_path}:ro")
    assert not places.find("d", str(tmp_path), read_only=False).read_only
    assert places.find("d", str(tmp_path), read_only=True).read_only
    assert places.find("r", str(tmp_path), read_only=False).read_only


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("x", "/", 'plugs.x: "/" is not granted here; .* --plug x=/'),
        ("x", "{}", "is not granted here under this name, but as n"),
        ("d", "/proc", "is not granted here under this name, but {} is"),
        ("n", "{}", 'the namespace "default" may not use {} here'),
        ("gone", "{}/gone", r"plugs\.gone\.path: .* No such file"),
    ],
)
def test_what_is_not_granted_is_refused(tmp_path: Path, name: str, path: str, message: str) -> None:
    places = _machine(tmp_path / "id", f"n={tmp_path},ns=prod", f"d={tmp_path}", f"gone={tmp_path}/gone")
    with pytest.raises(errors.InvalidField, match=message.format(re.escape(str(tmp_path)))):
        places.find(name, path.format(tmp_path), read_only=False)


def test_a_link_on_the_way_to_a_granted_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "inner").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    path = f"{tmp_path}/link/inner"
    with pytest.raises(errors.InvalidField, match=r"leads over a link to .*/real/inner"):
        _machine(tmp_path, f"d={path}").find("d", path, read_only=False)


def test_images_are_looked_at_by_the_grant_alone(tmp_path: Path) -> None:
    places = _machine(tmp_path / "id", f"d={tmp_path},images=good/.*")
    found = places.find("d", str(tmp_path), read_only=False)
    assert found.allows_image("good/x:1")
    assert not found.allows_image("bad/good/x:1")
    assert places.find("own", "x", read_only=False).allows_image("anything")


def test_a_link_that_has_taken_the_place_of_a_folder_is_not_mounted(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    machine = _machine(tmp_path / "id", f"d={tmp_path}/inner")
    plugs = plug.Plugs(machine, {"d": Plug(path=f"{tmp_path}/inner"), "own": Plug(path="www")})
    requests = [PlugRequest(name=name, container_path=f"/{name}") for name in ("d", "own")]
    granted = plugs.grant("web", "acme/web:1", requests)
    assert set(plugs.mounts(granted.grants)) == {"d", "own"}
    for folder in (tmp_path / "inner", tmp_path / "id" / "www"):
        folder.rename(folder.with_name("aside"))
        folder.symlink_to("/etc")
    for grant in granted.grants:
        with pytest.raises(errors.InvalidField, match=r"leads over a link|is not a folder"):
            plugs.mounts([grant])


def test_an_image_that_may_not_use_an_optional_plug_goes_without_it(tmp_path: Path) -> None:
    plugs = plug.Plugs(_machine(tmp_path / "id", f"d={tmp_path},images=good/.*"), {"d": Plug(path=str(tmp_path))})
    granted = plugs.grant("web", "bad/x:1", [PlugRequest(name="d", container_path="/d", optional=True)])
    assert granted.grants == ()
    assert granted.warnings == ('web: the plug d may not be used by the image "bad/x:1" here; web goes without it',)
    with pytest.raises(errors.InvalidField, match=r"plugs\.d: is needed by web, but may not be used"):
        plugs.grant("web", "bad/x:1", [PlugRequest(name="d", container_path="/d")])
