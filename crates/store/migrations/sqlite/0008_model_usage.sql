-- What models used, by day, person and model. Rows are added to, one commit with the journal entry of each answer.
CREATE TABLE model_usage (
    day           TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    model         TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cost_micros   INTEGER NOT NULL,
    PRIMARY KEY (day, user_id, model)
) STRICT, WITHOUT ROWID;
