"""A server, an agent and a model for each module of tests.

They end with their module: they run in a thread of this process, and change its environment.
"""

from collections.abc import Iterator

import jubilant
import pytest
from integration.juju import stage
from integration.juju.stage import Place

from support.database import Databases


@pytest.fixture(scope="module")
def place(postgres: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("juju")
    with stage.running(postgres, folder) as place, stage.environment(place, folder):
        yield place


@pytest.fixture(scope="module")
def juju(place: Place) -> Iterator[jubilant.Juju]:
    """A model of the module's own, as authors of charms have it."""
    with jubilant.temp_model() as juju:
        juju.wait_timeout = stage.WAIT_SECONDS
        yield juju
