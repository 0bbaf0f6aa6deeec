"""The image for folders."""

from pathlib import Path
from typing import Any

from support.release_stack import Stack
from tinkwell.client import State


def mode(path: Path) -> int:
    """Who may do what with a folder."""
    return path.stat().st_mode & 0o777


def is_there(path: Path) -> bool:
    """Whether there is anything at a path."""
    return path.exists()


def fill(path: Path) -> Path:
    """Put something into a folder."""
    (path / "letter").touch()
    return path / "letter"


def replace(path: Path) -> None:
    """Put a file where the folder is."""
    path.rmdir()
    path.touch()


def manifest(**config: Any) -> dict[str, Any]:
    resource = {"type": "tinkwell-resource/directory:v1", "config": {"name": "inbox", **config}}
    return {"plugs": {"files": {"path": "files"}}, "resources": {"box": resource}}


async def test_a_folder_is_made_left_alone_changed_and_removed(stack: Stack) -> None:
    made = await stack.apply("d", manifest(mode="0750"))
    assert (made.operation.state, made.actions("box")) == (State.SUCCEEDED, ["make"])
    found = await stack.state("d", "box")
    path = Path(found["path"])
    assert (found["name"], found["mode"], mode(path)) == ("inbox", "0750", 0o750)
    assert (await stack.apply("d", manifest(mode="0750"))).became == {"box": "unchanged"}
    assert (await stack.apply("d", manifest(mode="0700"))).actions("box") == ["make"]
    assert mode(path) == 0o700
    assert (await stack.uninstall("d")).became == {"box": "removed"}
    assert not is_there(path)


async def test_what_is_in_a_folder_is_removed_only_where_the_config_says_so(stack: Stack) -> None:
    await stack.apply("d", manifest())
    path = Path((await stack.state("d", "box"))["path"])
    letter = fill(path)
    kept = await stack.uninstall("d")
    assert kept.operation.state is State.FAILED
    assert "empty it, or set purge: true" in "".join(await stack.printed(kept.operation, "box"))
    assert is_there(letter)
    await stack.apply("d", manifest(purge=True))
    assert (await stack.uninstall("d")).became == {"box": "removed"}
    assert not is_there(path)


async def test_a_file_in_its_place_is_told(stack: Stack) -> None:
    await stack.apply("d", manifest())
    path = Path((await stack.state("d", "box"))["path"])
    replace(path)
    failed = await stack.apply("d", manifest())
    assert failed.operation.state is State.FAILED
    assert "is there, and is no folder" in "".join(await stack.printed(failed.operation, "box"))
