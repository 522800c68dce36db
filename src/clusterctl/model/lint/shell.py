"""Shell scripts read far enough to see which programs they start, with which words, and inside what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

SHELLS = {"bash", "sh", "dash", "zsh"}
PREFIXES = {"exec", "time", "nohup", "command", "then", "do", "else", "if", "while", "until", "!", "{", "builtin"}
MOST_DEPTH = 5
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_SBATCH = re.compile(r"#SBATCH\s+(.*)")


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes; `line` is where it starts."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: assignments before it, its words, and the programs that it runs inside of."""

    words: tuple[str, ...]
    line: int
    assigned: tuple[tuple[str, str], ...] = ()
    inside: tuple[Command, ...] = ()
    word_lines: tuple[int, ...] = ()

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    def line_of(self, position: int) -> int:
        return self.word_lines[position] if position < len(self.word_lines) else self.line


@dataclass(frozen=True, slots=True)
class Script:
    """A script: its #SBATCH options, the line of each, and its commands in order, nested ones after their hosts."""

    commands: tuple[Command, ...]
    sbatch: dict[str, str] = field(default_factory=dict, hash=False)
    sbatch_lines: dict[str, int] = field(default_factory=dict, hash=False)
    line: int = 1

    @property
    def is_batch(self) -> bool:
        return bool(self.sbatch_lines)


def read_script(text: str, first_line: int = 1) -> Script:
    """The commands of a shell script; what cannot be understood is left out."""
    options, lines = _sbatch_options(text, first_line)
    return Script(tuple(read_commands(text, first_line)), options, lines, first_line)


def read_commands(text: str, first_line: int = 1, inside: tuple[Command, ...] = ()) -> Iterator[Command]:
    if len(inside) > MOST_DEPTH:
        return
    for words in _simple_commands(_scan(text, first_line)):
        command = _command(words, inside)
        yield command
        yield from _nested(command)


def command_of(words: Iterable[Word]) -> list[Command]:
    """A command given as a list of words, as containers have it, with the script inside of it."""
    command = _command(list(words), ())
    return [command, *_nested(command)]


def _nested(command: Command) -> Iterator[Command]:
    """The script behind `bash -c`, wherever it stands in the command: `srun bash -c '…'` too."""
    names = [word.rpartition("/")[2] for word in command.words]
    for position, name in enumerate(names):
        if name in SHELLS:
            for flag in range(position + 1, len(names) - 1):
                if re.fullmatch(r"-[a-z]*c", names[flag]):
                    inner, line = command.words[flag + 1], command.line_of(flag + 1)
                    yield from read_commands(inner, line, (*command.inside, command))
                    return


def _command(words: list[Word], inside: tuple[Command, ...]) -> Command:
    line = words[0].line if words else 1
    assigned: list[tuple[str, str]] = []
    while words:
        found = _ASSIGNMENT.fullmatch(words[0].text)
        if found:
            assigned.append((found[1], found[2]))
        elif words[0].text not in PREFIXES and words[0].text != "env":
            break
        words = words[1:]
    if words and words[0].text in ("export", "declare", "local", "readonly", "typeset"):
        matches = [_ASSIGNMENT.fullmatch(word.text) for word in words[1:]]
        assigned += [(found[1], found[2]) for found in matches if found]
    return Command(
        tuple(word.text for word in words), line, tuple(assigned), inside, tuple(word.line for word in words)
    )


def _simple_commands(tokens: Iterable[Word | None]) -> Iterator[list[Word]]:
    """Words between separators; None is a separator."""
    gathered: list[Word] = []
    for token in [*tokens, None]:
        if token is not None:
            gathered.append(token)
        elif gathered:
            yield gathered
            gathered = []


def _scan(text: str, first_line: int) -> Iterator[Word | None]:
    """Words and separators (None). Quotes go, `$(…)` stays whole, comments and here-documents are passed over."""
    return _Scanner(text, first_line).tokens()


