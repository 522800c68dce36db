"""The real kubectl against the built-in API, in the operations that people and clusterctl use."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from kubeworld import ADMIN_TOKEN, Clients, RunningServer

from clusterctl.sandbox.kube.access import ClusterAccess

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: work}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1", env: [{name: A, value: "1"}]}
      - {name: side, image: "envoy:1"}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: State, type: string, jsonPath: .status.state}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What the widget is to be.
            required: [size]
            properties: {size: {type: integer, minimum: 1}, color: {type: string, default: red}}
          status:
            type: object
            properties: {state: {type: string}, conditions: {type: array, items: {type: object,
              x-kubernetes-preserve-unknown-fields: true}}}
"""
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "busybox:1"}]},
}


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": name}}, "spec": {}}


def post_as_simulation(server: RunningServer, path: str, body: dict[str, Any], token: str = ADMIN_TOKEN) -> int:
    access = ClusterAccess("", "", server.server.url, server.certificates.authority, token)

    async def send() -> int:
        async with (
            aiohttp.ClientSession(headers=access.headers) as session,
            session.post(access.endpoint + path, json=body, ssl=access.ssl_context()) as response,
        ):
            return response.status

    return int(server.run(send()))


@pytest.fixture
def work(clients: Clients) -> Iterator[Clients]:
    """A namespace of its own, and the other tests' one gone."""
    clients.kubectl("create namespace work")
    clients.kubectl("config set-context --current --namespace=work")
    yield clients
    clients.kubectl("delete namespace work")


def test_it_tells_who_and_what_it_is(clients: Clients) -> None:
    assert "Server Version: v1.37.0-eks-sandbox" in clients.kubectl("version")
    assert clients.kubectl("get --raw /readyz") == "ok"
    assert "is running at https://127.0.0.1" in clients.kubectl("cluster-info")
    assert "deployments" in clients.kubectl("api-resources")
    assert "discovery.k8s.io/v1" in clients.kubectl("api-versions").split()
    assert clients.kubectl("auth can-i create pods").strip() == "yes"
    assert "system:masters" in clients.kubectl("auth whoami")
    listed = clients.kubectl("get priorityclasses,storageclasses,namespaces -o name").split()
    assert {"namespace/kube-system", "storageclass.storage.k8s.io/gp2"} <= set(listed)


def test_nodes_are_made_labelled_tainted_and_drained(clients: Clients) -> None:
    clients.kubectl("create -f -", json.dumps(node("n1")))
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"nvidia.com/gpu": "8"}}
    clients.kubectl(
        f"patch node n1 --subresource=status --type=merge -p {json.dumps({'status': ready}, separators=(',', ':'))}"
    )
    header, row = clients.kubectl("get nodes -o wide").splitlines()
    assert header.split()[:5] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert row.split()[1] == "Ready"
    assert clients.read("get nodes")["items"][0]["status"]["allocatable"] == {"nvidia.com/gpu": "8"}
    clients.kubectl("label node n1 pool=gpu")
    assert "already has a value" in clients.refused("label node n1 pool=cpu")
    clients.kubectl("taint node n1 gpu=yes:NoSchedule")
    clients.kubectl("cordon n1")
    assert "Ready,SchedulingDisabled" in clients.kubectl("get nodes -l pool=gpu")
    assert clients.kubectl("get nodes -l pool!=gpu -o name") == ""
    assert "gpu=yes:NoSchedule" in clients.kubectl("describe node n1")
    clients.kubectl("drain n1 --ignore-daemonsets --timeout=5s")
    clients.kubectl("uncordon n1")
    clients.kubectl("delete node n1")
    assert "not found" in clients.refused("get node n1")


