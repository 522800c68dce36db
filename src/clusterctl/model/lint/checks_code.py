"""Mistakes in training code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from clusterctl.model.lint.finding import Hit

BOUNDS = {"min", "clip", "clamp", "minimum", "clamp_"}
SCHEDULE = re.compile(r"step|warmup|epoch|iter|\blr|sched|progress", re.IGNORECASE)
ENDING = ("CosineAnnealingLR", "OneCycleLR")


def cosine_past_end(tree: ast.Module) -> Iterator[Hit]:
    """A cosine of the learning rate whose progress may pass 1: it rises again."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            yield from _unbounded(function)
    yield from _steps_past_end(tree)


def _unbounded(function: ast.FunctionDef | ast.Lambda) -> Iterator[Hit]:
    """`cos(pi * progress)` of a function's argument, where nothing bounds the progress."""
    taken = {one.arg for one in function.args.args}
    values = _assignments(function)
    guarded = any(_leaves_early(node) for node in ast.walk(function) if isinstance(node, ast.If))
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _name(node.func) == "cos" and node.args and _has_pi(node.args[0]):
            used = _closure(node.args[0], values)
            about_time = SCHEDULE.search(" ".join((*_names(used), getattr(function, "name", ""))))
            bounded = guarded or any(_is_bound(one) for one in used)
            if about_time and _names(used) & taken and not bounded:
                yield node.lineno, "the cosine's progress is not bounded: past its end the learning rate rises again"


def _assignments(function: ast.AST) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def _closure(expression: ast.expr, values: dict[str, list[ast.expr]]) -> list[ast.expr]:
    """An expression and all that its names stand for."""
    gathered: list[ast.expr] = []
    waiting, seen = [expression], set[str]()
    while waiting:
        one = waiting.pop()
        gathered.append(one)
        for name in _names([one]) - seen:
            seen.add(name)
            waiting += values.get(name, [])
    return gathered


def _names(expressions: list[ast.expr]) -> set[str]:
    return {node.id for one in expressions for node in ast.walk(one) if isinstance(node, ast.Name)}


def _is_bound(expression: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and _name(node.func) in BOUNDS for node in ast.walk(expression)) or any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in ast.walk(expression)
    )


def _has_pi(expression: ast.expr) -> bool:
    return any(_name(node) == "pi" for node in ast.walk(expression) if isinstance(node, (ast.Name, ast.Attribute)))


def _leaves_early(node: ast.If) -> bool:
    """`if step >= total: return …`: the end is looked after."""
    compares = [one for one in ast.walk(node.test) if isinstance(one, ast.Compare)]
    upper = any(isinstance(op, (ast.Gt, ast.GtE)) for one in compares for op in one.ops)
    return upper and any(isinstance(one, ast.Return) for one in node.body)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _steps_past_end(tree: ast.Module) -> Iterator[Hit]:
    """A scheduler of a literal length, stepped in a loop that is literally longer."""
    numbers = _constants(tree)
    lengths = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _name(call.func) in ENDING:
                given = [one.value for one in call.keywords if one.arg in ("T_max", "total_steps")] or call.args[1:2]
                lengths[name] = _value(given[0], numbers) if given else None
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For)):
        most = _range(loop.iter, numbers)
        for call in (node for node in ast.walk(loop) if isinstance(node, ast.Call)):
            owner = ast.unparse(call.func).removesuffix(".step")
            end = lengths.get(owner)
            if end and most and ast.unparse(call.func).endswith(".step") and most > end:
                yield call.lineno, f"{owner} ends after {end} steps and is stepped {most} times"


def _constants(tree: ast.AST) -> dict[str, int]:
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(value))):
                found[name] = value
    return found


def _value(node: ast.expr, numbers: dict[str, int]) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return numbers.get(node.id) if isinstance(node, ast.Name) else None


def _range(node: ast.expr, numbers: dict[str, int]) -> int | None:
    if isinstance(node, ast.Call) and _name(node.func) == "range" and len(node.args) == 1:
        return _value(node.args[0], numbers)
    return None
