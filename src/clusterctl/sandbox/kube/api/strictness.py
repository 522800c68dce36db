"""Unknown fields of built-in kinds, for fieldValidation=Strict.

The table names every field of the kinds whose typos hurt (workloads and their pods); kinds and fields that are
not in it are not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.sandbox.kube.api.objects import Object

# Type: fields. `a:T` has type T (or a list of T), `a` is not looked into.
_TABLE = """
ConfigMap: data binaryData immutable
Secret: data stringData type immutable
Namespace: spec status
ServiceAccount: secrets imagePullSecrets automountServiceAccountToken
Node: spec:NodeSpec status
NodeSpec: podCIDR podCIDRs providerID unschedulable taints:Taint configSource externalID
Taint: key value effect timeAdded
Service: spec:ServiceSpec status
ServiceSpec: allocateLoadBalancerNodePorts clusterIP clusterIPs externalIPs externalName externalTrafficPolicy \
 healthCheckNodePort internalTrafficPolicy ipFamilies ipFamilyPolicy loadBalancerClass loadBalancerIP \
 loadBalancerSourceRanges ports:ServicePort publishNotReadyAddresses selector sessionAffinity \
 sessionAffinityConfig trafficDistribution type
ServicePort: name protocol port targetPort nodePort appProtocol
PersistentVolumeClaim: spec:ClaimSpec status
ClaimSpec: accessModes dataSource dataSourceRef resources selector storageClassName volumeAttributesClassName \
 volumeMode volumeName
StorageClass: allowVolumeExpansion allowedTopologies mountOptions parameters provisioner reclaimPolicy \
 volumeBindingMode
Deployment: spec:DeploymentSpec status
DeploymentSpec: replicas selector:Selector template:PodTemplate strategy minReadySeconds revisionHistoryLimit \
 paused progressDeadlineSeconds
ReplicaSet: spec:ReplicaSetSpec status
ReplicaSetSpec: replicas selector:Selector template:PodTemplate minReadySeconds
DaemonSet: spec:DaemonSetSpec status
DaemonSetSpec: selector:Selector template:PodTemplate updateStrategy minReadySeconds revisionHistoryLimit
StatefulSet: spec:StatefulSetSpec status
StatefulSetSpec: replicas selector:Selector template:PodTemplate volumeClaimTemplates serviceName \
 podManagementPolicy updateStrategy revisionHistoryLimit minReadySeconds ordinals \
 persistentVolumeClaimRetentionPolicy
Job: spec:JobSpec status
JobSpec: parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit \
 backoffLimitPerIndex maxFailedIndexes selector:Selector manualSelector template:PodTemplate \
 ttlSecondsAfterFinished completionMode suspend podReplacementPolicy managedBy
CronJob: spec:CronJobSpec status
CronJobSpec: schedule timeZone startingDeadlineSeconds concurrencyPolicy suspend jobTemplate:JobTemplate \
 successfulJobsHistoryLimit failedJobsHistoryLimit
JobTemplate: metadata spec:JobSpec
Selector: matchLabels matchExpressions
PodTemplate: metadata:Meta spec:PodSpec
Pod: spec:PodSpec status
PodSpec: activeDeadlineSeconds affinity automountServiceAccountToken containers:Container dnsConfig dnsPolicy \
 enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname \
 hostnameOverride imagePullSecrets initContainers:Container nodeName nodeSelector os overhead \
 preemptionPolicy priority priorityClassName readinessGates resourceClaims resources restartPolicy \
 runtimeClassName schedulerName schedulingGates schedulingGroup securityContext serviceAccount \
 serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds \
 tolerations:Toleration topologySpreadConstraints volumes workloadRef
Toleration: key operator value effect tolerationSeconds
Container: args command env:EnvVar envFrom image imagePullPolicy lifecycle livenessProbe:Probe name \
 ports:ContainerPort readinessProbe:Probe resizePolicy resources:Resources restartPolicy restartPolicyRules \
 securityContext startupProbe:Probe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty \
 volumeDevices volumeMounts:VolumeMount workingDir
EnvVar: name value valueFrom
ContainerPort: containerPort hostIP hostPort name protocol
Resources: limits requests claims
VolumeMount: mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr
Probe: exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds successThreshold tcpSocket \
 terminationGracePeriodSeconds timeoutSeconds
Meta: annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName \
 generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid
"""

Fields = dict[str, str]


def unknown_builtin_fields(kind: str, obj: Object) -> list[str]:
    """Paths that kube-apiserver would not know; [] for kinds that the table does not cover."""
    fields = _TYPES.get(kind)
    if fields is None:
        return list(_unknown(obj.get("metadata"), "Meta", "metadata"))
    return list(_unknown_in(obj, {**fields, "apiVersion": "", "kind": "", "metadata": "Meta"}, ""))


def _unknown(value: Any, type_name: str, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, type_name, f"{path}[{index}]")
    elif isinstance(value, dict) and type_name:
        yield from _unknown_in(value, _TYPES[type_name], path)


def _unknown_in(value: Object, fields: Fields, path: str) -> Iterator[str]:
    for name, inner in value.items():
        here = f"{path}.{name}" if path else name
        if name in fields:
            yield from _unknown(inner, fields[name], here)
        else:
            yield here


def _parse(table: str) -> dict[str, Fields]:
    types = {}
    for line in table.strip().splitlines():
        name, _, fields = line.partition(":")
        parts = (field.partition(":") for field in fields.split())
        types[name] = {field: type_name for field, _, type_name in parts}
    return types


_TYPES = _parse(_TABLE)
