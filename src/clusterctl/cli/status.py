# ruff: noqa: FBT002 - typer makes options of parameters
"""`clusterctl status`: what exists, where, since when, what it costs, and what to do next."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import ClusterName, Region

ShowSettings = Annotated[bool, typer.Option("--settings", help="Each setting, and where its value came from.")]
Adopt = Annotated[bool, typer.Option("--adopt", help="Rebuild a lost placement file from the cluster's tags.")]


def register(app: typer.Typer) -> None:
    @command(app, "status")
    def status(
        invocation: Invocation,
        cluster_name: ClusterName = "",
        region: Region = "",
        settings: ShowSettings = False,
        adopt: Adopt = False,
    ) -> int:
        """Say what exists, where, since when, what it costs an hour, and when it expires.

        Example: clusterctl status --settings
        """
        from clusterctl.cli.result import schema, write_json, write_text
        from clusterctl.wiring.bench import open_bench
        from clusterctl.wiring.status import adopted, read_status, settings_document

        with open_bench(ask(invocation, Search(cluster_name=cluster_name, region=region), save=False)) as bench:
            if settings:
                document = {"settings": settings_document(bench)}
            else:
                document = adopted(bench) if adopt else read_status(bench)
        if invocation.json:
            write_json({"schema": schema("status"), "ok": True, **document})
        else:
            write_text("\n".join(_lines(document)))
        return 0


def as_given(value: object) -> str:
    """A setting's value in the form in which one gives it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(str(one) for one in value)
    return "" if value is None else str(value)


def _lines(document: dict[str, Any]) -> list[str]:
    if "settings" in document:
        return [f"{one['key']}={as_given(one['value'])}  ({one['source']})" for one in document["settings"]]
    from clusterctl.cli.tables import usd

    cluster, group = document["cluster"], document["nodegroup"]
    return [
        f"cluster     {cluster['name']} in {cluster['region']}: {cluster['status'] or 'absent'}"
        + (f", Kubernetes {cluster['version']}, since {cluster['since']}" if cluster["since"] else ""),
        f"node group  {group['name']}: {group['status'] or 'absent'}"
        + (
            f", {group['instances']} x {group['instance_type']} in {', '.join(group['zones'])}"
            if group["status"]
            else ""
        ),
        f"expires     {document['expires_at'] or 'never'}",
        f"price       {usd(document['hourly_usd'])} USD an hour"
        + (f" ({document['price_source']})" if document["price_source"] else ""),
        f"spent       {usd(document['spent_usd'])} USD in {document['hours']:g} h",
        f"health      {document['health']}",
        *(f"warning     {issue}" for issue in group["issues"]),
        f"next        {document['next']}",
    ]
