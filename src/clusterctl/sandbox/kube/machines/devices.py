"""Device plugins: which pods are one, what they register on a machine, and what they say in their log.

Pods are recognised by their image, as any installer's DaemonSet must work. As in the field, the EFA plugin exits
where it finds no EFA interface, and its v0.5.4 counts ten interfaces on p6-b200.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.sandbox.kube.access import Machine
    from clusterctl.sandbox.kube.machines.kinds import Obj

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
NEURON, NEURON_CORE = "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"
_IMAGES = {"k8s-device-plugin": "nvidia", "aws-efa-k8s-device-plugin": "efa", "neuron-device-plugin": "neuron"}
_OTHER_ROLES = ("mps-control-daemon", "gpu-feature-discovery", "config-manager")
_MISCOUNT_FIXED = (0, 5, 6)


@dataclass(frozen=True, slots=True)
class Plugin:
    """A device plugin's container in a pod."""

    vendor: str  # nvidia | efa | neuron
    container: str
    tag: str
    fails_without_devices: bool = False


@dataclass(frozen=True, slots=True)
class Registration:
    """What a plugin does on one machine: the resources it offers, its log, and whether it dies at once."""

    resources: dict[str, int]
    log: tuple[str, ...]
    crashes: bool = False


def plugin_of(pod: Obj) -> Plugin | None:
    """The device plugin in a pod, if it holds one."""
    for container in pod["spec"]["containers"]:
        name, tag = image_parts(container.get("image", ""))
        words = " ".join((*(container.get("command") or []), *(container.get("args") or [])))
        if name in _IMAGES and not any(role in words for role in _OTHER_ROLES):
            return Plugin(_IMAGES[name], container["name"], tag, _fails(container))
    return None


def image_parts(image: str) -> tuple[str, str]:
    """The last part of an image's name, and its tag."""
    base = image.partition("@")[0].rpartition("/")[2]
    name, _, tag = base.partition(":")
    return name, tag


def register(plugin: Plugin, machine: Machine) -> Registration:
    """What the plugin finds on the machine."""
    finders = {"nvidia": _nvidia, "efa": _efa, "neuron": _neuron}
    return finders[plugin.vendor](plugin, machine)


def offered(plugins: Iterable[Plugin], machine: Machine) -> dict[str, int]:
    """The extended resources of a machine with these plugins running."""
    found: dict[str, int] = {}
    for plugin in plugins:
        found |= register(plugin, machine).resources
    return found


def _nvidia(plugin: Plugin, machine: Machine) -> Registration:
    if "NVIDIA" in machine.ami_type.upper() and machine.gpus:
        return Registration({GPU: machine.gpus}, (f"Registered device plugin for '{GPU}' with Kubelet",))
    log = (
        "Detected non-NVML platform: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file",
        "Incompatible strategy detected auto",
        "If this is a GPU node, did you configure the NVIDIA Container Toolkit?",
        "No devices found. Waiting indefinitely.",
    )
    return Registration({}, log, crashes=plugin.fails_without_devices)


def _efa(plugin: Plugin, machine: Machine) -> Registration:
    if not machine.efa_interfaces:
        return Registration({}, ("Fetching EFA devices.", "No EFA devices found, exiting."), crashes=True)
    count = machine.efa_interfaces
    if machine.instance_type.startswith("p6-b200.") and _version(plugin.tag) < _MISCOUNT_FIXED:
        count = 10
    return Registration({EFA: count}, ("Fetching EFA devices.", f"EFA Device list: {count} devices", "Registered"))


def _neuron(plugin: Plugin, machine: Machine) -> Registration:
    if not machine.neuron_devices:
        return Registration({}, ("No neuron devices found, exiting",), crashes=True)
    found = {NEURON: machine.neuron_devices, NEURON_CORE: machine.neuron_cores}
    return Registration(found, (f"neuron device plugin {plugin.tag}: {machine.neuron_devices} devices",))


def _fails(container: Obj) -> bool:
    env = {one["name"]: one.get("value") for one in container.get("env") or []}
    return str(env.get("FAIL_ON_INIT_ERROR", "")).lower() == "true"


def _version(tag: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in re.findall(r"\d+", tag)[:3])
    return numbers or (999,)
