-- Tasks that wait for a worker or are held by one. The place is the order of arrival; worker, token and lease_until
-- are there together while somebody holds the task.
CREATE TABLE task_queue (
    place       INTEGER PRIMARY KEY,
    task_id     BLOB NOT NULL UNIQUE REFERENCES task (id) ON DELETE CASCADE,
    user_id     TEXT NOT NULL,
    ready_at    INTEGER NOT NULL,
    worker      TEXT CHECK ((worker IS NULL) = (token IS NULL)),
    token       INTEGER,
    lease_until INTEGER CHECK ((lease_until IS NULL) = (token IS NULL))
) STRICT;
CREATE INDEX task_queue_by_user ON task_queue (user_id, place);
CREATE INDEX task_queue_held ON task_queue (user_id) WHERE token IS NOT NULL;

-- The last token given; it only grows, whatever leaves the queue.
CREATE TABLE task_queue_token (last INTEGER NOT NULL) STRICT;
INSERT INTO task_queue_token VALUES (0);
