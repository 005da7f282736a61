"""`GET /_harness/health`: whether the server is up, answered without the control plane, which is slow to import."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from time import monotonic

from harness.core.exchange import Answer, Json
from harness.server.mock_api import CONTROL_ROOT, MockApi

HEALTH_PATH, METRICS_PATH = f"{CONTROL_ROOT}/health", f"{CONTROL_ROOT}/metrics"
_BEGUN = monotonic()


def describe_health(api: MockApi, store: str = "memory") -> Json:
    """Describe the server: `status` ok, version, settings, counts, uptime; `store` names where its Worlds are kept."""
    return {
        "status": "ok",
        "version": harness_version(),
        "uptime_seconds": round(uptime(), 3),
        "worlds": len(api.worlds),
        "requests": api.request_count,
        "dialect": api.dialect or "any",
        "as_of": api.as_of,
        "store": store,
    }


def answer_health(api: MockApi, store: str) -> Answer:
    """Answer with the description of the server."""
    return Answer(200, describe_health(api, store), {"content-type": "application/json", "cache-control": "no-store"})


def uptime() -> float:
    """Return the seconds since this process began to serve."""
    return monotonic() - _BEGUN


@cache
def harness_version() -> str:
    """Return the version of the installed package; empty in a checkout that is not installed."""
    try:
        return version("responses-harness")
    except PackageNotFoundError:
        return ""
