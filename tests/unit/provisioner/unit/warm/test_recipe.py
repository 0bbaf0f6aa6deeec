"""A dispatch that is known is interpreted as the shell does, and any other one is left to it."""

import os
from pathlib import Path

import pytest
from unit.provisioner.unit.warm.stage import PLAIN, WHOLE, Stage

from tinkwell.provisioner.unit.dispatch import program
from tinkwell.provisioner.unit.warm import recipe

SET = 'JUJU_DISPATCH_PATH="${JUJU_DISPATCH_PATH:-$0}" PYTHONPATH=lib:venv'


def test_the_plain_one(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    found = recipe.find(stage.charm, [str(stage.charm / "dispatch")])
    assert found == recipe.Recipe(
        folder=str(stage.charm),
        python="python3",
        script="./src/charm.py",
        modules="lib:venv",
        variables={"PYTHONPATH": "lib:venv"},
        is_own=True,
    )


def test_the_one_with_whole_paths(tmp_path: Path) -> None:
    stage = Stage(tmp_path, dispatch=WHOLE)
    found = recipe.find(stage.charm, [str(stage.charm / "dispatch")])
    assert found is not None
    assert (found.python, found.script) == (f"{stage.charm}/venv/bin/python", f"{stage.charm}/src/charm.py")
    assert found.variables["PYTHONPATH"] == f"{stage.charm}/lib:{stage.charm}/src"


def test_our_own_start(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    found = recipe.find(stage.charm, ["python3", program.ENTRY])
    assert found is not None
    assert (found.script, found.modules, found.variables) == ("src/charm.py", "lib:venv:src", {})


def test_packages_that_units_share_are_told_from_a_units_own(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (stage.charm / "venv").rename(tmp_path / "shared")
    (stage.charm / "venv").symlink_to(tmp_path / "shared")
    found = recipe.find(stage.charm, [str(stage.charm / "dispatch")])
    assert found is not None
    assert not found.is_own


@pytest.mark.parametrize(
    "dispatch",
    [
        f"#!/bin/sh\n{SET} ./src/charm.py\n",
        f"#!/bin/bash\n{SET} exec ./src/charm.py\n",
        f"{SET} exec ./src/charm.py\n",
        f"#!/bin/sh\n{SET} exec ./src/charm.py --fast\n",
        f"#!/bin/sh\nexport A=1\n{SET} exec ./src/charm.py\n",
        f"#!/bin/sh\n# A comment ends with its line. \\\nexport A=1\n{SET} exec ./src/charm.py\n",
        f"#!/bin/sh\n{SET}\nexec ./src/charm.py\n",
        f"#!/bin/sh\n{SET}\\\nexec ./src/charm.py\n",
        f"#!/bin/sh\n{SET}:$HOME exec ./src/charm.py\n",
        f"#!/bin/sh\n{SET} exec ./src/missing.py\n",
        PLAIN.replace("lib:venv", "lib:venv;rm"),
        WHOLE.replace("/lib:", "/library:"),
        WHOLE.replace("src/charm.py", "src/missing.py"),
        "#!/usr/bin/env python3\nimport ops\n",
        "",
    ],
)
def test_others_are_not_known(tmp_path: Path, dispatch: str) -> None:
    stage = Stage(tmp_path, dispatch=dispatch)
    assert recipe.find(stage.charm, [str(stage.charm / "dispatch")]) is None


def test_what_would_be_waited_at_is_not_known(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (stage.charm / "dispatch").unlink()
    os.mkfifo(stage.charm / "dispatch", 0o755)
    assert recipe.find(stage.charm, [str(stage.charm / "dispatch")]) is None


@pytest.mark.parametrize(
    "first", ["#!/usr/bin/python3\n", "#!/usr/bin/env -S python3 -u\n", "#!/usr/bin/env python3.9\n"]
)
def test_a_program_that_chooses_its_python_is_left_to_that(tmp_path: Path, first: str) -> None:
    stage = Stage(tmp_path)
    stage.write("src/charm.py", f"{first}import ops\n")
    assert recipe.find(stage.charm, [str(stage.charm / "dispatch")]) is None


@pytest.mark.parametrize("argv", [["hooks/install"], ["sh", "-c", "true"], ["python3", "src/other.py"]])
def test_other_programs_are_started(tmp_path: Path, argv: list[str]) -> None:
    assert recipe.find(Stage(tmp_path).charm, argv) is None
