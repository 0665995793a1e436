/**
 * Produces records: chooses partitions, makes one batch per partition, sends to the leaders, retries what Kafka calls
 * retriable. Idempotent with acks=all (KIP-98): a retry whose first attempt did arrive makes no duplicate.
 * Invariant: one batch per partition is on its way at a time, so order is kept.
 */
import { errorCodes } from "../base/kafka_error.ts";
import type { Codec } from "../hotpath/codecs.ts";
import { apiKeys } from "../protocol/generated/index.ts";
import { newInitProducerIdRequest } from "../protocol/generated/init_producer_id_request.ts";
import {
  newPartitionProduceData,
  newProduceRequest,
  newTopicProduceData,
} from "../protocol/generated/produce_request.ts";
import type { PartitionProduceResponse } from "../protocol/generated/produce_response.ts";
import { partitionOfKey } from "../protocol/partitioner.ts";
import { encodeBatch, type RecordToEncode } from "../protocol/records/encode.ts";
import { check, isRetriable, type KafkaClient } from "./client.ts";
import { ConnectionError } from "./connection.ts";

export interface RecordToSend {
  /** Absent: by key, or spread when there is none. */
  partition?: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers?: { key: string; value: Uint8Array | null }[];
  /** Milliseconds; absent: now. */
  timestampMs?: number;
}

export interface SentRecord {
  partition: number;
  /** -1 with acks=0. */
  offset: number;
  timestampMs: number;
}

export interface ProducerOptions {
  /** -1: all in-sync replicas; 1: the leader; 0: no answer. */
  acks?: -1 | 0 | 1;
  codec?: Codec;
  /** Whole time for one batch, retries included. */
  deliveryTimeoutMs?: number;
  /** Ask the broker to create a topic that is missing (it may refuse). */
  createTopics?: boolean;
}

/** What a refused batch says, with the records that were at fault (KIP-467). */
export class ProduceRefused extends Error {
  override name = "ProduceRefused";
  readonly code: number;
  readonly recordErrors: { index: number; message: string }[];
  constructor(message: string, code: number, recordErrors: { index: number; message: string }[]) {
    super(message);
    this.code = code;
    this.recordErrors = recordErrors;
  }
}

export class Producer {
  readonly #client: KafkaClient;
  readonly #options: Required<ProducerOptions>;
  readonly #sequences = new Map<string, number>();
  #id: { producerId: bigint; producerEpoch: number } | undefined;
  #spread = 0;

  constructor(client: KafkaClient, options: ProducerOptions = {}) {
    this.#client = client;
    this.#options = { acks: -1, codec: 0, deliveryTimeoutMs: 120_000, createTopics: false, ...options };
  }

