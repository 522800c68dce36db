"""Real tools against an API in this process; each session has its own folder for caches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_aws import LocalAws, running_aws
from local_kube import Cluster, running_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two system nodes and two GPU nodes."""
    with running_cluster(tmp_path_factory.mktemp("tools")) as found:
        yield found


@pytest.fixture(scope="session")
def aws_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    with running_aws(tmp_path_factory.mktemp("aws")) as found:
        yield found


@pytest.fixture
def aws(aws_daemon: LocalAws) -> LocalAws:
    """AWS as if nobody had ever used it."""
    aws_daemon.reset()
    return aws_daemon