def test_apply_changes_what_changed_and_nothing_else(work: Clients) -> None:
    assert work.apply(config(a="1", b="2")) == "configmap/c created\n"
    assert work.apply(config(a="1", b="2")) == "configmap/c unchanged\n"
    assert work.apply(config(a="9"), "--dry-run=server") == "configmap/c configured (server dry run)\n"
    difference = work.call("kubectl", "diff", "-f", "-", stdin=json.dumps(config(a="9")))
    assert (difference.returncode, '+  a: "9"' in difference.stdout) == (1, True)
    assert work.apply(config(a="9")) == "configmap/c configured\n"
    assert work.read("get configmap c")["data"] == {"a": "9"}
    assert 'namespaces "none" not found' in work.refused("apply -n none -f -", json.dumps(config()))
    broken = DEPLOYMENT.replace("image:", "imagee:", 1)
    assert 'unknown field "spec.template.spec.containers[0].imagee"' in work.refused("apply -f -", broken)


def test_workloads_are_patched_scaled_and_rolled(work: Clients) -> None:
    assert "created" in work.apply(DEPLOYMENT)
    assert "unchanged" in work.apply(DEPLOYMENT)
    work.apply(DEPLOYMENT.replace("envoy:1", "envoy:2"))
    work.kubectl("scale deploy/web --replicas=3")
    work.kubectl("set image deploy/web web=nginx:2")
    work.kubectl("set env deploy/web -c web B=2")
    work.kubectl("rollout restart deploy/web")
    work.kubectl('patch deploy web --type=json -p [{"op":"add","path":"/spec/minReadySeconds","value":1}]')
    spec = work.read("get deploy web")["spec"]
    images = [container["image"] for container in spec["template"]["spec"]["containers"]]
    assert (spec["replicas"], spec["minReadySeconds"], images) == (3, 1, ["nginx:2", "envoy:2"])
    generation = work.read("get deploy web")["metadata"]["generation"]
    assert "timed out" in work.refused("rollout status deploy/web --timeout=1s")
    counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), 3)
    status = {
        "status": {"observedGeneration": generation, **counts, "conditions": [{"type": "Available", "status": "True"}]}
    }
    patch = json.dumps(status, separators=(",", ":"))
    work.kubectl(f"patch deploy web --subresource=status --type=merge -p {patch}")
    assert "successfully rolled out" in work.kubectl("rollout status deploy/web --timeout=60s")
    work.kubectl("wait --for=condition=Available deploy/web --timeout=60s")
    assert work.kubectl("get deploy web").splitlines()[1].split()[:4] == ["web", "3/3", "3", "3"]
    assert "deployment.apps/web" in work.kubectl("get all")
    assert "nginx:2" in work.kubectl("describe deploy web")
    work.kubectl("expose deploy web --port=80")
    assert work.read("get service web")["spec"]["clusterIP"].startswith("10.100.")


