/**
 * The way of a produced batch: checks, the table's say where the topic is one, the log, durability.
 *
 * Invariant: batches of a partition reach its log in the order in which they arrived, also where a table takes its time
 * to check one, or SQL writes to it. From before its check until after its append a batch is inside its table's gate. What fails a check
 * leaves nothing behind.
 */
import { errorCodes, KafkaError } from "../base/kafka_error.ts";
import type { TopicEntry } from "../catalog/catalog.ts";
import type { PartitionLog } from "../log/log_store.ts";
import { recompress } from "../protocol/records/encode.ts";
import { RecordErrors, type RecordFault } from "../protocol/records/record_errors.ts";
import { type ProducedBatch, validateProduceBatch } from "../protocol/records/validate.ts";
import type { Services } from "./handler.ts";
import type { AcceptedBatch } from "./table_gate.ts";

/** What Produce answers for one partition. */
export interface ProduceOutcome {
  errorCode: number;
  errorMessage: string | null;
  recordErrors: readonly RecordFault[];
  /** -1 after an error. */
  baseOffset: number;
  /** -1 unless the topic stamps records itself. */
  logAppendTimeMs: number;
  logStartOffset: number;
}

export type ProducePath = Pick<Services, "topics" | "tables" | "clock" | "logger" | "metrics">;

/** The last batch of each partition whose table check is not finished; later batches line up behind it. */
const queues = new WeakMap<PartitionLog, Promise<unknown>>();

/**
 * Resolves when the batch is durable (as far as `--durability` asks) or refused; never rejects. `release` is called when
 * nothing holds the memory of the records any more; not always, but never too early.
 */
export function produceBatch(
  path: ProducePath,
  topic: TopicEntry,
  partition: number,
  records: Uint8Array | null,
  release?: () => void,
): Promise<ProduceOutcome> {
  let log: PartitionLog;
  try {
    log = path.topics.log(topic, partition);
  } catch (error) {
    return Promise.resolve(failure(path, topic.name, partition, error, undefined));
  }
  try {
    const before = queues.get(log);
    if (before) return enqueue(path, topic, log, records, before);
    if (topic.table) return produceToTable(path, topic, log, records, release);
    const batch = check(path, topic, records);
    const accepted = plain(path, topic, batch);
    // Only what is stored as it came is held by the log alone.
    return append(path, topic, log, accepted, accepted.batch === batch.bytes ? release : undefined);
  } catch (error) {
    return Promise.resolve(failure(path, topic.name, partition, error, log));
  }
}

/** Without a wait while the table's gate is open and the table can decide at once. */
function produceToTable(
  path: ProducePath,
  topic: TopicEntry,
  log: PartitionLog,
  records: Uint8Array | null,
  release: (() => void) | undefined,
): Promise<ProduceOutcome> {
  const entry = path.tables.enter(topic);
  if (entry instanceof Promise) return enqueue(path, topic, log, records, undefined, entry);
  let isHandedOn = false;
  try {
    const batch = check(path, topic, records);
    const accepted = path.tables.ingest(topic, log.partition, batch);
    // The rows were copied out of the batch: only the log holds it now, if it is stored as it came.
    if (!(accepted instanceof Promise))
      return append(path, topic, log, accepted, accepted.batch === batch.bytes ? release : undefined);
    isHandedOn = true;
    return enqueue(path, topic, log, records, undefined, entry, accepted);
  } finally {
    if (!isHandedOn) entry.leave();
  }
}

type Entry = ReturnType<ProducePath["tables"]["enter"]>;

function enqueue(
  path: ProducePath,
  topic: TopicEntry,
  log: PartitionLog,
  records: Uint8Array | null,
  before: Promise<unknown> | undefined,
  entry?: Entry,
  begun?: Promise<AcceptedBatch>,
): Promise<ProduceOutcome> {
  // Only the check and the append keep the order; durability is awaited outside of the queue.
  const appended = (async () => {
    await before?.catch(() => undefined);
    const entered = await (entry ?? (topic.table && path.tables.enter(topic)));
    try {
      const accepted = await (begun ?? checkLater(path, topic, log, records));
      return { outcome: append(path, topic, log, accepted) };
    } finally {
      entered?.leave();
    }
  })();
  const settled = appended.catch(() => undefined);
  queues.set(log, settled);
  void settled.then(() => {
    if (queues.get(log) === settled) queues.delete(log);
  });
  return appended.then(
    ({ outcome }) => outcome,
    (error) => failure(path, topic.name, log.partition, error, log),
  );
}

