# PostgreSQL 15 from Debian's packages, with the settings and the data directory of the official image.
FROM tinkwell-local/base
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends postgresql-15 \
 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15 \
 && install --directory --owner postgres --group postgres --mode 0700 /var/lib/postgresql/data \
 && install --directory --owner postgres --group postgres /var/run/postgresql
ENV PATH=/usr/lib/postgresql/15/bin:$PATH
COPY postgres.sh /entrypoint
USER postgres
VOLUME /var/lib/postgresql/data
EXPOSE 5432
# A fast shutdown, as the official image asks for.
STOPSIGNAL SIGINT
ENTRYPOINT ["/entrypoint"]
CMD ["postgres"]
