"""What `clusterctl status` reads."""

from __future__ import annotations

from typing import Any

from clusterctl.errors import UsageError
from clusterctl.model.cluster import TAG_EXPIRES, TAG_RUN, ClusterState, NodegroupState
from clusterctl.model.cost import Cost, cluster_cost
from clusterctl.model.placement import Placement
from clusterctl.model.spending import Spent, spent
from clusterctl.wiring.bench import Bench


def read_status(bench: Bench) -> dict[str, Any]:
    """Cluster, node group, price and expiry, as AWS shows them now."""
    cluster, group = _states(bench)
    expires = cluster.tags.get(TAG_EXPIRES) or (bench.remembered.expires_at if bench.remembered else "")
    return {
        "account_id": bench.identity.account_id,
        "cluster": {
            "name": cluster.name,
            "region": cluster.region,
            "status": cluster.status,
            "version": cluster.version,
            "since": cluster.created.isoformat(timespec="seconds") if cluster.created else "",
            "made_by_clusterctl": cluster.ours,
        },
        "nodegroup": {
            "name": group.name,
            "status": group.status,
            "instance_type": group.instance_type,
            "instances": group.instances,
            "zones": list(group.zones),
            "issues": [f"{issue.code}: {issue.message}" for issue in group.issues],
        },
        "expires_at": expires,
        **_spent(bench, cluster, group).document(),
        "health": _health(cluster, group),
        "kubeconfig": bench.tools.kubeconfig.path(cluster.name, cluster.region) if cluster.exists else "",
        "next": _next(cluster, group),
    }


def settings_document(bench: Bench) -> list[dict[str, Any]]:
    """Each setting with its value and its origin."""
    sources = bench.resolved.sources
    values = bench.settings.model_dump()
    return [
        {
            "key": name.upper(),
            "value": value,
            "source": sources[name.upper()].source if name.upper() in sources else "default",
        }
        for name, value in values.items()
    ]


def adopted(bench: Bench) -> dict[str, Any]:
    """Write the placement file anew from what stands. Raises UsageError if nothing does."""
    cluster, group = _states(bench)
    if not cluster.exists:
        raise UsageError(
            f"there is no cluster {cluster.name} in {cluster.region} to adopt",
            hint="name it with --cluster-name and --region",
        )
    zone = next(iter(group.zones), "")
    bench.placement_file.save(
        Placement(
            account_id=bench.identity.account_id,
            region=cluster.region,
            cluster_name=cluster.name,
            gpu_az=zone,
            gpu_subnet=next(iter(group.subnets), ""),
            gpu_node_type=group.instance_type,
            gpu_node_count=group.desired,
            gpu_nodegroup_name=group.name if group.exists else "",
            capacity_reservation_id=group.named_reservation,
            capacity_source="reservation" if group.named_reservation else "unprobed",
            run_id=cluster.tags.get(TAG_RUN, ""),
            expires_at=cluster.tags.get(TAG_EXPIRES, ""),
        )
    )
    return read_status(bench)


def _states(bench: Bench) -> tuple[ClusterState, NodegroupState]:
    target, clusters = bench.target, bench.tools.clusters
    return (
        clusters.cluster(target.region, target.cluster),
        clusters.nodegroup(target.region, target.cluster, target.nodegroup),
    )


def spent_so_far(bench: Bench) -> dict[str, Any]:
    """Hours times prices since the cluster and its node group were made, as AWS shows them now."""
    return _spent(bench, *_states(bench)).document()


def _spent(bench: Bench, cluster: ClusterState, group: NodegroupState) -> Spent:
    settings, now = bench.settings, bench.clock.now()
    if not cluster.exists:
        return spent(Cost(()), cluster, group, now, "")
    kinds = {settings.system_node_type, group.instance_type} - {""}
    prices, source = bench.tools.survey.priced(cluster.region, kinds, now.date())
    gpu = (group.instance_type, group.instances) if group.exists else (settings.system_node_type, 0)
    cost = cluster_cost(gpu, (settings.system_node_type, settings.system_node_count), prices)
    return spent(cost, cluster, group, now, source)


def _next(cluster: ClusterState, group: NodegroupState) -> str:
    if not cluster.exists:
        return "clusterctl deploy-all"
    if not cluster.ready:
        return "clusterctl cluster"
    return "clusterctl verify" if group.ready else "clusterctl nodegroup"


def _health(cluster: ClusterState, group: NodegroupState) -> str:
    """In a word: absent, settling, degraded, or well."""
    if not cluster.exists:
        return "absent"
    if group.issues or cluster.addon_issues or "DEGRADED" in (cluster.status, group.status):
        return "degraded"
    return "well" if cluster.ready and (group.ready or not group.exists) else "settling"
