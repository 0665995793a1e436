/**
 * Reading for a Fetch: what its partitions have, and waiting until that is enough (cases C09).
 *
 * An answer is due when min bytes are there, at once for any partition error or a partition that has filled its own
 * limit, else at the deadline. The first partition that has data gives at least one batch, however large, so that a
 * client always gets on (KIP-74).
 *
 * Batches of which only the header is left do not count as data: a client that looks at records only (KafkaJS) would ask for them again at
 * once, and for ever. Such an answer waits a moment; others learn from it how far the log goes.
 */
import { errorCodeOf } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { TopicEntry } from "../catalog/catalog.ts";
import type { PartitionLog } from "../log/log_store.ts";
import { BatchHeader, batchHeaderBytes } from "../protocol/records/batch.ts";
import type { RequestContext } from "./handler.ts";
import { checkLeaderEpoch } from "./leader_epoch.ts";

/** One partition that a fetch asks for. */
export interface FetchTarget {
  topic: TopicEntry | undefined;
  /** Why the topic is not there: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID. */
  topicError: number;
  partition: number;
  fetchOffset: number;
  maxBytes: number;
  /** -1: not given. */
  currentLeaderEpoch: number;
}

export interface FetchedPartition {
  errorCode: number;
  /** -1 after an error, as are the other offsets. */
  highWatermark: number;
  logStartOffset: number;
  records: Uint8Array[];
  bytes: number;
}

export interface FetchWish {
  minBytes: number;
  maxBytes: number;
  maxWaitMs: number;
}

/** Reads the targets in order; waits up to the wish's time where they have too little. One result per target. */
export async function readWhenReady(
  targets: FetchTarget[],
  wish: FetchWish,
  context: RequestContext,
): Promise<FetchedPartition[]> {
  const first = readAll(targets, wish, context);
  if (first.isEnough || wish.maxWaitMs <= 0) return first.partitions;
  const maxWaitMs = first.hasEmptied ? Math.min(wish.maxWaitMs, limits.emptiedWaitMs) : wish.maxWaitMs;
  return await waitFor(targets, { ...wish, maxWaitMs }, context);
}

interface Reading {
  partitions: FetchedPartition[];
  isEnough: boolean;
  /** A partition has only batches without records. */
  hasEmptied: boolean;
}

function readAll(targets: FetchTarget[], wish: FetchWish, context: RequestContext): Reading {
  let room = Math.min(wish.maxBytes, limits.fetchAnswerBytesMax);
  let bytes = 0;
  let emptiedBytes = 0;
  let isEnough = targets.length === 0;
  const partitions: FetchedPartition[] = [];
  for (const target of targets) {
    const partition = readOne(target, room, bytes === 0, context);
    partitions.push(partition);
    room -= partition.bytes;
    bytes += partition.bytes;
    if (isEmptied(partition)) emptiedBytes += partition.bytes;
    isEnough ||= partition.errorCode !== 0;
  }
  // Only a reading below min bytes, which is small, is looked at closer for its end.
  isEnough ||= bytes - emptiedBytes >= wish.minBytes || partitions.some(hasFilledItsLimit);
  return { partitions, isEnough, hasEmptied: emptiedBytes > 0 };
}

/** Whether there are batches, and none of them has a record. */
function isEmptied({ records }: FetchedPartition): boolean {
  const first = records[0];
  return first !== undefined && new BatchHeader(first).recordCount === 0 && records.every(hasNoRecord);
}

function hasNoRecord(batches: Uint8Array): boolean {
  for (let at = 0; at + batchHeaderBytes <= batches.length; ) {
    const header = new BatchHeader(batches, at);
    if (header.recordCount > 0) return false;
    at += header.sizeBytes;
  }
  return true;
}

/** There is more below the high watermark than was read: waiting would bring nothing. */
function hasFilledItsLimit({ records, highWatermark }: FetchedPartition): boolean {
  const last = records.at(-1);
  if (!last) return false;
  let end = 0;
  for (let at = 0; at + batchHeaderBytes <= last.length; ) {
    const header = new BatchHeader(last, at);
    end = header.lastOffset + 1;
    at += header.sizeBytes;
  }
  return end < highWatermark;
}

function readOne(target: FetchTarget, room: number, isFirst: boolean, context: RequestContext): FetchedPartition {
  const { topic } = target;
  if (!topic) return failed(target.topicError);
  try {
    const log = context.services.topics.log(topic, target.partition);
    checkLeaderEpoch(target.currentLeaderEpoch);
    const maxBytes = Math.max(0, Math.min(room, target.maxBytes));
    const records = log.read(target.fetchOffset, { maxBytes, minOneBatch: isFirst, isolation: "highWatermark" });
    let bytes = 0;
    for (const chunk of records) bytes += chunk.length;
    const { highWatermark, logStartOffset } = log;
    return { errorCode: 0, highWatermark, logStartOffset, records, bytes };
  } catch (error) {
    const failure = failed(errorCodeOf(error));
    const log = context.services.logs.get(topic.name, target.partition);
    if (!(error as { errorName?: string }).errorName)
      context.services.logger.error("a fetch failed inside the node", { stack: (error as Error).stack });
    return log ? { ...failure, highWatermark: log.highWatermark, logStartOffset: log.logStartOffset } : failure;
  }
}

function failed(errorCode: number): FetchedPartition {
  return { errorCode, highWatermark: -1, logStartOffset: -1, records: [], bytes: 0 };
}

/** Waits for the logs to grow, for the deadline, or for the peer to leave. */
function waitFor(targets: FetchTarget[], wish: FetchWish, context: RequestContext): Promise<FetchedPartition[]> {
  const { services } = context;
  return new Promise((resolve, reject) => {
    const stops: (() => void)[] = [];
    let queued = false;
    const finish = (partitions: FetchedPartition[]) => {
      for (const stop of stops) stop();
      stops.length = 0;
      resolve(partitions);
    };
    const look = (isLast: boolean) => {
      try {
        const reading = readAll(targets, wish, context);
        if (reading.isEnough || isLast) finish(reading.partitions);
      } catch (error) {
        for (const stop of stops) stop();
        reject(error);
      }
    };
    const onAdvance = () => {
      if (queued) return;
      queued = true;
      queueMicrotask(() => {
        queued = false;
        if (stops.length > 0) look(false);
      });
    };
    for (const log of logsOf(targets, context)) stops.push(log.onAdvance(onAdvance));
    const waitMs = Math.min(wish.maxWaitMs, limits.fetchWaitMsMax);
    const timer = services.clock.setTimer(waitMs, () => look(true));
    stops.push(() => timer.cancel());
    stops.push(context.onClose(() => look(true)));
    // A topic that is deleted meanwhile is an error to tell at once.
    stops.push(
      services.catalog.onChange((change) => {
        if (change.kind !== "deleted") return;
        for (const target of targets) {
          if (target.topic?.id !== change.topic.id) continue;
          target.topic = undefined;
          onAdvance();
        }
      }),
    );
  });
}

function logsOf(targets: FetchTarget[], context: RequestContext): PartitionLog[] {
  return targets.flatMap(({ topic, partition }) => (topic ? [context.services.topics.log(topic, partition)] : []));
}