async function checkLater(path: ProducePath, topic: TopicEntry, log: PartitionLog, records: Uint8Array | null) {
  const batch = check(path, topic, records);
  return topic.table ? await path.tables.ingest(topic, log.partition, batch) : plain(path, topic, batch);
}

function check(path: ProducePath, topic: TopicEntry, records: Uint8Array | null): ProducedBatch {
  if (records === null || records.length === 0)
    throw new KafkaError("INVALID_RECORD", "The produce request has no records for this partition.");
  const config = path.topics.settings(topic).log;
  return validateProduceBatch(records, {
    maxBytes: config.maxMessageBytes,
    compactedTopic: config.compacted && topic.table?.key === undefined,
    timestampType: config.timestampType,
    nowMs: path.clock.nowMs(),
    beforeMaxMs: config.timestampBeforeMaxMs,
    afterMaxMs: config.timestampAfterMaxMs,
    inspectRecords: config.compressionType !== "producer",
    maxRecordBytes: config.maxRecordBytes,
    ...(topic.table && { viewPool: path.tables.viewPool }),
  });
}

/** A plain topic's batch is stored as it came, unless the topic asks for a codec of its own. */
function plain(path: ProducePath, topic: TopicEntry, batch: ProducedBatch): AcceptedBatch {
  const { compressionType: wanted, compressionLevel, maxMessageBytes } = path.topics.settings(topic).log;
  if (wanted === "producer" || wanted === batch.codec) return { batch: batch.bytes, appended: nothing };
  const bytes = recompress(batch.bytes, wanted, compressionLevel, batch.plain);
  if (bytes.length > maxMessageBytes) {
    const message = `The batch has ${bytes.length} bytes in the topic's compression.type; ${maxMessageBytes} are allowed.`;
    throw new KafkaError("MESSAGE_TOO_LARGE", message);
  }
  return { batch: bytes, appended: nothing };
}

function nothing(): undefined {}

async function append(
  path: ProducePath,
  topic: TopicEntry,
  log: PartitionLog,
  accepted: AcceptedBatch,
  release?: () => void,
): Promise<ProduceOutcome> {
  try {
    for (const before of accepted.before ?? []) {
      const { baseOffset, logAppendTimeMs } = log.append(before.batch);
      void before.appended(baseOffset, logAppendTimeMs);
    }
    const result = log.append(accepted.batch, release);
    const room = result.duplicate ? undefined : accepted.appended(result.baseOffset, result.logAppendTimeMs);
    await result.done;
    if (room) await room;
    if (!result.duplicate) {
      path.metrics.produced(topic.name, result.lastOffset - result.baseOffset + 1, accepted.batch.length);
      for (const [why, count] of accepted.skipped ?? []) path.metrics.skipped(topic.name, why, count);
    }
    return {
      errorCode: 0,
      errorMessage: null,
      recordErrors: [],
      baseOffset: result.baseOffset,
      logAppendTimeMs: result.logAppendTimeMs,
      logStartOffset: log.logStartOffset,
    };
  } catch (error) {
    return failure(path, topic.name, log.partition, error, log);
  }
}

function failure(
  path: ProducePath,
  topic: string,
  partition: number,
  error: unknown,
  log: PartitionLog | undefined,
): ProduceOutcome {
  const outcome = {
    errorMessage: (error as Error).message,
    recordErrors: error instanceof RecordErrors ? error.recordErrors : [],
    baseOffset: -1,
    logAppendTimeMs: -1,
    logStartOffset: log?.logStartOffset ?? -1,
  };
  if (error instanceof RecordErrors) {
    path.metrics.refused(topic);
    logRefusal(path, topic, partition, error);
  }
  if (error instanceof KafkaError) return { errorCode: error.code, ...outcome };
  path.logger.error("a produce failed inside the node", { topic, partition, stack: (error as Error).stack });
  return { errorCode: errorCodes.UNKNOWN_SERVER_ERROR, ...outcome };
}

/** Once a batch: which record, and why. */
function logRefusal(path: ProducePath, topic: string, partition: number, error: RecordErrors): void {
  path.logger.warn("refused a batch", {
    topic,
    partition,
    error: error.errorName,
    reason: error.message,
    record: error.recordErrors[0]?.index,
    fault: error.recordErrors[0]?.message,
    faults: error.recordErrors.length,
  });
}
