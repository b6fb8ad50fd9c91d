"""Wordings of the prompts."""

from __future__ import annotations

OWN, OPENEQA = "", "openeqa"  # in OPENEQA, the file NAME_openeqa.txt takes the place of NAME.txt where there is one
WORDINGS = (OWN, OPENEQA)
