/**
 * Reads records of many partitions: one long-polled Fetch per leader at a time, answers handed out as they arrive.
 * Invariant: within a partition records come in offset order, each once, none before the asked offset, no control records,
 * and with `readCommitted` none of an aborted transaction.
 */
import { errorCodes, errorName, KafkaError } from "../base/kafka_error.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../protocol/generated/fetch_request.ts";
import type { PartitionData } from "../protocol/generated/fetch_response.ts";
import { apiKeys } from "../protocol/generated/index.ts";
import { type DecodedRecord, decodeBatches, type RecordBatchView } from "../protocol/records/decode.ts";
import { isRetriable, type KafkaClient } from "./client.ts";
import { ConnectionError } from "./connection.ts";

export interface Position {
  topic: string;
  partition: number;
  /** Next offset to read. The consumer moves it on; the owner may change it between answers. */
  offset: number;
}

export interface Fetched {
  position: Position;
  records: DecodedRecord[];
  timestampType: "CreateTime" | "LogAppendTime";
  highWatermark: number;
  /** Highest offset that `readCommitted` may read up to; the high watermark otherwise. */
  end: number;
  brokerId: number;
}

export interface ConsumerOptions {
  waitMs?: number;
  minBytes?: number;
  maxBytes?: number;
  partitionBytes?: number;
  readCommitted?: boolean;
}

export class Consumer {
  /** What is read; may be changed between answers. */
  positions: Position[] = [];
  readonly #client: KafkaClient;
  readonly #options: Required<ConsumerOptions>;
  readonly #pending = new Map<number, Promise<{ leader: number; fetched: Fetched[] }>>();
  #failures = 0;

  constructor(client: KafkaClient, options: ConsumerOptions = {}) {
    this.#client = client;
    this.#options = {
      waitMs: 500,
      minBytes: 1,
      maxBytes: 32 * 1024 * 1024,
      partitionBytes: 1024 * 1024,
      readCommitted: false,
      ...options,
    };
  }

  /**
   * Records of the next answer, or an empty list after `waitMs` without any; partitions at their end report that with no
   * records. Throws KafkaError (OFFSET_OUT_OF_RANGE among them) and ConnectionError.
   */
  async next(): Promise<Fetched[]> {
    try {
      const byLeader = new Map<number, Position[]>();
      for (const position of this.positions) {
        const leader = await this.#client.leader(position.topic, position.partition, this.#failures > 0);
        const list = byLeader.get(leader);
        if (list) list.push(position);
        else byLeader.set(leader, [position]);
      }
      for (const [leader, positions] of byLeader)
        if (!this.#pending.has(leader)) this.#pending.set(leader, this.#fetch(leader, positions));
      if (this.#pending.size === 0) {
        await this.#client.pause(this.#options.waitMs);
        return [];
      }
      const { leader, fetched } = await Promise.race(this.#pending.values());
      this.#pending.delete(leader);
      this.#failures = 0;
      return fetched;
    } catch (error) {
      this.#pending.clear();
      const lost = error instanceof ConnectionError;
      const moved = error instanceof KafkaError && isRetriable(error.code) && error.code !== 3;
      if (!(lost || moved) || ++this.#failures > 20) throw error;
      await this.#client.pause(Math.min(100 * this.#failures, 1_000));
      return [];
    }
  }

  async #fetch(leader: number, positions: Position[]): Promise<{ leader: number; fetched: Fetched[] }> {
    const { waitMs, minBytes, maxBytes, partitionBytes, readCommitted } = this.#options;
    const asked = positions.map((position) => ({ position, offset: position.offset }));
    const topics = new Map<string, ReturnType<typeof newFetchTopic>>();
    for (const { position, offset } of asked) {
      const topic = topics.get(position.topic) ?? newFetchTopic({ topic: position.topic, partitions: [] });
      topics.set(position.topic, topic);
      topic.partitions.push(
        newFetchPartition({
          partition: position.partition,
          fetchOffset: BigInt(offset),
          partitionMaxBytes: partitionBytes,
        }),
      );
    }
    const isolationLevel = readCommitted ? 1 : 0;
    const body = newFetchRequest({
      maxWaitMs: waitMs,
      minBytes,
      maxBytes,
      isolationLevel,
      topics: [...topics.values()],
    });
    // Version 13 names topics by id.
    const answer = await this.#client.requestOf(leader, apiKeys.Fetch, body, {
      maxVersion: 12,
      timeoutMs: waitMs + this.#client.options.timeoutMs,
    });
    if (answer.errorCode !== 0) throw new KafkaError(errorName(answer.errorCode), "fetch failed");
    const fetched: Fetched[] = [];
    for (const topic of answer.responses)
      for (const data of topic.partitions) {
        const found = asked.find(
          ({ position }) => position.topic === topic.topic && position.partition === data.partitionIndex,
        );
        // A position that was moved or dropped meanwhile wants nothing of this answer.
        if (!found || found.position.offset !== found.offset || !this.positions.includes(found.position)) continue;
        fetched.push(this.#read(found.position, data, leader));
      }
    return { leader, fetched };
  }

  #read(position: Position, data: PartitionData, brokerId: number): Fetched {
    if (data.errorCode !== 0) {
      const place = `topic "${position.topic}" partition ${position.partition}`;
      const outside = data.errorCode === errorCodes.OFFSET_OUT_OF_RANGE;
      const why = outside ? `has no offset ${position.offset}` : `cannot be read: ${errorName(data.errorCode)}`;
      throw Object.assign(new KafkaError(errorName(data.errorCode), `${place} ${why}`), { position });
    }
    const aborted = new AbortedTransactions(this.#options.readCommitted ? data : undefined);
    const records: DecodedRecord[] = [];
    let timestampType: Fetched["timestampType"] = "CreateTime";
    let next = position.offset;
    for (const batch of batchesOf(data)) {
      timestampType = batch.header.timestampType;
      if (!aborted.hides(batch)) for (const record of batch) if (record.offset >= position.offset) records.push(record);
      next = Math.max(next, batch.header.baseOffset + batch.header.lastOffsetDelta + 1);
    }
    position.offset = next;
    const highWatermark = Number(data.highWatermark);
    const end =
      this.#options.readCommitted && data.lastStableOffset >= 0n ? Number(data.lastStableOffset) : highWatermark;
    return { position, records, timestampType, highWatermark, end, brokerId };
  }
}

function* batchesOf(data: PartitionData): Generator<RecordBatchView> {
  if (data.records === null) return;
  const parts = data.records instanceof Uint8Array ? [data.records] : data.records;
  for (const part of parts) yield* decodeBatches(part);
}

/** Control batches are never shown; batches of a listed producer from its first offset to its abort marker neither. */
class AbortedTransactions {
  readonly #upcoming: { producerId: bigint; firstOffset: bigint }[];
  readonly #open = new Set<bigint>();

  constructor(data: PartitionData | undefined) {
    this.#upcoming = [...(data?.abortedTransactions ?? [])].sort((a, b) => Number(a.firstOffset - b.firstOffset));
  }

  hides(batch: RecordBatchView): boolean {
    const { header } = batch;
    const last = BigInt(header.baseOffset + header.lastOffsetDelta);
    while (this.#upcoming[0] && this.#upcoming[0].firstOffset <= last)
      this.#open.add(this.#upcoming.shift()?.producerId as bigint);
    if (header.isControl) {
      this.#open.delete(header.producerId);
      return true;
    }
    return header.isTransactional && this.#open.has(header.producerId);
  }
}
