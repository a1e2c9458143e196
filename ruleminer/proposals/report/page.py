"""One self-contained HTML file out of proposals: no script, style, font or picture from elsewhere."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from ruleminer.learn.curve import CurvePoint, kept
from ruleminer.problem.ontology import Ontology
from ruleminer.proposals.proposal import Proposals
from ruleminer.proposals.report import formats
from ruleminer.proposals.report.charts import curve_charts, reliability_chart
from ruleminer.proposals.report.colouring import rule_pieces, sql_pieces
from ruleminer.proposals.report.coverage import coverage_of
from ruleminer.proposals.report.review import Trust, agreement_of, folded, pages_of, summary_of

if TYPE_CHECKING:
    from ruleminer.validation.validate import ValidationResult


def report_html(
    proposals: Proposals,
    *,
    title: str = "Proposed mapping",
    ontology: Ontology | None = None,
    curve: Sequence[CurvePoint] = (),
    validation: ValidationResult | None = None,
    mapped: Collection[str] | None = None,
) -> str:
    """The report as text; with an ontology its classes as a tree, with the curve of the model that was asked, that.

    `mapped` names the terms whose rules are in the mapping, if these are not just those with examples.
    """
    environment = _environment()
    style, script = (environment.get_template(name).render() for name in ("report.css", "report.js"))
    pages = pages_of(proposals, validation.queries if validation else (), mapped)
    shown, silent = folded(pages)
    page = environment.get_template("report.html").render(
        title=title,
        policy=_policy(style, script),
        proposals=proposals,
        source=formats.source_lines(proposals.source),
        summary=summary_of(proposals, pages),
        trusts=list(Trust),
        pages=shown,
        silent=silent,
        anchors={page.proposal.predicate: page.anchor for page in shown},
        coverage=coverage_of(shown, ontology),
        agreement=agreement_of(proposals, pages),
        reliability=reliability_chart(proposals.calibration) if proposals.calibration else None,
        curves=curve_charts(curve),
        best=kept(curve),
        validation=validation,
    )
    return page.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair has no place in a file


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ruleminer.proposals.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=formats.count,
        share=formats.share,
        number=formats.number,
        clip=formats.clip,
        characters=formats.characters,
        rule_pieces=rule_pieces,
        sql_pieces=sql_pieces,
    )
    environment.tests["plain"] = formats.is_plain
    return environment


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy under which nothing is loaded and only our own style and script count."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
