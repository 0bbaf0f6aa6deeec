-- What is needed to forget: indexes by which what is past its time, and what refers to it, is found.

-- The end of a workflow is when it was finished or deleted, whichever came first.
CREATE INDEX workflow_ended ON workflow (least(finished_at, deleted_at), id)
    WHERE finished_at IS NOT NULL OR deleted_at IS NOT NULL;
CREATE INDEX workflow_recovers ON workflow (recovers) WHERE recovers IS NOT NULL;
CREATE INDEX workflow_template ON workflow (template_id);
CREATE INDEX hardware_deleted ON hardware (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX template_deleted ON template (deleted_at) WHERE deleted_at IS NOT NULL;

-- Whose turn it is to forget, and until when; there is one row at most. Each transaction that forgets in turn writes it
-- first, so whoever has lost the turn forgets nothing more.
CREATE TABLE pruning_turn (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    holder     uuid NOT NULL,
    held_until moment NOT NULL
);
