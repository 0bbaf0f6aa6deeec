"""`model-constraints`: a model has none, which is asked for more often than they are set."""

from tinkwell.juju.shell import command
from tinkwell.juju.shell.context import Desk


@command.offline("model-constraints", formats=command.YAML_FIRST, has_model=True)
def model_constraints(desk: Desk) -> None:
    """Show the constraints of a model, of which there are none."""
    desk.show({})
