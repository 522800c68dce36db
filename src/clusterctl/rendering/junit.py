"""A run as JUnit XML, which every CI system shows: a case for each stage and for each check of the verification."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from clusterctl.model.history import RunRecord, StageTime

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(record: RunRecord) -> str:
    """One suite for the stages, one for the checks where the run got so far. Seconds are those of the run's clock."""
    root = Xml.Element("testsuites", name=f"clusterctl {record.command}", time=f"{record.seconds:.1f}")
    _suite(root, "stages", [_stage_case(stage) for stage in record.stages])
    if verification := record.document.get("verification"):
        _suite(root, "checks", [_check_case(check) for check in verification["checks"]])
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: Xml.Element, name: str, cases: list[Xml.Element]) -> None:
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "skipped": str(skipped)}
    Xml.SubElement(root, "testsuite", {"name": name, **counts}).extend(cases)


def _stage_case(stage: StageTime) -> Xml.Element:
    case = Xml.Element("testcase", classname="clusterctl.stages", name=stage.name, time=f"{stage.seconds:.1f}")
    if stage.status in ("failed", "running"):
        Xml.SubElement(case, "failure", message=_text(stage.message or "cut off"))
    if stage.status == "skipped":
        Xml.SubElement(case, "skipped")
    if stage.steps:
        Xml.SubElement(case, "system-out").text = _text("\n".join(step.what for step in stage.steps))
    return case


def _check_case(check: dict[str, str]) -> Xml.Element:
    case = Xml.Element("testcase", classname="clusterctl.checks", name=_text(check["id"]))
    if check["skipped"]:
        Xml.SubElement(case, "skipped", message=_text(check["message"]))
    elif not check["ok"]:
        Xml.SubElement(case, "failure", message=_text(check["message"])).text = _text(check["remedy"])
    return case


def _text(value: str) -> str:
    """XML has no way to write some characters that a program may print."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", value)
