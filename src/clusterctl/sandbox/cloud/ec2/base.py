"""What the added EC2 actions share: the world, filters and pages."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses._base_response import EC2BaseResponse

from clusterctl.sandbox.cloud.answering import page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from clusterctl.sandbox.cloud.capacity import LaunchFailure
    from clusterctl.sandbox.cloud.world import World

T = TypeVar("T")
Reader = "Callable[[T], str]"


class EC2Actions(EC2BaseResponse):  # type: ignore[misc]
    """Base of the added actions; mixed into moto's EC2 response."""

    world: World
    region: str

    def filters(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self._filters_from_querystring()
        return found

    def paged(self, key: str, rows: Iterable[Any], default_limit: int = 1000) -> ActionResult:
        """One page of rows under `key`; MaxResults and NextToken as the request has them."""
        limit = int(self._get_param("MaxResults") or default_limit)
        shown, following = page(list(rows), self._get_param("NextToken"), limit)
        return ActionResult({key: shown, "NextToken": following})

    def tags_given(self, resource_type: str) -> dict[str, str]:
        """The tags a create request wants on its resource."""
        given: dict[str, dict[str, str]] = self._parse_tag_specification(resource_type)
        return given.get(resource_type, {})

    def tags_of(self, resource_id: str) -> dict[str, str]:
        """The tags a resource carries now; CreateTags writes to the same store."""
        return dict(self.ec2_backend.tags.get(resource_id, {}))


def refusal(code: str, message: str) -> Exception:
    """An EC2 error to be raised."""
    error: Exception = EC2ClientError(code, message)
    return error


def refuse(failure: LaunchFailure | None) -> None:
    """Raise a failure of the capacity pool as an EC2 error."""
    if failure is not None:
        raise refusal(failure.code, failure.message)


def tag_rows(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def matches(value: str, patterns: Iterable[str]) -> bool:
    """EC2's filter values: `*` and `?` are wildcards, any one suffices."""
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def keep(rows: Iterable[T], filters: Mapping[str, list[str]], readers: Mapping[str, Callable[[T], str]]) -> list[T]:
    """The rows that pass every filter. Raises InvalidParameterValue for a filter the call does not know."""
    kept = list(rows)
    for name, patterns in filters.items():
        if name not in readers:
            raise refusal("InvalidParameterValue", f"The filter '{name}' is invalid")
        kept = [row for row in kept if matches(readers[name](row), patterns)]
    return kept


def keep_tagged(
    rows: Iterable[T], filters: Mapping[str, list[str]], tags_of: Callable[[T], Mapping[str, str]]
) -> tuple[list[T], dict[str, list[str]]]:
    """Apply `tag:KEY` and `tag-key`; the rows that pass, and the filters that remain."""
    kept, rest = list(rows), {}
    for name, patterns in filters.items():
        if name == "tag-key":
            kept = [row for row in kept if any(matches(key, patterns) for key in tags_of(row))]
        elif name.startswith("tag:"):
            key = name.removeprefix("tag:")
            kept = [row for row in kept if key in (tags := tags_of(row)) and matches(tags[key], patterns)]
        else:
            rest[name] = patterns
    return kept, rest
