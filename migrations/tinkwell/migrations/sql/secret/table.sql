-- Values that were taken out of documents and are kept in a form that nobody reads without a key. They have no events.
CREATE TABLE sealed_value (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Whose document it was: the kind is the name of a table, and the id is written as the room of that table says.
    owner_kind text NOT NULL,
    owner_id   text NOT NULL,
    document   text NOT NULL,
    -- Where it stood in the document, as a JSON pointer; null stands there now.
    pointer    text NOT NULL,
    -- A byte for the version of the form, eight for the id of the key, twelve that occur once, and the value as
    -- AES-256-GCM seals it.
    sealed     bytea NOT NULL,
    CONSTRAINT sealed_value_place UNIQUE (owner_kind, owner_id, document, pointer)
);
-- What is sealed cannot be compressed, and the id of the key is read without the rest.
ALTER TABLE sealed_value ALTER sealed SET STORAGE EXTERNAL;
-- For whoever looks for what a certain key has sealed.
CREATE INDEX sealed_value_key ON sealed_value (substring(sealed FROM 2 FOR 8), id);
