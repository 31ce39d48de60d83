-- What people keep by name: verified answers, feedback, schedules, alerts, deliveries, boards. The body is the item; due_at
-- is when something is to be done with it. Shared items are seen by everybody, and changed by their owner.
CREATE TABLE saved_item (
    kind       TEXT NOT NULL,
    id         UUID NOT NULL,
    user_id    TEXT NOT NULL,
    shared     BOOLEAN NOT NULL,
    due_at     TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);
CREATE INDEX saved_item_due ON saved_item (kind, due_at) WHERE due_at IS NOT NULL;

-- One row for each tick that was taken: a moment of a schedule queues one task, whoever notices it first.
CREATE TABLE schedule_tick (
    schedule_id UUID NOT NULL,
    due_at      TIMESTAMPTZ NOT NULL,
    user_id     TEXT NOT NULL,
    task_id     UUID NOT NULL,
    settled_at  TIMESTAMPTZ,
    PRIMARY KEY (schedule_id, due_at)
);
CREATE INDEX schedule_tick_open ON schedule_tick (due_at) WHERE settled_at IS NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON saved_item, schedule_tick TO steward_user, steward_system;
ALTER TABLE saved_item ENABLE ROW LEVEL SECURITY;
ALTER TABLE saved_item FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON saved_item TO steward_user USING (user_id = current_setting('steward.user_id'));
CREATE POLICY everybody ON saved_item FOR SELECT TO steward_user USING (shared);
CREATE POLICY house ON saved_item TO steward_system USING (TRUE);
ALTER TABLE schedule_tick ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedule_tick FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON schedule_tick TO steward_user USING (user_id = current_setting('steward.user_id'));
CREATE POLICY house ON schedule_tick TO steward_system USING (TRUE);
