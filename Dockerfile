# The service with its bundled models, for CPUs:         docker build -t verso .
# with ONNX Runtime for CUDA and the libraries it loads: docker build -t verso:gpu --build-arg EXTRA=gpu .
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS build
ARG EXTRA=cpu
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/verso
WORKDIR /build
COPY pyproject.toml constraints.txt constraints-gpu.txt LICENSE NOTICE ./
# What the service needs, installed before its code is copied: a change of code leaves this layer as it is.
COPY service/__init__.py service/__init__.py
RUN mkdir export \
    && /opt/verso/bin/pip install -c constraints.txt -c constraints-gpu.txt ".[${EXTRA}]" \
    && /opt/verso/bin/pip uninstall -y verso
COPY service service
COPY export export
# The runtime environment keeps no installer.
RUN /opt/verso/bin/pip install --no-deps . \
    && /opt/verso/bin/pip uninstall -y setuptools pip

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Verso" \
      org.opencontainers.image.description="Translation inference microservice on ONNX Runtime" \
      org.opencontainers.image.licenses="Apache-2.0 AND CC-BY-4.0"
# The bytecode is in the image already, and nothing at run time asks a model hub or sends usage data.
ENV PATH=/opt/verso/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 \
    TOKENIZERS_PARALLELISM=false \
    ORT_DISABLE_TELEMETRY=1 \
    VERSO_HOST=0.0.0.0 \
    VERSO_PORT=8080 \
    VERSO_MODELS=/models
COPY --from=build /opt/verso /opt/verso
COPY LICENSE NOTICE /opt/verso/
# Mount a folder of other packages here to serve those instead.
COPY models /models
WORKDIR /tmp
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ['VERSO_PORT']}/readyz\", timeout=4)"]
CMD ["verso", "serve"]
