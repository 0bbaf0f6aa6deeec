-- Machines. Each row counts its own versions; deletion is soft, so that references stay readable. A new row's times are
-- those of its statement, so that they are equal. The triggers see to it that metadata and network are no larger than 1
-- MiB together.

CREATE DOMAIN jsonb_document AS jsonb CONSTRAINT jsonb_document_object CHECK (jsonb_typeof(VALUE) = 'object');

-- There is no index for listing: a list reads every machine anyway, and sorts.
CREATE TABLE hardware (
    id         uuid PRIMARY KEY,
    version    bigint NOT NULL DEFAULT 1,
    metadata   jsonb_document NOT NULL DEFAULT '{}',
    network    jsonb_document NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    deleted_at timestamptz
);

-- The addresses of live machines, kept by a trigger from hardware.network. The types make the comparison independent
-- of spelling: macaddr ignores case and separators, inet knows the forms of IPv6.
CREATE TABLE hardware_address (
    hardware_id uuid NOT NULL REFERENCES hardware ON DELETE CASCADE,
    mac         macaddr,
    ip          inet,
    CONSTRAINT hardware_address_one CHECK (num_nonnulls(mac, ip) = 1),
    CONSTRAINT hardware_address_mac UNIQUE (mac),
    CONSTRAINT hardware_address_ip UNIQUE (ip)
);
CREATE INDEX hardware_address_hardware ON hardware_address (hardware_id);

-- Machines that announced themselves and were not known; their number is limited.
CREATE TABLE self_enrolment (
    hardware_id uuid PRIMARY KEY REFERENCES hardware ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
