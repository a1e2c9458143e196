"""The report: one HTML file that shows a reviewer each proposal and all that speaks for and against it.

Python prepares plain values; every character of markup is in `templates/`, where all values are escaped.
"""

from ruleminer.proposals.report.page import report_html

__all__ = ["report_html"]
