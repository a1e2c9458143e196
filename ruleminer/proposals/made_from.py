"""What a run's proposals were made with: whoever makes them anew and says nothing else gets the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruleminer.errors import InputError
from ruleminer.proposals.request import MIN_CONFIDENCE, ProposeRequest
from ruleminer.run import Run


def wishes(request: ProposeRequest) -> dict[str, Any]:
    """What the user asked for, as `proposals.json` keeps it."""
    return {
        "seed": request.seed,
        "ranker": request.ranker,
        "model": None if request.model is None else str(request.model),
        "noise": request.noise,
        "min_confidence": request.min_confidence,
        "iri": list(request.iris),
        "base": request.base,
        "datatypes": request.datatypes,
        "scenario": None if request.scenario is None else str(Path(request.scenario).resolve()),
        "reasoning": request.reasoning,
    }


def proposed_before(run: Run) -> dict[str, Any]:
    """All that the run's `proposals.json` tells; nothing if there is none."""
    file = run.proposals / "proposals.json"
    try:
        told = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise InputError(f"{file}: cannot be read; run ruleminer propose-mappings again") from None
    return told if isinstance(told, dict) else {}


def as_proposed(request: ProposeRequest, proposed: dict[str, Any]) -> ProposeRequest:
    """The request, with what it does not say as it was said for the proposals that are there."""
    before = proposed.get("made_from")
    if not isinstance(before, dict):
        return request
    confidence = request.min_confidence
    checked = _scenario(before) if request.scenario is None else None
    return replace(
        request,
        seed=request.seed or before.get("seed", 0),
        ranker=request.ranker or before.get("ranker"),
        model=request.model or before.get("model"),
        noise=request.noise or bool(before.get("noise")),
        min_confidence=before.get("min_confidence", confidence) if confidence == MIN_CONFIDENCE else confidence,
        iris=request.iris or tuple(before.get("iri") or ()),
        base=request.base or before.get("base"),
        datatypes=request.datatypes or before.get("datatypes"),
        scenario=request.scenario or checked,
        reasoning=before.get("reasoning", request.reasoning) if checked else request.reasoning,
    )


def _scenario(before: dict[str, Any]) -> Path | None:
    """The scenario that the mapping was checked against, if it is still there."""
    told = before.get("scenario")
    return Path(told) if isinstance(told, str) and Path(told).is_dir() else None
