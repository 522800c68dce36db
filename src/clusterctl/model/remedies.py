"""What helps a component that does not come up, by the words of Kubernetes."""

from __future__ import annotations

from clusterctl.model.components import ComponentState
from clusterctl.model.kube import PodProblem, Proof

_REASONS = {
    "Unschedulable": "give the system nodes more room: SYSTEM_NODE_COUNT or SYSTEM_NODE_TYPE, then clusterctl cluster",
    "ImagePullBackOff": "nodes cannot pull the image: check its name, the registry and the nodes' way out",
    "ErrImagePull": "nodes cannot pull the image: check its name, the registry and the nodes' way out",
    "CreateContainerConfigError": "a Secret or ConfigMap that the pod names is missing",
}


def remedy(state: ComponentState) -> str:
    """What to do about the first thing that a component lacks."""
    for workload in state.workloads:
        if workload.exists and not workload.rolled_out and workload.problems:
            return _of_pod(workload.ref.namespace, workload.problems[0])
    waiting = next((one for one in state.component.proofs if any(str(one) in said for said in state.unproved)), None)
    if waiting and waiting.proof is Proof.CALLABLE:
        return (
            f"its server writes that once it runs: kubectl logs --namespace {state.component.namespace} "
            f"--selector app.kubernetes.io/instance={state.component.release} --all-containers"
        )
    if waiting:
        space = f" --namespace {waiting.namespace}" if waiting.namespace else ""
        return f"kubectl describe {waiting.resource} {waiting.name}{space}"
    return f"kubectl get pods --namespace {state.component.namespace}"


def _of_pod(namespace: str, problem: PodProblem) -> str:
    if problem.reason in _REASONS:
        return _REASONS[problem.reason]
    if problem.reason == "CrashLoopBackOff":
        return f"kubectl logs --previous --namespace {namespace} {problem.pod}"
    return f"kubectl describe pod --namespace {namespace} {problem.pod}"
