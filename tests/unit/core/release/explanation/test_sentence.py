"""Why nodes and operations are as they are, in sentences."""

from dataclasses import replace
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.explanation import sentence
from tinkwell.core.release.explanation.fact import Facts, NodeFact, OperationFact, Provisioner, StepFact
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, OperationKind, PlanKind, StepKind
from tinkwell.core.release.plan import Plan, PlanNode

_N = NodeState
P1, P2 = Provisioner(owner="p1", engine="docker:1"), Provisioner(owner="p2", engine="docker:2")
OPERATION = OperationFact(
    kind=OperationKind.INSTALL,
    state=State.RUNNING,
    release_name="shop",
    namespace="default",
    remaining_seconds=259.2,
    holder=P1,
    alive=(P1, P2),
)
CREATING = StepFact(
    kind=StepKind.ACTION,
    state=State.RUNNING,
    attempt=1,
    name="create-vm",
    seconds=41.0,
    attempts=2,
    timeout_seconds=300,
)


def operation(**more: Any) -> OperationFact:
    return replace(OPERATION, **more)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (operation(), "install of shop is RUNNING, 259 s left; p1 (engine docker:1) carries it out"),
        (
            operation(is_cancel_requested=True),
            (
                "install of shop is RUNNING, 259 s left; its cancellation was requested; p1 (engine docker:1)"
                " carries it out"
            ),
        ),
        (
            operation(state=State.PENDING, holder=None, alive=()),
            (
                "install of shop is PENDING, 259 s left; no provisioner is alive to take it; start"
                " one with"
                ' "tinkwell provisioner --releases default"'
            ),
        ),
        (
            operation(state=State.PENDING, holder=None, alive=(P1,)),
            (
                "install of shop is PENDING, 259 s left; no provisioner has taken it; one that takes operations of"
                " default will do so; alive: p1 (engine docker:1)"
            ),
        ),
        (
            operation(state=State.PENDING, holder=None, engine="docker:3"),
            (
                "install of shop is PENDING, 259 s left; no provisioner may take it: shop keeps files on the engine"
                " docker:3, and"
                " there is only p1 (engine docker:1), p2 (engine docker:2)"
            ),
        ),
        (
            operation(state=State.PENDING, holder=None, engine="docker:2"),
            (
                "install of shop is PENDING, 259 s left; no provisioner has taken it; one that takes operations of"
                " default will do so; alive: p2 (engine docker:2)"
            ),
        ),
        (
            operation(holder=replace(P1, silent_seconds=40.0), alive=(P2,)),
            (
                "install of shop is RUNNING, 259 s left; p1 (engine docker:1), which carried it out, has been silent"
                " for 40 s, and no provisioner has taken it; one that takes operations of default will do so;"
                " alive: p2 (engine docker:2)"
            ),
        ),
        (
            operation(holder=None, alive=()),
            (
                "install of shop is RUNNING, 259 s left; its owner is gone, and no provisioner is alive"
                " to take"
                ' it; start one with "tinkwell provisioner --releases default"'
            ),
        ),
        (operation(state=State.SUCCEEDED), "install of shop ended as SUCCEEDED"),
        (operation(state=State.FAILED, cause="db: no"), "install of shop ended as FAILED: db: no"),
    ],
)
def test_an_operation_is_with_somebody_or_it_is_said_who_could_take_it(found: OperationFact, said: str) -> None:
    assert sentence.of_operation(found) == said


def facts(states: dict[str, NodeState], found: OperationFact = OPERATION, **nodes: dict[str, Any]) -> Facts:
    """A chart shop of rabbitmq, nginx and bar, which comes after both, with a resource of its own each."""
    given = {
        path: NodeFact(
            path=path,
            state=states.get(path, _N.PENDING),
            kind=NodeKind.RESOURCE if ":" in path else NodeKind.CHART,
            batch=2 if "bar" in path else 1,
            **nodes.get(path.rpartition(".")[2].replace(":", "_"), {}),
        )
        for path in _PATHS
    }
    return Facts(operation=found, nodes=given, plan=PLAN)


def chart(path: str, *, after: tuple[str, ...] = (), begin_after: tuple[str, ...] = ()) -> list[PlanNode]:
    begin = f"{path}/begin"
    return [
        PlanNode(path=begin, kind=PlanKind.GATE, after=begin_after),
        PlanNode(path=f"{path}:site", after=(begin, *after)),
        PlanNode(path=path, kind=PlanKind.CHART, after=(begin, f"{path}:site"), begin=begin),
    ]


PLAN = Plan(
    (
        *chart("shop.rabbitmq"),
        *chart("shop.nginx"),
        *chart("shop.bar", begin_after=("shop.rabbitmq", "shop.nginx")),
    )
)
_PATHS = [node.path for node in PLAN.real]
WORKING = {"shop.rabbitmq:site": _N.READY, "shop.rabbitmq": _N.READY, "shop.nginx": _N.INSTALLING}
BUSY = WORKING | {"shop.nginx:site": _N.INSTALLING}


