# The mock as a server, without root and without a network of its own needs: docker build -t responses-harness .
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[cluster,fast,metrics,otel,record,tls,webhooks]"

FROM python:3.13-slim
LABEL org.opencontainers.image.title="responses-harness" \
      org.opencontainers.image.description="A strict mock of the OpenAI Responses API" \
      org.opencontainers.image.licenses="MIT"
# What is installed is what was built above.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-compile --no-index --find-links /wheels \
      "responses-harness[cluster,fast,metrics,otel,record,tls,webhooks]" \
    && useradd --uid 10001 --create-home harness
USER 10001
WORKDIR /home/harness
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/_harness/health', timeout=2)"]
ENTRYPOINT ["harness"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
