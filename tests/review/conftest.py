"""Runs to review: the generated scenarios of the proposals, and a session on one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ruleminer.proposals.request import ProposeRequest
from ruleminer.review.session import ReviewSession, open_review
from tests.proposals.conftest import Extracted, cli, library, own_library, workshop

__all__ = ["cli", "library", "own_library", "workshop"]


@pytest.fixture
def session(own_library: Extracted) -> Iterator[ReviewSession]:
    """A review of the small library, with eight examples of each term."""
    with open_review(ProposeRequest(run=own_library.run)) as opened:
        yield opened
