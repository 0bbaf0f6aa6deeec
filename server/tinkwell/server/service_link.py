"""Recognizes service links: variables that name the services beside a container, and mean nothing to a server.

Kubernetes gives them to every container, named after the service. Of one that is called `tinkwell` there are
`TINKWELL_SERVICE_HOST=10.96.0.7`, `TINKWELL_PORT=tcp://10.96.0.7:50051`, `TINKWELL_PORT_50051_TCP_ADDR=10.96.0.7` and
more, of `tinkwell-database` there is `TINKWELL_DATABASE_SERVICE_HOST`. Docker does the same for a container that is
linked as `tinkwell`, and adds `TINKWELL_NAME=/this/tinkwell` and, as `TINKWELL_ENV_PATH`, each variable of that one.
"""

import re

_BY_NAME = re.compile(
    r"[A-Z0-9_]+_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?"
    r"|ENV_\w+)"
)
# These names may also be names of settings, as `TINKWELL_PORT` is, so the value decides.
_BY_VALUE = {"_PORT": re.compile(r"(?:tcp|udp|sctp)://.+:[0-9]+"), "_NAME": re.compile(r"/.+/.+")}


def is_one(variable: str, value: str) -> bool:
    """Return whether a variable, such as `TINKWELL_PORT`, is a service link."""
    if _BY_NAME.fullmatch(variable):
        return True
    return any(variable.endswith(end) and form.fullmatch(value) for end, form in _BY_VALUE.items())
