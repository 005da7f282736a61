"""`responses-harness serve --otel`: an OpenTelemetry span for each request, by its conventions for HTTP and generative AI.

The parent of a span is taken from the client's `traceparent`. The SDK reads the usual OTEL_… variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.core.errors import missing_extra
from harness.server.observe.observed import UNKNOWN, ObservedRequest, Observer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

PROVIDERS = {"openai": "openai", "azure": "azure.ai.openai", "foundry": "azure.ai.openai"}
"""The `gen_ai.provider.name` of each dialect."""
OPERATION_NAMES = {"POST /responses": "chat", "WS /responses": "chat"}
"""The `gen_ai.operation.name` of operations in which a model answers."""
Attribute = tuple[str, str | int | bool]


def check_packages() -> None:
    """Raise ConfigError if the packages for spans are missing."""
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace.export  # noqa: F401
    except ImportError as problem:
        raise missing_extra("--otel", str(problem.name), "otel") from None


def make_provider() -> TracerProvider:
    """Create the tracer provider, which exports OTLP over HTTP; ConfigError if packages are missing."""
    check_packages()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = Resource.create({SERVICE_NAME: "responses-harness"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=named, shutdown_on_exit=True)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def trace_requests(provider: TracerProvider) -> Observer:
    """Create an observer that records a span for each request."""
    from opentelemetry.trace import SpanKind, Status, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    tracer, propagator = provider.get_tracer("responses-harness"), TraceContextTextMapPropagator()

    def trace(observed: ObservedRequest) -> None:
        begun = int(observed.began * 1e9)
        span = tracer.start_span(
            _name_span(observed),
            context=propagator.extract(observed.headers),
            kind=SpanKind.SERVER,
            attributes=dict(_attributes(observed)),
            start_time=begun,
        )
        if observed.answer.status >= 400:
            span.set_status(Status(StatusCode.ERROR, observed.clean(str(observed.error.get("message", "")))))
        span.end(begun + int(observed.seconds * 1e9))

    return trace


def _name_span(observed: ObservedRequest) -> str:
    kind = OPERATION_NAMES.get(observed.operation)
    if kind:
        return f"{kind} {observed.model}".strip()
    return observed.method if observed.operation == UNKNOWN else observed.operation


def _attributes(observed: ObservedRequest) -> Iterator[Attribute]:
    yield "http.request.method", "GET" if observed.method == "WS" else observed.method
    yield "url.path", observed.path
    yield "http.response.status_code", observed.answer.status
    yield "harness.world", observed.world
    if observed.operation != UNKNOWN:
        yield "http.route", observed.operation.partition(" ")[2]
    if observed.answer.rule:
        yield "harness.rule", observed.answer.rule
    if observed.answer.status >= 400:
        yield (
            "error.type",
            observed.clean(str(observed.error.get("code") or observed.error.get("type") or observed.answer.status)),
        )
    if kind := OPERATION_NAMES.get(observed.operation):
        yield "gen_ai.operation.name", kind
        yield "gen_ai.provider.name", PROVIDERS[observed.dialect]
        yield from _answer_attributes(observed)


def _answer_attributes(observed: ObservedRequest) -> Iterator[Attribute]:
    response, usage = observed.response, observed.response.get("usage")
    named = {"gen_ai.request.model": observed.model, "gen_ai.response.model": response.get("model")}
    named["gen_ai.response.id"] = response.get("id")
    yield from ((name, observed.clean(value)) for name, value in named.items() if isinstance(value, str) and value)
    if isinstance(usage, dict):
        for side in ("input_tokens", "output_tokens"):
            if isinstance(usage.get(side), int):
                yield f"gen_ai.usage.{side}", usage[side]
