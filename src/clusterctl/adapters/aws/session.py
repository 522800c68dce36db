"""The one way to AWS: one boto3 Session, a lock around the making of clients, each client made once."""

from __future__ import annotations

import ipaddress
import os
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from clusterctl import __version__
from clusterctl.adapters.aws.faults import translated
from clusterctl.errors import UsageError
from clusterctl.ports import Identity

HOME_REGION = "us-east-1"
CONNECTIONS = 24  # calls that one client may have in flight at once
EC2_ACTIONS = frozenset({
    "CancelCapacityReservation", "CreateCapacityReservation", "CreateTags", "DeleteLaunchTemplate", "DeleteNatGateway",
    "DeleteNetworkInterface", "DeletePlacementGroup", "DeleteSecurityGroup", "DeleteSnapshot", "DeleteVolume",
    "DescribeAddresses", "DescribeAvailabilityZones", "DescribeCapacityReservations", "DescribeInstanceTypeOfferings",
    "DescribeInstanceTypes", "DescribeInstances", "DescribeLaunchTemplateVersions", "DescribeLaunchTemplates",
    "DescribeNatGateways", "DescribeNetworkInterfaces", "DescribePlacementGroups", "DescribeRegions",
    "DescribeRouteTables", "DescribeSecurityGroups", "DescribeSnapshots", "DescribeSubnets", "DescribeTags",
    "DescribeVolumes", "DescribeVpcs", "GetSpotPlacementScores", "ReleaseAddress", "RevokeSecurityGroupEgress",
    "RevokeSecurityGroupIngress", "TerminateInstances",
})  # fmt: skip


class Purpose(Enum):
    """How often botocore may repeat a call by itself."""

    READ = "read"
    ONCE = "once"  # for writes whose repeats are ours, and for those that must never be repeated


@dataclass(frozen=True, slots=True)
class Credentials:
    """Keys that are given rather than found by boto3's own chain."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str = field(repr=False, default="")


class AwsSession:
    """Hands out clients; safe to use from threads. Implements ports.Account.

    With an `endpoint_url` every call goes there, and one that would leave this machine is refused.
    With `credentials`, neither the user's AWS files nor their profile are looked at.
    """

    def __init__(
        self,
        *,
        profile: str = "",
        credentials: Credentials | None = None,
        endpoint_url: str | None = None,
        home_region: str = HOME_REGION,
    ) -> None:
        self.endpoint_url = endpoint_url
        self.home_region = home_region
        self._profile = profile
        self._credentials = credentials
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str, Purpose], Any] = {}
        self._session: Any = None

    def client(self, service: str, region: str = "", purpose: Purpose = Purpose.READ) -> Any:
        """The client of a service in a region. Raises AccessError if the profile does not exist."""
        key = (service, region or self.home_region, purpose)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._make(*key)
            return self._clients[key]

    def identity(self) -> Identity:
        """Raises AccessError without credentials, or with ones that are expired or wrong."""
        with translated("tell who is calling AWS"):
            answer = self.client("sts").get_caller_identity()
        return Identity(answer["Account"], answer["Arn"], answer["Arn"].split(":")[1])

    def _make(self, service: str, region: str, purpose: Purpose) -> Any:
        with translated(f"make a client for {service}"):
            self._session = self._session or self._open()
            client = self._session.client(
                service, region_name=region, endpoint_url=self.endpoint_url, config=self._config(purpose)
            )
            # Loads how the service pages, once and here: threads that page first would each search all of botocore.
            client.can_paginate(next(iter(client.meta.method_to_api_mapping)))
            return client

    def _open(self) -> Any:
        import boto3
        import botocore.session

        given = self._credentials
        engine = botocore.session.Session(session_vars=_NO_FILES if given else None)
        keep_what_is_called(engine.get_component("data_loader"))
        if self.endpoint_url:
            engine.get_component("event_emitter").register_first("before-send", refuse_to_leave)
        if given is None:
            return boto3.Session(profile_name=self._profile or None, botocore_session=engine)
        return boto3.Session(
            aws_access_key_id=given.access_key,
            aws_secret_access_key=given.secret_key,
            aws_session_token=given.token or None,
            botocore_session=engine,
        )

    def _config(self, purpose: Purpose) -> Any:
        from botocore.config import Config

        once = purpose is Purpose.ONCE
        return Config(
            connect_timeout=4,
            read_timeout=30 if once else 15,
            retries={"mode": "standard", "total_max_attempts": 1 if once else 5},
            max_pool_connections=CONNECTIONS,
            user_agent_extra=f"clusterctl/{__version__}",
            # a proxy of the environment would carry loopback calls off this machine
            proxies={} if self.endpoint_url else None,
        )


_NO_FILES: Any = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}


def keep_what_is_called(loader: Any) -> None:
    """Leave out of EC2's 800 operations what is never called: botocore makes a method of each, for every region."""
    model = loader.load_service_model("ec2", "service-2")  # the loader keeps it, and gives the same one to clients
    model["operations"] = {name: one for name, one in model["operations"].items() if name in EC2_ACTIONS}


def refuse_to_leave(request: Any, **_: Any) -> None:
    """A botocore handler of `before-send`. Raises UsageError for a host that is not this machine's loopback."""
    host = urlsplit(request.url).hostname or ""
    if not is_loopback(host):
        raise UsageError(
            f"refused: a call to {host} would leave this machine",
            hint="in the sandbox every AWS call stays on loopback; leave out --sandbox to use AWS itself",
        )


def is_loopback(host: str) -> bool:
    """True for `localhost` and for the loopback addresses of IPv4 and IPv6."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
