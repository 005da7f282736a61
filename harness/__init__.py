"""A recorded-contract test harness around a strict mock of the OpenAI Responses API."""
