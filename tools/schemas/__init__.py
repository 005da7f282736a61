"""Generates `schemas/openai` from the types of the SDK: for maintainers in a checkout, not part of the wheel."""
