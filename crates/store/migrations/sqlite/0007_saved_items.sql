-- What people keep by name: verified answers, feedback, schedules, alerts, deliveries, boards. The body is the item; due_at
-- is when something is to be done with it. Shared items are seen by everybody, and changed by their owner.
CREATE TABLE saved_item (
    kind       TEXT NOT NULL,
    id         BLOB NOT NULL,
    user_id    TEXT NOT NULL,
    shared     INTEGER NOT NULL,
    due_at     INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX saved_item_due ON saved_item (kind, due_at) WHERE due_at IS NOT NULL;

-- One row for each tick that was taken: a moment of a schedule queues one task, whoever notices it first.
CREATE TABLE schedule_tick (
    schedule_id BLOB NOT NULL,
    due_at      INTEGER NOT NULL,
    user_id     TEXT NOT NULL,
    task_id     BLOB NOT NULL,
    settled_at  INTEGER,
    PRIMARY KEY (schedule_id, due_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_tick_open ON schedule_tick (due_at) WHERE settled_at IS NULL;
