"""Charms of Juju in the shapes that the documentation of ops has: the files of each, and what refuses some."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PROGRAM = """\
#!/usr/bin/env python3
import ops


class Charm(ops.CharmBase):
    def __init__(self, framework: ops.Framework):
        super().__init__(framework)
        framework.observe(self.on.start, self._on_start)

    def _on_start(self, event: ops.StartEvent):
        self.unit.status = ops.ActiveStatus()


if __name__ == "__main__":
    ops.main(Charm)
"""
_BUILD = """\
type: charm
base: ubuntu@24.04
platforms: {amd64:}
parts:
  charm: {plugin: uv, source: ., build-snaps: [astral-uv]}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A charm: `refusal` is a part of the sentence that refuses it, empty for one that may be deployed."""

    manifest: str
    refusal: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    actions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    storages: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()

    @property
    def files(self) -> Mapping[str, str]:
        """The texts of its files by path."""
        return {"charmcraft.yaml": self.manifest + _BUILD, "src/charm.py": PROGRAM, **self.others}


SHAPES: Mapping[str, Shape] = {
    "the first machine charm": Shape(
        manifest="""\
name: hello-machine
title: Hello
summary: A charm that begins a service on its machine.
description: It installs a program, and keeps it going.
assumes: [juju >= 3.6]
config:
  options:
    port: {type: int, default: 8080, description: Where it listens}
    greeting: {type: string, default: "Hello, w\u00f6rld \U0001f600"}
""",
        options=("port", "greeting"),
        others={
            "lib/charms/operator_libs_linux/v0/apt.py": "LIBID = '1'\n",
            "pyproject.toml": "[project]\n",
            "uv.lock": "",
        },
    ),
    "httpbin on machines": Shape(
        manifest="""\
name: httpbin-machine
summary: Runs httpbin behind a web server.
description: |
  Restarts with another level of log lines when its configuration changes.
config:
  options:
    log-level: {type: string, default: info, description: How much it tells}
    ratio: {type: float, default: 0.25}
    is-open: {type: boolean, default: true}
provides:
  website: {interface: http, limit: 3, optional: true}
actions:
  get-requests:
    description: Counts requests.
    params:
      since: {type: string, description: From when on, default: yesterday}
""",
        options=("log-level", "ratio", "is-open"),
        endpoints=("website",),
        actions=("get-requests",),
    ),
    "certificates": Shape(
        manifest="""\
name: tls-user
summary: Asks for a certificate.
description: It keeps its private key in a secret.
requires:
  certificates: {interface: tls-certificates, limit: 1, optional: false}
  send-ca-cert: {interface: certificate_transfer}
peers:
  replicas: {interface: tls_replicas}
config:
  options:
    private-key: {type: secret, description: A user's secret with a key}
""",
        endpoints=("certificates", "send-ca-cert", "replicas"),
        options=("private-key",),
    ),
    "the owner of a secret": Shape(
        manifest="""\
name: secret-owner
summary: Gives passwords away.
description: By secrets that it rotates.
assumes: [{any-of: [juju >= 3.4, k8s-api]}]
provides:
  db: {interface: database-login}
actions:
  rotate-now: {description: Makes another password., additionalProperties: false}
""",
        endpoints=("db",),
        actions=("rotate-now",),
    ),
    "the observer of a secret": Shape(
        manifest="""\
name: secret-observer
summary: Reads passwords.
description: By secrets that it is granted.
requires:
  db: {interface: database-login}
""",
        endpoints=("db",),
    ),
    "actions with parameters": Shape(
        manifest="""\
name: with-actions
summary: Can be asked to do things.
description: With parameters.
actions:
  grant-admin-role:
    description: Makes somebody an administrator.
    params:
      user: {type: string, description: Who}
      levels: {type: array, items: {type: integer}}
      more:
        type: object
        properties: {until: {type: string}, times: {type: integer, minimum: 1}}
        additionalProperties: false
    required: [user]
    additionalProperties: false
    parallel: true
    execution-group: admins
  pause: {}
  say-nothing:
""",
        actions=("grant-admin-role", "pause", "say-nothing"),
    ),
    "storage": Shape(
        manifest="""\
name: with-storage
summary: Keeps files.
description: In two storages.
storage:
  job-data: {type: filesystem, location: /srv/jobs, minimum-size: 1G}
  cache:
    type: filesystem
    description: May be missing
    multiple: {range: 0-10}
""",
        storages=("job-data", "cache"),
    ),
    "data among peers": Shape(
        manifest="""\
name: with-peers
summary: Meets its siblings.
description: And tells them its address.
peers:
  cluster: {interface: cluster}
extra-bindings:
  internal-api:
""",
        endpoints=("cluster",),
    ),
    "observability with events of its own": Shape(
        manifest="""\
name: observed
summary: Is observed.
description: By an agent that is related to it.
provides:
  cos-agent: {interface: cos_agent, limit: 1}
  metrics-endpoint: {interface: prometheus_scrape, optional: true}
requires:
  tracing: {interface: tracing, limit: 1, optional: true}
  logging: {interface: loki_push_api, optional: true}
""",
        endpoints=("cos-agent", "metrics-endpoint", "tracing", "logging"),
        others={"src/custom_events.py": "import ops\n\n\nclass ReadyEvent(ops.EventBase):\n    pass\n"},
    ),
    "a file of a resource": Shape(
        manifest="""\
name: with-resource
summary: Serves a file.
description: That comes beside it.
resources:
  my-resource: {type: file, filename: somefile.txt, description: A file, upstream-source: example}
""",
    ),
    "files beside the manifest": Shape(
        manifest="",
        others={
            "metadata.yaml": "name: old\nsummary: a\nprovides: {site: {interface: http}}\nmin-juju-version: 2.8.0\n",
            "config.yaml": "options: {a: {type: string, default: ''}}\n",
            "actions.yaml": "pause: {description: Stops it.}\n",
        },
        endpoints=("site",),
        options=("a",),
        actions=("pause",),
    ),
    "a sidecar on Kubernetes": Shape(
        manifest="""\
name: hello-k8s
summary: a
description: b
containers: {workload: {resource: image}}
resources: {image: {type: oci-image, description: c}}
""",
        refusal="is for workloads on Kubernetes, which Tinkwell does not run; take the charm for machines",
    ),
    "an assumed API of Kubernetes": Shape(
        manifest="name: fastapi-demo\nsummary: a\ndescription: b\nassumes: [juju >= 3.1, k8s-api]\n",
        refusal="has k8s-api, and Tinkwell does not run workloads on Kubernetes; take the charm for machines",
    ),
    "a subordinate": Shape(
        manifest="""\
name: agent
summary: a
description: b
subordinate: true
requires: {juju-information: {interface: other, scope: container}}
""",
        refusal="is true; there are no subordinates: relate two ordinary applications",
    ),
    "block storage": Shape(
        manifest="name: disks\nsummary: a\ndescription: b\nstorage: {disk: {type: block}}\n",
        refusal="is block; a storage is a folder of the machine: write filesystem",
    ),
    "a newer Juju": Shape(
        manifest="name: new\nsummary: a\ndescription: b\nassumes: [juju >= 4.0]\n",
        refusal="asks for juju >= 4.0, and charms run here as under Juju 3.6.9; take another release",
    ),
    "a bundle": Shape(
        manifest="name: many\nsummary: a\ndescription: b\n",
        others={"charmcraft.yaml": "name: many\nsummary: a\ndescription: b\ntype: bundle\n"},
        refusal="must be charm; a bundle is deployed charm by charm",
    ),
}
