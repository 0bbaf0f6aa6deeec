"""A revision keeps the plan of its installation alone."""

from tinkwell.core.release.kinds import NodeTask
from tinkwell.core.release.plan import Plan, PlanNode


def test_an_installation_is_the_plan_without_removals() -> None:
    removed = PlanNode(path="old", task=NodeTask.REMOVE)
    whole = Plan((removed, PlanNode(path="role"), PlanNode(path="db", batch=2, after=("role", "old"))))
    assert whole.installation == Plan((PlanNode(path="role"), PlanNode(path="db", batch=2, after=("role",))))
    assert Plan.load(whole.installation.dump()) == whole.installation
