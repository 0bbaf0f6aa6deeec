"""The charms of storms: each application's has versions, of which each later one declares more."""

from tinkwell.core.unit.world import Charm, Endpoint, Role

_LINK, _DATA = "link", "data"


def charm(application: str, version: int, *, with_new_peers: bool = False) -> Charm:
    """Return a version of an application's charm.

    From the second one on it has one endpoint and one storage more, with `with_new_peers` a peer endpoint, too.
    """
    endpoints = {
        "up": Endpoint(Role.PROVIDES, _LINK),
        "down": Endpoint(Role.REQUIRES, _LINK),
        "cluster": Endpoint(Role.PEERS, "cluster"),
    }
    storage: tuple[str, ...] = (_DATA,)
    if application == "bare":
        del endpoints["cluster"]
        storage = ()
    if version > 1:
        endpoints["out"] = Endpoint(Role.PROVIDES, _DATA)
        endpoints["in"] = Endpoint(Role.REQUIRES, _DATA)
        storage = (*storage, "more")
    if version > 1 and with_new_peers:
        endpoints["ring"] = Endpoint(Role.PEERS, "ring")
    return Charm(application, f"{application}-{version}", endpoints, storage)
