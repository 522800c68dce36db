"""Field numbers of the Kubernetes protobuf messages that clients send (k8s.io/api, generated.proto)."""

from __future__ import annotations

from typing import NamedTuple


class FieldType(NamedTuple):
    """How one field is decoded: JSON name, type, and whether it is a list, a map or inlined into its parent."""

    name: str
    type: str
    shape: str = "one"  # one, list, map or inline


# Message: NUMBER name type; types: str int bool bytes time quantity intstr json raw, or a message;
# []T is a list, {}T a map from strings, =T is inlined.
_TABLE = """
Unknown: 1 typeMeta TypeMeta; 2 raw raw
TypeMeta: 1 apiVersion str; 2 kind str
ObjectMeta: 1 name str; 2 generateName str; 3 namespace str; 5 uid str; 6 resourceVersion str; 7 generation int; \
 8 creationTimestamp time; 9 deletionTimestamp time; 10 deletionGracePeriodSeconds int; 11 labels {}str; \
 12 annotations {}str; 13 ownerReferences []OwnerReference; 14 finalizers []str; 17 managedFields []ManagedFields
OwnerReference: 1 kind str; 3 name str; 4 uid str; 5 apiVersion str; 6 controller bool; 7 blockOwnerDeletion bool
ManagedFields: 1 manager str; 2 operation str; 3 apiVersion str; 4 time time; 6 fieldsType str; \
 7 fieldsV1 FieldsV1; 8 subresource str
FieldsV1: 1 Raw =json
DeleteOptions: 1 gracePeriodSeconds int; 2 preconditions Preconditions; 3 orphanDependents bool; \
 4 propagationPolicy str; 5 dryRun []str
Preconditions: 1 uid str; 2 resourceVersion str
LabelSelector: 1 matchLabels {}str; 2 matchExpressions []Requirement
Requirement: 1 key str; 2 operator str; 3 values []str
ObjectReference: 1 kind str; 2 namespace str; 3 name str; 4 uid str; 5 apiVersion str; 6 resourceVersion str; \
 7 fieldPath str
LocalReference: 1 name str
Secret: 1 metadata ObjectMeta; 2 data {}bytes; 3 type str; 4 stringData {}str; 5 immutable bool
ConfigMap: 1 metadata ObjectMeta; 2 data {}str; 3 binaryData {}bytes; 4 immutable bool
Namespace: 1 metadata ObjectMeta; 2 spec NamespaceSpec
NamespaceSpec: 1 finalizers []str
ServiceAccount: 1 metadata ObjectMeta; 2 secrets []ObjectReference; 3 imagePullSecrets []LocalReference; \
 4 automountServiceAccountToken bool
Service: 1 metadata ObjectMeta; 2 spec ServiceSpec
ServiceSpec: 1 ports []ServicePort; 2 selector {}str; 3 clusterIP str; 4 type str; 5 externalIPs []str; \
 7 sessionAffinity str; 8 loadBalancerIP str; 9 loadBalancerSourceRanges []str; 10 externalName str
ServicePort: 1 name str; 2 protocol str; 3 port int; 4 targetPort intstr; 5 nodePort int; 6 appProtocol str
ResourceQuota: 1 metadata ObjectMeta; 2 spec ResourceQuotaSpec
ResourceQuotaSpec: 1 hard {}quantity; 2 scopes []str
Binding: 1 metadata ObjectMeta; 2 target ObjectReference
Pod: 1 metadata ObjectMeta; 2 spec PodSpec
PodTemplateSpec: 1 metadata ObjectMeta; 2 spec PodSpec
PodSpec: 2 containers []Container; 3 restartPolicy str; 4 terminationGracePeriodSeconds int; \
 5 activeDeadlineSeconds int; 6 dnsPolicy str; 7 nodeSelector {}str; 8 serviceAccountName str; \
 9 serviceAccount str; 10 nodeName str; 11 hostNetwork bool; 12 hostPID bool; 13 hostIPC bool; \
 15 imagePullSecrets []LocalReference; 16 hostname str; 17 subdomain str; 19 schedulerName str; \
 20 initContainers []Container; 22 tolerations []Toleration; 24 priorityClassName str
Toleration: 1 key str; 2 operator str; 3 value str; 4 effect str; 5 tolerationSeconds int
Container: 1 name str; 2 image str; 3 command []str; 4 args []str; 5 workingDir str; 6 ports []ContainerPort; \
 7 env []EnvVar; 8 resources Resources; 14 imagePullPolicy str; 16 stdin bool; 17 stdinOnce bool; 18 tty bool
ContainerPort: 1 name str; 2 hostPort int; 3 containerPort int; 4 protocol str
EnvVar: 1 name str; 2 value str
Resources: 1 limits {}quantity; 2 requests {}quantity
Deployment: 1 metadata ObjectMeta; 2 spec DeploymentSpec
DeploymentSpec: 1 replicas int; 2 selector LabelSelector; 3 template PodTemplateSpec; \
 4 strategy DeploymentStrategy; 5 minReadySeconds int; 6 revisionHistoryLimit int; 7 paused bool; \
 9 progressDeadlineSeconds int
DeploymentStrategy: 1 type str; 2 rollingUpdate RollingUpdate
RollingUpdate: 1 maxUnavailable intstr; 2 maxSurge intstr
Job: 1 metadata ObjectMeta; 2 spec JobSpec
JobSpec: 1 parallelism int; 2 completions int; 3 activeDeadlineSeconds int; 4 selector LabelSelector; \
 5 manualSelector bool; 6 template PodTemplateSpec; 7 backoffLimit int; 8 ttlSecondsAfterFinished int; \
 9 completionMode str; 10 suspend bool
CronJob: 1 metadata ObjectMeta; 2 spec CronJobSpec
CronJobSpec: 1 schedule str; 2 startingDeadlineSeconds int; 3 concurrencyPolicy str; 4 suspend bool; \
 5 jobTemplate JobTemplateSpec; 6 successfulJobsHistoryLimit int; 7 failedJobsHistoryLimit int; 8 timeZone str
JobTemplateSpec: 1 metadata ObjectMeta; 2 spec JobSpec
Scale: 1 metadata ObjectMeta; 2 spec ScaleSpec
ScaleSpec: 1 replicas int
HorizontalPodAutoscaler: 1 metadata ObjectMeta; 2 spec AutoscalerSpec
AutoscalerSpec: 1 scaleTargetRef ScaleTarget; 2 minReplicas int; 3 maxReplicas int; 4 metrics []MetricSpec
ScaleTarget: 1 kind str; 2 name str; 3 apiVersion str
MetricSpec: 1 type str; 4 resource ResourceMetric
ResourceMetric: 1 name str; 2 target MetricTarget
MetricTarget: 1 type str; 2 value quantity; 3 averageValue quantity; 4 averageUtilization int
Role: 1 metadata ObjectMeta; 2 rules []PolicyRule
ClusterRole: 1 metadata ObjectMeta; 2 rules []PolicyRule; 3 aggregationRule AggregationRule
AggregationRule: 1 clusterRoleSelectors []LabelSelector
PolicyRule: 1 verbs []str; 2 apiGroups []str; 3 resources []str; 4 resourceNames []str; 5 nonResourceURLs []str
RoleBinding: 1 metadata ObjectMeta; 2 subjects []Subject; 3 roleRef RoleRef
ClusterRoleBinding: 1 metadata ObjectMeta; 2 subjects []Subject; 3 roleRef RoleRef
Subject: 1 kind str; 2 apiGroup str; 3 name str; 4 namespace str
RoleRef: 1 apiGroup str; 2 kind str; 3 name str
PriorityClass: 1 metadata ObjectMeta; 2 value int; 3 globalDefault bool; 4 description str; 5 preemptionPolicy str
PodDisruptionBudget: 1 metadata ObjectMeta; 2 spec DisruptionSpec
DisruptionSpec: 1 minAvailable intstr; 2 selector LabelSelector; 3 maxUnavailable intstr; \
 4 unhealthyPodEvictionPolicy str
Eviction: 1 metadata ObjectMeta; 2 deleteOptions DeleteOptions
Ingress: 1 metadata ObjectMeta; 2 spec IngressSpec
IngressSpec: 1 defaultBackend IngressBackend; 2 tls []IngressTLS; 3 rules []IngressRule; 4 ingressClassName str
IngressTLS: 1 hosts []str; 2 secretName str
IngressRule: 1 host str; 2 value =IngressRuleValue
IngressRuleValue: 1 http HTTPRule
HTTPRule: 1 paths []HTTPPath
HTTPPath: 1 path str; 2 backend IngressBackend; 3 pathType str
IngressBackend: 4 service IngressService
IngressService: 1 name str; 2 port IngressPort
IngressPort: 1 name str; 2 number int
TokenRequest: 1 metadata ObjectMeta; 2 spec TokenRequestSpec
TokenRequestSpec: 1 audiences []str; 4 expirationSeconds int
SelfSubjectReview: 1 metadata ObjectMeta
SelfSubjectRulesReview: 1 metadata ObjectMeta; 2 spec RulesReviewSpec
RulesReviewSpec: 1 namespace str
SelfSubjectAccessReview: 1 metadata ObjectMeta; 2 spec AccessReviewSpec
AccessReviewSpec: 1 resourceAttributes ResourceAttributes; 2 nonResourceAttributes NonResourceAttributes
ResourceAttributes: 1 namespace str; 2 verb str; 3 group str; 4 version str; 5 resource str; 6 subresource str; \
 7 name str
NonResourceAttributes: 1 path str; 2 verb str
"""

Message = dict[int, FieldType]


def _parse(table: str) -> dict[str, Message]:
    messages = {}
    for line in table.strip().splitlines():
        name, _, fields = line.partition(":")
        words = (field.split() for field in fields.split(";"))
        messages[name] = {int(number): _field_type(field, kind) for number, field, kind in words}
    return messages


def _field_type(name: str, kind: str) -> FieldType:
    for prefix, shape in (("[]", "list"), ("{}", "map"), ("=", "inline")):
        if kind.startswith(prefix):
            return FieldType(name, kind.removeprefix(prefix), shape)
    return FieldType(name, kind)


MESSAGES = _parse(_TABLE)
