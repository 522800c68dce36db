"""Persistent volume claims: bound when a CSI driver is there to make their volume."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    CSI_DRIVER,
    NODE,
    PV,
    PVC,
    STORAGE_CLASS,
    annotations_of,
    is_deleting,
    labels_of,
)

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.informer import Informer
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj

SELECTED_NODE = "volume.kubernetes.io/selected-node"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_IN_TREE = {"kubernetes.io/aws-ebs": "ebs.csi.aws.com"}
_PROVISION_S = 15.0
_ZONE = "topology.kubernetes.io/zone"


def claims_of(pod: Obj) -> list[str]:
    """The names of the claims that a pod mounts; an ephemeral volume's claim is named after the pod."""
    names = []
    for volume in pod["spec"].get("volumes") or []:
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            names.append(f"{pod['metadata']['name']}-{volume['name']}")
    return names


def class_of(classes: Informer, claim: Obj) -> Obj | None:
    """The StorageClass of a claim: the named one, or the default one."""
    name = claim["spec"].get("storageClassName")
    if name is not None:
        return classes.get("", name) if name else None
    return next((one for one in classes if annotations_of(one).get(DEFAULT_CLASS) == "true"), None)


def waits_for_consumer(classes: Informer, claim: Obj) -> bool:
    found = class_of(classes, claim)
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


class Claims(Controller):
    """Binds claims to volumes that exist, or makes volumes through the class's driver."""

    kind = PVC
    reads = (STORAGE_CLASS, CSI_DRIVER, PV, NODE)

    def subscribe(self) -> None:
        super().subscribe()
        for kind in (STORAGE_CLASS, CSI_DRIVER, PV):
            self.listen(kind, lambda _, __: self.add_all())

    async def reconcile(self, key: Key) -> float | None:
        claim = self.cluster.informer(PVC).get(*key)
        if claim is None or is_deleting(claim):
            await self._release(key)
            return None
        if (claim.get("status") or {}).get("phase") == "Bound":
            return None
        volume = self._existing(claim)
        if volume:
            await self._bind(claim, volume)
            return None
        return await self._provision(claim)

    def _existing(self, claim: Obj) -> Obj | None:
        """The volume that the claim names, or whose claimRef names the claim."""
        meta, wanted = claim["metadata"], claim["spec"].get("volumeName")
        if wanted:
            return self.cluster.informer(PV).get("", wanted)
        for volume in self.cluster.informer(PV):
            ref = volume["spec"].get("claimRef") or {}
            if (ref.get("namespace"), ref.get("name")) == (meta["namespace"], meta["name"]):
                return volume
        return None

    async def _provision(self, claim: Obj) -> float | None:
        storage_class = class_of(self.cluster.informer(STORAGE_CLASS), claim)
        if storage_class is None:
            await self._explain_missing_class(claim)
            return None
        node = annotations_of(claim).get(SELECTED_NODE)
        if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer" and not node:
            message = "waiting for first consumer to be created before binding"
            await self.cluster.event(claim, "WaitForFirstConsumer", message)
            return None
        provisioner: str = storage_class["provisioner"]
        driver: str = _IN_TREE.get(provisioner, provisioner)
        if ("", driver) not in self.cluster.informer(CSI_DRIVER):
            message = (
                f"Waiting for a volume to be created either by the external provisioner '{driver}' or manually by the"
                " system administrator. If volume creation is delayed, please verify that the provisioner is running"
                " and correctly registered."
            )
            await self.cluster.event(claim, "ExternalProvisioning", message)
            return None
        await asyncio.sleep(self.cluster.clock.real_seconds(_PROVISION_S))
        await self.cluster.create(PV, self._volume(claim, storage_class, driver, node))
        return None

    async def _explain_missing_class(self, claim: Obj) -> None:
        name = claim["spec"].get("storageClassName")
        if name:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            await self.cluster.event(claim, "ProvisioningFailed", text, "Warning")
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            await self.cluster.event(claim, "FailedBinding", text)

    def _volume(self, claim: Obj, storage_class: Obj, driver: str, node: str | None) -> Obj:
        meta, spec = claim["metadata"], claim["spec"]
        handle = f"vol-0{meta['uid'].replace('-', '')[:16]}"
        ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": meta["uid"]}
        volume: Obj = {
            "metadata": {
                "name": f"pvc-{meta['uid']}",
                "annotations": {"pv.kubernetes.io/provisioned-by": driver},
            },
            "spec": {
                "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
                "claimRef": {**ref, "namespace": meta["namespace"], "name": meta["name"]},
                "csi": {"driver": driver, "volumeHandle": handle},
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "storageClassName": storage_class["metadata"]["name"],
                "volumeMode": spec.get("volumeMode", "Filesystem"),
            },
        }
        zone = labels_of(self.cluster.informer(NODE).get("", node or "") or {"metadata": {}}).get(_ZONE)
        if zone and driver == "ebs.csi.aws.com":
            expression = {"key": _ZONE, "operator": "In", "values": [zone]}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            volume["spec"]["nodeAffinity"] = {"required": terms}
        return volume

    async def _bind(self, claim: Obj, volume: Obj) -> None:
        meta, spec = claim["metadata"], volume["spec"]
        name = volume["metadata"]["name"]
        ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": meta["uid"]}
        ref |= {"namespace": meta["namespace"], "name": meta["name"]}
        if (spec.get("claimRef") or {}).get("uid") not in (None, meta["uid"]):
            return
        await self.cluster.modify(PV, volume, lambda fresh: fresh["spec"].update(claimRef=ref))
        await self.cluster.set_status(PV, self.cluster.informer(PV).get("", name) or volume, {"phase": "Bound"})
        bound = await self.cluster.modify(PVC, claim, lambda fresh: fresh["spec"].update(volumeName=name))
        if bound:
            status = {"phase": "Bound", "capacity": spec.get("capacity"), "accessModes": spec.get("accessModes")}
            await self.cluster.set_status(PVC, bound, status)

    async def _release(self, key: Key) -> None:
        """Delete or release the volume of a claim that is gone."""
        for volume in self.cluster.informer(PV):
            ref = volume["spec"].get("claimRef") or {}
            if (ref.get("namespace"), ref.get("name")) != key or key in self.cluster.informer(PVC):
                continue
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                await self.cluster.delete(PV, volume)
            else:
                await self.cluster.set_status(PV, volume, {"phase": "Released"})
