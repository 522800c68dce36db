"""The few commands that exist in an emulated container, over files that live in memory."""

from __future__ import annotations

import io
import re
import tarfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Files = dict[str, bytes]
    Command = Callable[[Sequence[str], bytes, Files], "Outcome"]


class Outcome(NamedTuple):
    """What a command printed and its exit code."""

    code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""


def run(words: Sequence[str], stdin: bytes, files: Files) -> Outcome:
    """Look a command up and emulate it; 126 and 127 as a container runtime gives them."""
    if not words:
        return Outcome(126, b"", b"no command given\n")
    name = words[0].rpartition("/")[2]
    command = _COMMANDS.get(name)
    if command is None:
        message = f'exec: "{words[0]}": executable file not found in $PATH (not emulated by the sandbox)\n'
        return Outcome(127, b"", message.encode())
    return command(words[1:], stdin, files)


def reads_stdin(words: Sequence[str]) -> bool:
    """Whether a command waits for its input to end."""
    name = words[0].rpartition("/")[2] if words else ""
    return name == "sbatch" or (name == "cat" and len(words) == 1) or (name == "tar" and "x" in (words[1:2] or [""])[0])


def _echo(words: Sequence[str], _stdin: bytes, _files: Files) -> Outcome:
    return Outcome(0, (" ".join(words) + "\n").encode())


def _cat(words: Sequence[str], stdin: bytes, files: Files) -> Outcome:
    if not words:
        return Outcome(0, stdin)
    missing = [path for path in words if path not in files]
    printed = b"".join(files[path] for path in words if path in files)
    complaint = "".join(f"cat: {path}: No such file or directory\n" for path in missing)
    return Outcome(1 if missing else 0, printed, complaint.encode())


def _test(words: Sequence[str], _stdin: bytes, files: Files) -> Outcome:
    flag, path = (words[0], words[1].rstrip("/")) if len(words) == 2 else ("", "")
    is_folder = any(name.startswith(f"{path}/") for name in files) or path in {"", "/tmp"}  # noqa: S108
    found = {"-d": is_folder, "-f": path in files, "-e": is_folder or path in files}
    return Outcome(0 if flag and found.get(flag) else 1)


def _tar(words: Sequence[str], stdin: bytes, files: Files) -> Outcome:
    return _unpack(words, stdin, files) if "x" in words[0] else _pack(words, files)


def _unpack(words: Sequence[str], stdin: bytes, files: Files) -> Outcome:
    folder = words[words.index("-C") + 1] if "-C" in words else "/"
    with tarfile.open(fileobj=io.BytesIO(stdin)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                files[f"{folder.rstrip('/')}/{member.name.lstrip('/')}"] = content.read()
    return Outcome()


def _pack(words: Sequence[str], files: Files) -> Outcome:
    path = words[-1]
    chosen = {name: data for name, data in files.items() if name == path or name.startswith(f"{path}/")}
    if not chosen:
        return Outcome(2, b"", f"tar: {path}: Cannot stat: No such file or directory\n".encode())
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in chosen.items():
            member = tarfile.TarInfo(name.lstrip("/"))
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return Outcome(0, packed.getvalue())


def _shell(words: Sequence[str], stdin: bytes, files: Files) -> Outcome:
    """`sh -c TEXT` for one plain command; the sandbox has no shell."""
    if len(words) < 2 or words[0] not in {"-c", "-lc"}:
        return Outcome(2, b"", b"sh: only `sh -c COMMAND` is emulated\n")
    if found := re.fullmatch(r"exit (\d+)", words[1].strip()):
        return Outcome(int(found[1]))
    return run(words[1].split(), stdin, files)


_COMMANDS: dict[str, Command] = {
    "bash": _shell,
    "cat": _cat,
    "echo": _echo,
    "false": lambda *_: Outcome(1),
    "sh": _shell,
    "tar": _tar,
    "test": _test,
    "true": lambda *_: Outcome(0),
}
