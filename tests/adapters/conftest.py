"""Real tools against an API in this process; each session has its own folder for caches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_kube import Cluster, running_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two system nodes and two GPU nodes."""
    with running_cluster(tmp_path_factory.mktemp("tools")) as found:
        yield found
