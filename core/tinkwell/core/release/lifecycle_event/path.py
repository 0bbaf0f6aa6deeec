"""How nodes of a plan are called that are events of charts, and hooks that run at these.

shop.store/pre-install             an event of the chart shop.store; without charts /pre-install
shop.store:migrate@pre-install     the hook shop.store:migrate at that event; without charts migrate@pre-install
"""


def event_node(chart: str, event: str) -> str:
    """Give the path of an event of a chart, whose own path is empty where there are no charts."""
    return f"{chart}/{event}"


def split_event(path: str) -> tuple[str, str]:
    """Take the path of an event apart: that of its chart, and the event."""
    chart, _, event = path.rpartition("/")
    return chart, event


def hook_node(hook: str, event: str) -> str:
    """Give the path of a hook at an event."""
    return f"{hook}@{event}"


def split_hook(path: str) -> tuple[str, str]:
    """Take the path of a hook at an event apart: that of the hook in its manifest, and the event."""
    hook, _, event = path.rpartition("@")
    return hook, event
