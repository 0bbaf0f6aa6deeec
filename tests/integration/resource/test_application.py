"""What the images for applications and relations refuse before they ask a server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.author import EXAMPLES, SECONDS, Said

APPLICATION, RELATION = EXAMPLES / "tinkwell-application", EXAMPLES / "tinkwell-relation"
NOBODY = "127.0.0.1:1"


def call(image: Path, action: str, workspace: Path, **config: Any) -> Said:
    given = {"protocol": 1, "name": "it", "workspace": str(workspace), "config": {"server": NOBODY, **config}}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [image / "run", action],
        input=json.dumps(given),
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("image", [APPLICATION, RELATION])
def test_what_is_secret_is_said_and_everything_is_waited_for(image: Path, tmp_path: Path) -> None:
    answer = call(image, "init", tmp_path).answer
    assert "/token" in answer["tinkwell"]["sensitive"]
    assert answer["tinkwell"]["destroy_action"] == {"args": ["destroy"]}
    assert answer["tinkwell"]["readiness"] == {"poll_seconds": 2}
    assert ("/secret_config" in answer["tinkwell"]["sensitive"]) is (image == APPLICATION)


def test_a_charm_that_may_not_be_run_is_refused_with_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "web" / "hooks").mkdir(parents=True)
    (tmp_path / "web" / "charm.yaml").write_text("name: web\nkind: scripts\ncontainers: {web: {}}\n")
    sentence = call(APPLICATION, "state", tmp_path, name="web", charm="web").mistake
    assert "web: charm.yaml" in sentence
    assert "containers" in sentence


@pytest.mark.parametrize("charm", ["../charm", "/etc", "nowhere", ".", "page.pyc:Page"])
def test_a_charm_is_below_the_files_of_its_chart(tmp_path: Path, charm: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "charm").mkdir()
    sentence = call(APPLICATION, "state", workspace, name="web", charm=charm).mistake
    path = charm.partition(":")[0]
    assert sentence.startswith(f"charm: {path} is not below files/ of the chart; name a file or folder there")


def test_scripts_are_programs_again_whatever_their_modes_were(tmp_path: Path) -> None:
    hook = tmp_path / "web" / "hooks" / "install"
    hook.parent.mkdir(parents=True)
    (tmp_path / "web" / "charm.yaml").write_text("name: web\nkind: scripts\n")
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o644)
    # The charm is taken, so that the server is asked for next.
    sentence = call(APPLICATION, "state", tmp_path, name="web", charm="web").mistake
    assert sentence.startswith(f"Error: no server is available at {NOBODY}")
    assert hook.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("action", ["state", "relate", "destroy"])
def test_a_server_that_is_away_is_told(tmp_path: Path, action: str) -> None:
    sentence = call(RELATION, action, tmp_path, first="web:db", second="pg").mistake
    assert sentence.startswith(f"Error: no server is available at {NOBODY}")
