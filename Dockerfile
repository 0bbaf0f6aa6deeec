# One image for everything: `tinkwell server`, `tinkwell provisioner`, `tinkwell db upgrade`.
# BASE is any image with Python 3.11 or newer and its venv module: docker build --build-arg BASE=… -t tinkwell .
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
WORKDIR /source
COPY requirements requirements
RUN python3 -m venv /opt/builder \
 && /opt/builder/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt \
 && python3 -m venv /opt/tinkwell \
 && /opt/tinkwell/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY . .
RUN /opt/builder/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/tinkwell/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM ${BASE}
RUN groupadd --system --gid 10001 tinkwell \
 && useradd --system --uid 10001 --gid tinkwell --create-home --home-dir /var/lib/tinkwell tinkwell
COPY --from=build /opt/tinkwell /opt/tinkwell
# In a container it is for others to decide who may reach a port.
ENV PATH=/opt/tinkwell/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TINKWELL_HOST=0.0.0.0
WORKDIR /var/lib/tinkwell
USER tinkwell
EXPOSE 50051 8080
ENTRYPOINT ["tinkwell"]
CMD ["server"]