class _Scanner:
    def __init__(self, text: str, first_line: int) -> None:
        self.text, self.at, self.line = text, 0, first_line
        self.word: str | None = None
        self.word_line = first_line
        self.pending: list[str] = []

    def tokens(self) -> Iterator[Word | None]:
        while self.at < len(self.text):
            char = self.text[self.at]
            if self.text.startswith("\\\n", self.at):
                self._skip(2)
            elif char in " \t\r":
                yield from self._end()
                self._skip(1)
            elif char == "#" and self.word is None:
                self._skip(len(self.text[self.at :].partition("\n")[0]))
            elif self._heredoc():
                yield from self._end()
            elif char in "\n;&|()" and not self._redirects(char):
                yield from self._end()
                yield None
                self._skip(1)
                if char == "\n":
                    self._pass_documents()
            else:
                self._take(char)
        yield from self._end()

    def _end(self) -> Iterator[Word]:
        if self.word is not None:
            yield Word(self.word, self.word_line)
            self.word = None

    def _skip(self, count: int) -> str:
        passed = self.text[self.at : self.at + count]
        self.line += passed.count("\n")
        self.at += count
        return passed

    def _add(self, piece: str, line: int) -> None:
        if self.word is None:
            self.word, self.word_line = "", line
        self.word += piece

    def _redirects(self, char: str) -> bool:
        """`2>&1` and `&>file` do not end a command."""
        around = self.text[max(0, self.at - 1) : self.at + 2]
        return char == "&" and (around.startswith(">") or around.endswith(">"))

    def _take(self, char: str) -> None:
        line = self.line
        if char == "'":
            end = self.text.find("'", self.at + 1)
            body = self.text[self.at + 1 : end if end > 0 else len(self.text)]
            self._add(body, line)
            self._skip(len(body) + 2)
        elif char == '"':
            self._add(*self._double())
        elif char in "$`" and (size := _substitution(self.text, self.at)):
            self._add(self._skip(size), line)
        elif char == "\\":
            self._add(self._skip(2)[1:], line)
        else:
            self._add(self._skip(1), line)

    def _double(self) -> tuple[str, int]:
        line, body = self.line, ""
        self._skip(1)
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                body += self._skip(2)[1:]
            elif self.text[self.at] in "$`" and (size := _substitution(self.text, self.at)):
                body += self._skip(size)
            else:
                body += self._skip(1)
        self._skip(1)
        return body, line

    def _heredoc(self) -> bool:
        found = _HEREDOC.match(self.text, self.at)
        if not found or self.text.startswith("<<<", self.at):
            return False
        self.pending.append(found[2])
        self._skip(len(found[0]))
        return True

    def _pass_documents(self) -> None:
        for name in self.pending:
            while self.at < len(self.text):
                line = self.text[self.at :].partition("\n")[0]
                self._skip(len(line) + 1)
                if line.strip() == name:
                    break
        self.pending = []


def _substitution(text: str, start: int) -> int:
    """How long the `$(…)`, `${…}` or backquoted piece at a place is; 0 if none starts there."""
    if text[start] == "`":
        end = text.find("`", start + 1)
        return end - start + 1 if end > 0 else 0
    opening = text[start + 1 : start + 2]
    if opening not in ("(", "{"):
        return 0
    closing, depth = {"(": ")", "{": "}"}[opening], 0
    for position in range(start + 1, len(text)):
        depth += (text[position] == opening) - (text[position] == closing)
        if depth == 0:
            return position - start + 1
    return 0


def _sbatch_options(text: str, first_line: int) -> tuple[dict[str, str], dict[str, int]]:
    options: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), first_line):
        found = _SBATCH.match(line)
        if found:
            given = read_options(found[1].partition(" #")[0].split())
            options |= given
            lines |= dict.fromkeys(given, number)
    return options, lines


SHORT = {
    "-N": "--nodes", "-n": "--ntasks", "-G": "--gpus", "-c": "--cpus-per-task", "-p": "--partition", "-J": "--job-name",
    "-o": "--output", "-e": "--error", "-t": "--time", "-w": "--nodelist", "-x": "--exclude",
}  # fmt: skip


def read_options(words: Iterable[str]) -> dict[str, str]:
    """Slurm's options: `--nodes=4`, `--nodes 4`, `-N 4` and `-N4` are the same."""
    found: dict[str, str] = {}
    waiting = ""
    for word in words:
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            found[name] = value
            waiting = "" if equals else name
        elif word[:2] in SHORT:
            found[SHORT[word[:2]]] = word[2:]
            waiting = "" if word[2:] else SHORT[word[:2]]
        elif waiting:
            found[waiting], waiting = word, ""
        elif not word.startswith("-"):
            break
    return found
