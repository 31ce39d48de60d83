-- One row for each gate that was decided: a gate is decided once. An approved gate names the one call that it released.
CREATE TABLE approval_decision (
    user_id    TEXT NOT NULL,
    task_id    UUID NOT NULL,
    gate       BIGINT NOT NULL,
    digest     TEXT NOT NULL,
    decision   TEXT NOT NULL CHECK (decision IN ('approved', 'rejected', 'modified', 'expired')),
    decided_by TEXT NOT NULL,
    decided_at TIMESTAMPTZ NOT NULL,
    call_id    UUID CHECK (call_id IS NULL OR decision = 'approved'),
    PRIMARY KEY (user_id, task_id, gate)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON approval_decision TO steward_user, steward_system;
ALTER TABLE approval_decision ENABLE ROW LEVEL SECURITY;
ALTER TABLE approval_decision FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON approval_decision TO steward_user USING (user_id = current_setting('steward.user_id'));
CREATE POLICY house ON approval_decision TO steward_system USING (TRUE);
