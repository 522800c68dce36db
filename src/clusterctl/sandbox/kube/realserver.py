"""A real etcd and kube-apiserver for a cluster, from the folder that KUBEBUILDER_ASSETS names (envtest's rule)."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp

from clusterctl.errors import ToolFailedError, ToolMissingError
from clusterctl.sandbox.kube.access import ClusterAccess

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.sandbox.kube.certificates import Certificates

_READY_WITHIN_S = 60.0
_POLL_S = 0.1
_STOP_WITHIN_S = 5.0  # kube-apiserver takes over 20 s with open watches; nothing of it is worth the wait
_LOOPBACK = "127.0.0.1"


@dataclass(slots=True)
class RealServer:
    """Two child processes and their files in `folder`, which goes with them."""

    assets: Path
    folder: Path
    certificates: Certificates
    url: str = ""
    ready_within_s: float = _READY_WITHIN_S
    _processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def start(self, admin_token: str, webhook_url: str) -> None:
        """Raises ToolMissingError without the binaries, ToolFailedError when the API does not become ready."""
        for name in ("etcd", "kube-apiserver"):
            if not (self.assets / name).is_file():
                raise ToolMissingError(
                    f"{self.assets} holds no {name}", hint="unset KUBEBUILDER_ASSETS to use the built-in API"
                )
        self._write_files(admin_token, webhook_url)
        etcd, peer, port = (_free_port() for _ in range(3))
        self.url = f"https://{_LOOPBACK}:{port}"
        try:
            await self._spawn("etcd", etcd_arguments(self.folder, etcd, peer))
            await self._spawn("kube-apiserver", apiserver_arguments(self.folder, etcd, port))
            await self._wait_until_ready(admin_token)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End both processes, the API first, and remove their files."""
        while self._processes:
            await _end(self._processes.pop())
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write_files(self, admin_token: str, webhook_url: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        certificates = self.certificates
        texts = {
            "ca.crt": certificates.authority,
            "server.crt": certificates.certificate,
            "server.key": certificates.key,
            "tokens.csv": f'{admin_token},sandbox:controllers,controllers,"system:masters"\n',
            "webhook.json": json.dumps(_webhook_config(webhook_url)),
        }
        for name, text in texts.items():
            path = self.folder / name
            path.touch(mode=0o600)
            path.write_text(text)

    async def _spawn(self, name: str, arguments: list[str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                self.assets / name,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)

    async def _wait_until_ready(self, admin_token: str) -> None:
        access = ClusterAccess("", "", self.url, self.certificates.authority, admin_token)
        connector = aiohttp.TCPConnector(ssl=access.ssl_context())
        async with aiohttp.ClientSession(connector=connector, headers=access.headers) as session:
            try:
                async with asyncio.timeout(self.ready_within_s):
                    while not await _is_ready(session, self.url):
                        self._check_alive()
                        await asyncio.sleep(_POLL_S)
            except TimeoutError:
                raise self._failure("did not become ready") from None

    def _check_alive(self) -> None:
        if any(process.returncode is not None for process in self._processes):
            raise self._failure("ended while starting")

    def _failure(self, what: str) -> ToolFailedError:
        logs = (self.folder / f"{name}.log" for name in ("etcd", "kube-apiserver"))
        output = "\n".join(log.read_text(errors="replace")[-2000:] for log in logs if log.exists())
        return ToolFailedError(f"kube-apiserver from {self.assets} {what}", output=output)


def etcd_arguments(folder: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = (f"http://{_LOOPBACK}:{port}" for port in (client_port, peer_port))
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    ]


def apiserver_arguments(folder: Path, etcd_port: int, port: int) -> list[str]:
    """ServiceAccount and pods' node restrictions are off where they need controllers that do not run."""
    return [
        f"--etcd-servers=http://{_LOOPBACK}:{etcd_port}",
        f"--bind-address={_LOOPBACK}",
        f"--advertise-address={_LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={folder / 'server.crt'}",
        f"--tls-private-key-file={folder / 'server.key'}",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        f"--authentication-token-webhook-config-file={folder / 'webhook.json'}",
        "--authentication-token-webhook-version=v1",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.100.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'server.key'}",
        f"--service-account-signing-key-file={folder / 'server.key'}",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        "--allow-privileged=true",
    ]


def _webhook_config(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "sandbox", "cluster": {"server": url}}],
        "users": [{"name": "kube-apiserver", "user": {}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "kube-apiserver"}}],
        "current-context": "sandbox",
    }


async def _is_ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(f"{url}/readyz") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_WITHIN_S)
        except TimeoutError:
            process.kill()
            await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
