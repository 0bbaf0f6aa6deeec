"""The paths of nodes that are events of charts, or hooks that run at these events.

shop.store/pre-install             an event of the chart shop.store; without charts /pre-install
shop.store:migrate@pre-install     the hook shop.store:migrate at that event; without charts migrate@pre-install
"""


def event_node(chart: str, event: str) -> str:
    """Return the path of an event of a chart; the chart's path is "" if there are no charts."""
    return f"{chart}/{event}"


def split_event(path: str) -> tuple[str, str]:
    """Split the path of an event into the path of its chart and the event."""
    chart, _, event = path.rpartition("/")
    return chart, event


def hook_node(hook: str, event: str) -> str:
    """Return the path of a hook at an event."""
    return f"{hook}@{event}"


def split_hook(path: str) -> tuple[str, str]:
    """Split the path of a hook at an event into the hook's path in its manifest and the event."""
    hook, _, event = path.rpartition("@")
    return hook, event
