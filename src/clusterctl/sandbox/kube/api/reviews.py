"""Reviews that clients create to ask who they are and what they may do. Whoever is let in may do everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.call import answer

if TYPE_CHECKING:
    from aiohttp import web

    from clusterctl.sandbox.kube.api.call import Call
    from clusterctl.sandbox.kube.authentication import User

_ALL = ["*"]


async def review(call: Call) -> web.Response:
    body = await call.body()
    user: User = call.request["user"]
    reviewed = {
        "metadata": {},
        **body,
        "apiVersion": call.resource.api_version,
        "kind": call.resource.kind,
        "status": _status(call.resource.plural, user),
    }
    return answer(reviewed, 201)


def _status(plural: str, user: User) -> dict[str, Any]:
    shown = {"username": user.name, "groups": [*user.groups, "system:authenticated"]}
    if plural == "selfsubjectreviews":
        return {"userInfo": shown}
    if plural == "tokenreviews":
        return {"authenticated": True, "user": shown}
    if plural == "selfsubjectrulesreviews":
        rules = {
            "resourceRules": [{"verbs": _ALL, "apiGroups": _ALL, "resources": _ALL}],
            "nonResourceRules": [{"verbs": _ALL, "nonResourceURLs": _ALL}],
        }
        return {**rules, "incomplete": False}
    return {"allowed": True}