def test_typed_commands_speak_protobuf(work: Clients) -> None:
    for line in (
        "create deployment web --image=nginx:1",
        "create secret generic s --from-literal=a=b",
        "create serviceaccount sa",
        "create role r --verb=get --resource=pods",
        "create rolebinding rb --role=r --serviceaccount=work:sa",
        "create quota q --hard=cpu=1",
        "create job j --image=busybox -- true",
        "create cronjob cj --image=busybox --schedule=@hourly -- true",
        "create ingress i --rule=a.example/x=web:80",
        "create poddisruptionbudget pdb --selector=app=web --min-available=50%",
        "autoscale deployment web --min=1 --max=3",
        "run pod --image=nginx",
    ):
        assert work.kubectl(line), line
    assert len(work.kubectl("create token sa").split(".")) == 3
    assert work.read("get role r")["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    assert work.read("get pdb pdb")["spec"]["minAvailable"] == "50%"
    assert work.read("get ingress i")["spec"]["rules"][0]["host"] == "a.example"
    assert work.read("get secret s")["data"] == {"a": "Yg=="}
    assert work.read("get job j")["spec"]["template"]["metadata"]["labels"]["job-name"] == "j"


def test_waits_see_what_comes_changes_and_goes(work: Clients) -> None:
    coming = work.start("kubectl", "wait", "--for=create", "configmap/c", "--timeout=60s")
    table = work.start("kubectl", "get", "configmaps", "-w")
    time.sleep(0.5)
    work.apply(config(a="1"))
    assert coming.wait(60) == 0
    valued = work.start("kubectl", "wait", "--for=jsonpath={.data.a}=2", "configmap/c", "--timeout=60s")
    time.sleep(0.3)
    work.apply(config(a="2"))
    assert valued.wait(60) == 0
    gone = work.start("kubectl", "wait", "--for=delete", "configmap/c", "--timeout=60s")
    time.sleep(0.3)
    work.kubectl("delete configmap c")
    assert gone.wait(60) == 0
    assert "timed out" in work.refused("wait --for=jsonpath={.data.x}=1 configmap/kube-root-ca.crt --timeout=1s")
    table.terminate()
    printed, _ = table.communicate()
    assert [line.split()[0] for line in printed.splitlines()][:3] == ["NAME", "kube-root-ca.crt", "c"]


def test_custom_resources_live_by_their_definition(work: Clients) -> None:
    assert re.search("no matches for kind|could not find", work.refused("apply -f -", json.dumps(WIDGET)))
    work.apply(DEFINITION)
    work.kubectl("wait --for=condition=Established crd/widgets.example.com --timeout=60s")
    work.apply(WIDGET)
    assert work.read("get widget w")["spec"] == {"size": 3, "color": "red"}
    assert "greater than or equal to 1" in work.refused('patch wd w --type=merge -p {"spec":{"size":0}}')
    assert 'unknown field "spec.sizee"' in work.refused(
        "apply -f -", json.dumps({**WIDGET, "spec": {"size": 1, "sizee": 1}})
    )
    work.kubectl('patch wd w --type=merge -p {"status":{"state":"lost"}}')
    work.kubectl('patch wd w --subresource=status --type=merge -p {"status":{"state":"up"}}')
    assert work.kubectl("get wd").split() == ["NAME", "SIZE", "STATE", "w", "3", "up"]
    assert "What the widget is to be." in work.kubectl("explain widget.spec")
    assert "widget.example.com/w" in work.kubectl("get all")
    assert "Size:" in work.kubectl("describe wd w")
    work.kubectl("delete crd widgets.example.com")
    assert "not found" in work.refused("get crd widgets.example.com")


def test_server_side_apply_knows_who_owns_what(work: Clients) -> None:
    work.apply(DEPLOYMENT, "--server-side --field-manager=one")
    work.kubectl("set image deploy/web web=nginx:2")
    changed = DEPLOYMENT.replace("nginx:1", "nginx:3")
    refusal = work.refused("apply --server-side --field-manager=one -f -", changed)
    assert 'conflict with "kubectl-set" using apps/v1: .spec.template.spec.containers[name="web"].image' in refusal
    work.apply(changed, "--server-side --field-manager=one --force-conflicts")
    without = "\n".join(line for line in changed.splitlines() if "name: side" not in line)
    work.apply(without, "--server-side --field-manager=one")
    containers = work.read("get deploy web")["spec"]["template"]["spec"]["containers"]
    assert [(c["name"], c["image"]) for c in containers] == [("web", "nginx:3")]
    assert "f:image" in work.kubectl("get deploy web -o yaml --show-managed-fields")


def test_writes_that_lose_a_race_are_refused(work: Clients) -> None:
    work.apply(config(a="1"))
    stale = work.read("get configmap c")
    work.apply(config(a="2"))
    assert "the object has been modified" in work.refused("replace -f -", json.dumps(stale))
    assert "already exists" in work.refused("create -f -", json.dumps(config()))
    del stale["metadata"]["resourceVersion"]
    assert "replaced" in work.kubectl("replace -f -", json.dumps(stale))


def test_lists_come_in_pages_and_names_are_made_up(work: Clients) -> None:
    unnamed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-", "labels": {"set": "g"}}}
    made = {work.kubectl("create -f - -o name", json.dumps(unnamed)) for _ in range(3)}
    listed = work.kubectl("get configmaps --chunk-size=1 -l set=g -o name").splitlines(keepends=True)
    assert (len(made), set(listed)) == (3, made)
    work.kubectl("delete configmaps -l set=g")
    assert work.kubectl("get configmaps -l set=g -o name") == ""
    assert work.kubectl("delete configmap none --ignore-not-found") == ""


def test_deletion_waits_for_finalizers(work: Clients) -> None:
    held = config()
    held["metadata"]["finalizers"] = ["example.com/wait"]
    work.apply(held)
    deleting = work.start("kubectl", "delete", "configmap", "c")
    time.sleep(0.4)
    assert deleting.poll() is None
    work.kubectl('patch configmap c --type=merge -p {"metadata":{"finalizers":null}}')
    assert deleting.wait(60) == 0


def test_pods_have_logs_and_answer_commands(server: RunningServer, work: Clients, tmp_path: Path) -> None:
    work.apply(POD)
    path = "/sandbox/pods/work/p"
    assert post_as_simulation(server, f"{path}/log", {"lines": ["one", "two", "three"]}) == 200
    assert post_as_simulation(server, f"{path}/exec", {"match": "^fi_info", "stdout": "provider: efa\n"}) == 200
    assert work.kubectl("logs p --tail=2") == "two\nthree\n"
    assert work.kubectl("logs p -c c --since=1h --timestamps").count("T") == 3
    assert "container x is not valid for pod p" in work.refused("logs p -c x")
    following = work.start("kubectl", "logs", "-f", "p", "--tail=0")
    time.sleep(0.4)
    post_as_simulation(server, f"{path}/log", {"lines": ["four"]})
    assert work.kubectl("exec p -- fi_info -p efa") == "provider: efa\n"
    assert work.kubectl("exec p -- echo hello") == "hello\n"
    assert work.call("kubectl", "exec", "p", "--", "sh", "-c", "exit 3").returncode == 3
    assert "not emulated" in work.refused("exec p -- nvidia-smi")
    assert work.kubectl("exec -i p -- cat", stdin="typed") == "typed"
    (tmp_path / "up.txt").write_text("carried")
    work.kubectl("cp up.txt p:/data/up.txt")
    work.kubectl("cp p:/data/up.txt down.txt")
    assert (tmp_path / "down.txt").read_text() == "carried"
    work.kubectl("delete pod p --grace-period=0 --force")
    assert following.wait(60) == 0
    assert following.communicate()[0] == "four\n"


def test_only_the_simulation_writes_logs(server: RunningServer, work: Clients) -> None:
    work.apply(POD)
    token = work.kubectl("create token default").strip()
    assert post_as_simulation(server, "/sandbox/pods/work/p/log", {"lines": ["x"]}, token) == 403
    assert post_as_simulation(server, "/sandbox/pods/work/p/log", {"lines": ["x"]}, "no token") == 401
    work.kubectl("delete pod p --grace-period=0 --force")


def test_a_budget_stops_an_eviction(work: Clients) -> None:
    pod = {**POD, "metadata": {"name": "p", "labels": {"app": "db"}}}
    work.apply(pod)
    status = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    work.kubectl(f"patch pod p --subresource=status --type=merge -p {status}")
    work.kubectl("create poddisruptionbudget b --selector=app=db --min-available=1")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "work"}}
    path = "/api/v1/namespaces/work/pods/p/eviction"
    assert "would violate the pod's disruption budget" in work.refused(
        f"create --raw {path} -f -", json.dumps(eviction)
    )
    work.kubectl("delete pdb b")
    work.kubectl(f"create --raw {path} -f -", json.dumps(eviction))
    assert work.read("get pod p")["metadata"]["deletionTimestamp"]
    work.kubectl("delete pod p --grace-period=0 --force")


def test_events_are_told_by_what_they_are_about(work: Clients) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "work"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "work"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "0/2 nodes are available",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    work.apply(event)
    header, row = work.kubectl("get events").splitlines()
    assert header.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row.split()[1:4] == ["Warning", "FailedScheduling", "pod/p"]
    assert "0/2 nodes are available" in work.kubectl("events --for pod/p")
