"""Wordings of the prompts."""

from __future__ import annotations

OWN, OPENEQA = "", "openeqa"  # with OPENEQA, the file NAME_openeqa.txt replaces NAME.txt if it exists
WORDINGS = (OWN, OPENEQA)
