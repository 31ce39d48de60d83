-- One row for each gate that was decided: a gate is decided once. An approved gate names the one call that it released.
CREATE TABLE approval_decision (
    user_id    TEXT NOT NULL,
    task_id    BLOB NOT NULL,
    gate       INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    decision   TEXT NOT NULL CHECK (decision IN ('approved', 'rejected', 'modified', 'expired')),
    decided_by TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    call_id    BLOB CHECK (call_id IS NULL OR decision = 'approved'),
    PRIMARY KEY (user_id, task_id, gate)
) STRICT, WITHOUT ROWID;