@pytest.mark.parametrize(
    ("found", "path", "said", "waits_for"),
    [
        (
            facts(BUSY, nginx={"seconds": 43.0}, nginx_site={"seconds": 42.0, "step": CREATING}),
            "bar",
            (
                "shop.bar (batch 2) waits: shop.nginx has been INSTALLING for 43 s: 0 of 1 are done"
                " (shop.nginx:site has been INSTALLING"
                " for 42 s at action create-vm (attempt 1 of 2, 259 s left)); shop.rabbitmq is READY"
            ),
            ("shop.nginx",),
        ),
        (
            facts(BUSY, nginx={"seconds": 43.0}),
            "bar:site",
            (
                "shop.bar:site (batch 2) waits: shop.nginx has been INSTALLING for 43 s: 0 of 1 are done"
                " (shop.nginx:site is"
                " INSTALLING)"
            ),
            ("shop.nginx",),
        ),
        (
            facts(BUSY, nginx_site={"step": replace(CREATING, timeout_seconds=60)}),
            "shop.nginx:site",
            "shop.nginx:site (batch 1) is INSTALLING at action create-vm (attempt 1 of 2, 19 s left)",
            (),
        ),
        (
            facts(BUSY, nginx_site={"step": replace(CREATING, state=State.PENDING)}),
            "nginx:site",
            "shop.nginx:site (batch 1) is INSTALLING at action create-vm (attempt 1 of 2, between two attempts)",
            (),
        ),
        (
            facts(WORKING),
            "nginx:site",
            (
                "shop.nginx:site (batch 1) waits for no other, and starts next; install of shop is RUNNING,"
                " 259 s left; p1"
                " (engine docker:1) carries it out"
            ),
            (),
        ),
        (
            facts(WORKING | {"shop.rabbitmq:site": _N.INSTALLING}, operation(parallel=1)),
            "nginx:site",
            "shop.nginx:site (batch 1) waits for its turn: at most 1 at a time, now shop.rabbitmq:site",
            (),
        ),
        (
            facts(
                BUSY | {"shop.nginx:site": _N.FAILED, "shop.nginx": _N.FAILED},
                nginx_site={
                    "message": "action create-vm exited with code 3: no quota",
                    "step": replace(CREATING, state=State.FAILED, exit_code=3, message="no quota"),
                },
            ),
            "bar",
            "shop.bar (batch 2) never starts: shop.nginx:site failed at action create-vm (exit 3): no quota",
            ("shop.nginx:site",),
        ),
        (
            facts(BUSY | {"shop.nginx:site": _N.FAILED}, nginx_site={"message": "its config is not what a takes: x"}),
            "nginx:site",
            "shop.nginx:site (batch 1) failed: its config is not what a takes: x",
            (),
        ),
        (
            facts({"shop.bar": _N.SKIPPED}, bar={"message": "shop.nginx is FAILED"}),
            "bar",
            "shop.bar (batch 2) was skipped: shop.nginx is FAILED",
            (),
        ),
        (
            facts(WORKING, rabbitmq_site={"is_changed": True, "seconds": 5.0}),
            "rabbitmq:site",
            "shop.rabbitmq:site (batch 1) has been READY for 5 s; it was changed",
            (),
        ),
        (
            facts(
                WORKING | {"shop.rabbitmq:site": _N.LEFT},
                rabbitmq_site={"task": NodeTask.REMOVE, "message": "it has no destroy action"},
            ),
            "rabbitmq:site",
            "shop.rabbitmq:site (batch 1) was left in place: it has no destroy action",
            (),
        ),
    ],
)
def test_a_node_is_explained(found: Facts, path: str, said: str, waits_for: tuple[str, ...]) -> None:
    (explained,), left_off = sentence.of_nodes(found, path)
    assert explained.sentence == said
    assert (explained.waits_for, left_off) == (waits_for, 0)


def test_without_a_path_all_are_explained_that_are_not_done() -> None:
    found, _ = sentence.of_nodes(facts(BUSY))
    assert [each.node.path for each in found] == ["shop.nginx:site", "shop.nginx", "shop.bar:site", "shop.bar"]


def test_of_very_many_nodes_the_first_are_explained() -> None:
    plan = Plan([PlanNode(path=f"r{number}") for number in range(250)])
    nodes = {node.path: NodeFact(path=node.path, state=_N.PENDING) for node in plan.nodes}
    found, left_off = sentence.of_nodes(Facts(operation=OPERATION, nodes=nodes, plan=plan))
    assert (len(found), left_off) == (200, 50)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (facts({}), 'path: "baz" is not a node of the operation; known are'),
        (Facts(operation=OPERATION), 'path: there is no "baz" yet; the operation has no plan'),
    ],
)
def test_a_path_that_is_no_node_is_refused(found: Facts, said: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        sentence.of_nodes(found, "baz")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("resource", "init", "attempts", "seconds"),
    [
        ({}, {}, 1, 300),
        ({}, {"tinkwell": {"retry": {"attempts": 3}, "timeouts": {"action": 7}}}, 3, 7),
        ({"retries": 1, "timeouts": {"action": 9}}, {"tinkwell": {"retry": {"attempts": 3}}}, 2, 9),
        ({"retries": None, "timeouts": None}, {"tinkwell": None}, 1, 300),
    ],
)
def test_the_manifest_goes_before_the_image(resource: Any, init: Any, attempts: int, seconds: int) -> None:
    found, timeouts = sentence.attempts_and_timeouts(resource, init)
    assert (found, sentence.seconds_of(StepKind.ACTION, timeouts)) == (attempts, seconds)