  /** Where each record is, in the order given. Rejects with ProduceRefused, KafkaError or ConnectionError. */
  async send(topic: string, records: readonly RecordToSend[]): Promise<SentRecord[]> {
    const { partitions } = await this.#client.topic(topic, { create: this.#options.createTopics });
    const count = partitions.length;
    const spread = this.#spread++ % count;
    const byPartition = new Map<number, number[]>();
    records.forEach((record, index) => {
      const partition = record.partition ?? (record.key ? partitionOfKey(record.key, count) : spread);
      const indexes = byPartition.get(partition);
      if (indexes) indexes.push(index);
      else byPartition.set(partition, [index]);
    });
    if (this.#options.acks === -1) this.#id ??= await this.#initProducerId();
    const sent: SentRecord[] = new Array(records.length);
    const now = Date.now();
    await Promise.all(
      [...byPartition].map(async ([partition, indexes]) => {
        const batch = indexes.map((index) => toEncode(records[index] as RecordToSend, now));
        const answer = await this.#sendBatch(topic, partition, batch, indexes);
        indexes.forEach((index, place) => {
          const appendTime = Number(answer?.logAppendTimeMs ?? -1n);
          sent[index] = {
            partition,
            offset: answer && answer.baseOffset >= 0n ? Number(answer.baseOffset) + place : -1,
            timestampMs: appendTime >= 0 ? appendTime : (batch[place]?.timestamp ?? now),
          };
        });
      }),
    );
    return sent;
  }

  async #initProducerId(): Promise<{ producerId: bigint; producerEpoch: number }> {
    const body = newInitProducerIdRequest({ transactionalId: null, transactionTimeoutMs: 60_000 });
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#client.request(apiKeys.InitProducerId, body, { maxVersion: 4 });
      if (answer.errorCode === 0) return { producerId: answer.producerId, producerEpoch: answer.producerEpoch };
      if (!isRetriable(answer.errorCode) || attempt >= 100) check(answer.errorCode, "a producer id");
      await this.#client.pause(100);
    }
  }

  async #sendBatch(
    topic: string,
    partition: number,
    records: RecordToEncode[],
    indexes: readonly number[],
  ): Promise<PartitionProduceResponse | undefined> {
    const key = `${topic}-${partition}`;
    const baseSequence = this.#sequences.get(key) ?? 0;
    const batch = encodeBatch(records, {
      codec: this.#options.codec,
      ...(this.#id ? { ...this.#id, baseSequence } : {}),
    });
    const until = Date.now() + this.#options.deliveryTimeoutMs;
    for (let attempt = 0; ; attempt++) {
      const mayRetry = Date.now() < until && !this.#client.options.signal?.aborted;
      try {
        const answer = await this.#attempt(topic, partition, batch, attempt > 0);
        const code = answer?.errorCode ?? 0;
        if (code === 0 || code === errorCodes.DUPLICATE_SEQUENCE_NUMBER) {
          this.#sequences.set(key, nextSequence(baseSequence, records.length));
          return answer;
        }
        if (!isRetriable(code) || !mayRetry) refuse(answer as PartitionProduceResponse, topic, indexes);
      } catch (error) {
        // Without a producer id a retry after a lost connection could store the batch twice.
        if (!(error instanceof ConnectionError) || !this.#id || !mayRetry || attempt >= 5) throw error;
      }
      await this.#client.pause(Math.min(100 * 2 ** attempt, 1_000));
    }
  }

  async #attempt(
    topic: string,
    partition: number,
    records: Uint8Array,
    fresh: boolean,
  ): Promise<PartitionProduceResponse | undefined> {
    const leader = await this.#client.leader(topic, partition, fresh);
    const { acks } = this.#options;
    const topicData = [
      newTopicProduceData({ name: topic, partitionData: [newPartitionProduceData({ index: partition, records })] }),
    ];
    const body = newProduceRequest({ acks, timeoutMs: 30_000, topicData });
    // Version 13 names topics by id.
    const answer = await this.#client.requestOf(leader, apiKeys.Produce, body, {
      minVersion: 3,
      maxVersion: 12,
      timeoutMs: 35_000,
      noAnswer: acks === 0,
    });
    return acks === 0 ? undefined : answer.responses[0]?.partitionResponses[0];
  }
}

function toEncode(record: RecordToSend, nowMs: number): RecordToEncode {
  return {
    key: record.key,
    value: record.value,
    headers: record.headers ?? [],
    timestamp: record.timestampMs ?? nowMs,
  };
}

/** Sequences are 31 bits wide and wrap to 0. */
function nextSequence(sequence: number, records: number): number {
  return (sequence + records) % 2 ** 31;
}

function refuse(answer: PartitionProduceResponse, topic: string, indexes: readonly number[]): never {
  const recordErrors = answer.recordErrors.map(({ batchIndex, batchIndexErrorMessage }) => ({
    index: indexes[batchIndex] ?? batchIndex,
    message: batchIndexErrorMessage ?? "",
  }));
  try {
    check(answer.errorCode, `topic "${topic}" partition ${answer.index} refused the batch`, answer.errorMessage);
  } catch (error) {
    throw new ProduceRefused((error as Error).message, answer.errorCode, recordErrors);
  }
  throw new Error("unreachable");
}
