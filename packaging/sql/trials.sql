-- Views for DuckDB on the trials of all runs in a directory: a row for each trial.
-- Times are nanoseconds, sizes bytes. `nettoll export --sql` prints this file.
CREATE OR REPLACE VIEW trial_lines AS
SELECT
    regexp_extract(filename, '([^/]+)/trials\.jsonl$', 1) AS run,
    *
FROM read_json(
    'runs/*/trials.jsonl',
    format = 'newline_delimited',
    filename = true,
    -- The last line of a run that was killed may be torn.
    ignore_errors = true,
    maximum_object_size = 67108864,
    columns = {
        block: 'INTEGER',
        position: 'INTEGER',
        swapped: 'BOOLEAN',
        started_ms: 'BIGINT',
        cell: 'JSON',
        arm: 'VARCHAR',
        outcome: 'STRUCT(
            measured STRUCT(
                sender STRUCT("window" STRUCT("start" UBIGINT, "end" UBIGINT), counts STRUCT(messages UBIGINT, bytes UBIGINT, calls UBIGINT),
                    total STRUCT(messages UBIGINT, bytes UBIGINT), cpu_time STRUCT(process UBIGINT, irq UBIGINT, kernel_threads UBIGINT)),
                receiver STRUCT("window" STRUCT("start" UBIGINT, "end" UBIGINT), counts STRUCT(messages UBIGINT, bytes UBIGINT, calls UBIGINT),
                    total STRUCT(messages UBIGINT, bytes UBIGINT), cpu_time STRUCT(process UBIGINT, irq UBIGINT, kernel_threads UBIGINT))
            ),
            failed STRUCT(error VARCHAR, lost BOOLEAN)
        )'
    }
);

-- Typed columns and the figures that follow from one trial alone.
CREATE OR REPLACE VIEW trials AS
SELECT
    run,
    block,
    position,
    swapped,
    make_timestamp(started_ms * 1000) AS started,
    cell ->> 'test' AS test,
    cell ->> 'family' AS family,
    cell ->> 'api' AS api,
    (cell ->> 'size')::BIGINT AS size,
    (cell ->> 'nodelay')::BOOLEAN AS nodelay,
    cell ->> 'cc' AS cc,
    arm,
    cell,
    outcome.measured IS NOT NULL AS measured,
    outcome.failed.error AS error,
    (receiver_end - receiver_start)::DOUBLE / receiver_messages AS time_per_message_ns,
    receiver_bytes * 8e9 / (receiver_end - receiver_start) AS goodput_bit_per_s,
    outcome.measured.sender.counts.messages AS sent,
    receiver_messages AS received,
    outcome.measured.sender.cpu_time.process AS sender_process_ns,
    outcome.measured.receiver.cpu_time.process AS receiver_process_ns
FROM (
    SELECT
        *,
        outcome.measured.receiver."window"."start" AS receiver_start,
        outcome.measured.receiver."window"."end" AS receiver_end,
        outcome.measured.receiver.counts.bytes AS receiver_bytes,
        -- A TCP receiver sees bytes, not messages.
        CASE
            WHEN cell ->> 'test' IN ('TCP_STREAM', 'TCP_MAERTS') THEN receiver_bytes::DOUBLE / (cell ->> 'size')::DOUBLE
            ELSE outcome.measured.receiver.counts.messages::DOUBLE
        END AS receiver_messages
    FROM trial_lines
);
