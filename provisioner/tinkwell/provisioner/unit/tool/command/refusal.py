"""The tools that Tinkwell does not have, each with the sentence that it answers."""

from collections.abc import Mapping

_PAYLOADS = "payloads are not kept here: tell what runs with status-set"
_PODS = "units are no pods of Kubernetes here: run the workload on the machine"

SENTENCES: Mapping[str, str] = {
    "credential-get": "there is no cloud here, and so no credential of one: take what is needed from the configuration",
    "goal-state": "what is still to come is not known here: wait for the events of each relation",
    "juju-reboot": "a unit does not reboot its machine: have an operator run a workflow on it",
    "k8s-raw-get": _PODS,
    "k8s-raw-set": _PODS,
    "k8s-spec-get": _PODS,
    "k8s-spec-set": _PODS,
    "payload-register": _PAYLOADS,
    "payload-status-set": _PAYLOADS,
    "payload-unregister": _PAYLOADS,
    "pod-spec-get": _PODS,
    "pod-spec-set": _PODS,
}
