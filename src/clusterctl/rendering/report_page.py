"""The report as one page of HTML that needs nothing else: no script, no font, no image from anywhere."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from clusterctl.model.report import Report

if TYPE_CHECKING:
    from jinja2 import Environment


def report_page(report: Report) -> str:
    """The page. All text is escaped: reasons and names come from AWS and from the cluster."""
    return _environment().get_template("report.html.j2").render(report=report, run=report.run, result=report.result)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("clusterctl.rendering", "pages"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": _duration, "usd": _usd, "embedded": _embedded}
    return environment


def _duration(seconds: float) -> str:
    """`1 h 02 min`, `2 min 03 s` or `4 s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _usd(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f}"


def _embedded(value: object) -> str:
    """JSON that may stand in a script element: nothing in it can end that element."""
    return json.dumps(value, indent=1).replace("<", "\\u003c").replace("&", "\\u0026")
