/**
 * Produce (0), versions 3 to 13; 0 to 2 are advertised, since old librdkafka looks for them, but refused, as Apache Kafka
 * 4 does (KIP-896). By name up to version 12, by topic id from 13.
 *
 * Not served: transactions (TRANSACTIONAL_ID_AUTHORIZATION_FAILED).
 */
import { errorCodes, type KafkaErrorName } from "../../base/kafka_error.ts";
import type { TopicEntry } from "../../catalog/catalog.ts";
import { codecs } from "../../hotpath/codecs.ts";
import type { ProduceRequest } from "../../protocol/generated/produce_request.ts";
import type { ProduceResponse } from "../../protocol/generated/produce_response.ts";
import { framePool } from "../frame_assembler.ts";
import { ConnectionMustClose, handler, type RequestContext } from "../handler.ts";
import { type ProduceOutcome, produceBatch } from "../produce_path.ts";

/** Where a batch has the low byte of its attributes, and the bits in it. */
const lowAttributesAt = 22;
const codecBits = 7;
const transactionalBit = 1 << 4;

type TopicData = ProduceRequest["topicData"][number];
type TopicResponse = ProduceResponse["responses"][number];
type PartitionResponse = TopicResponse["partitionResponses"][number];

export const produce = handler<ProduceRequest, ProduceResponse>(0, async (request, context) => {
  const { services } = context;
  const transactional = request.transactionalId !== null || request.topicData.some(hasTransactionalBatch);
  const release = releaseOf(request);
  const started = request.topicData.map((data) => {
    const topic = findTopic(data, context);
    const refusal = transactional
      ? refusalOfTransactions
      : topic
        ? requestRefusal(request, topic)
        : unknownTopic(context.apiVersion);
    return {
      data,
      outcomes: data.partitionData.map(({ index, records }) => {
        const reason = refusal ?? codecRefusal(records, context.apiVersion);
        return reason ? refused(reason) : produceBatch(services, topic!, index, records, release);
      }),
    };
  });
  const responses: TopicResponse[] = [];
  let failed = false;
  for (const { data, outcomes } of started) {
    const partitionResponses: PartitionResponse[] = [];
    for (const [place, pending] of outcomes.entries()) {
      const outcome = await pending;
      failed ||= outcome.errorCode !== 0;
      partitionResponses.push(partitionResponse(data.partitionData[place]!.index, outcome));
    }
    // A topic that was named without partitions is not answered, as in Kafka.
    if (partitionResponses.length > 0) responses.push({ name: data.name, topicId: data.topicId, partitionResponses });
  }
  if (request.acks === 0) {
    // The only way to tell a producer that waits for no answer, as in Kafka.
    if (failed) throw new ConnectionMustClose("a produce with acks=0 failed");
    return null;
  }
  return { responses, throttleTimeMs: 0, nodeEndpoints: [] };
});

/** Gives the request's frame back to its pool once the last of its batches is held by nobody; undefined for small frames. */
function releaseOf({ topicData }: ProduceRequest): (() => void) | undefined {
  const buffer = topicData[0]?.partitionData[0]?.records?.buffer;
  if (!buffer || !framePool.owns(buffer)) return undefined;
  let held = 0;
  for (const { partitionData } of topicData) held += partitionData.length;
  return () => {
    if (--held === 0) framePool.give(buffer);
  };
}

function findTopic(data: TopicData, context: RequestContext): TopicEntry | undefined {
  const { catalog } = context.services;
  return context.apiVersion >= 13 ? catalog.topicById(data.topicId) : catalog.topic(data.name);
}

interface Refusal {
  code: number;
  message: string;
}

const refusal = (name: KafkaErrorName, message: string): Refusal => ({ code: errorCodes[name], message });

function unknownTopic(version: number): Refusal {
  return version >= 13
    ? refusal("UNKNOWN_TOPIC_ID", "This server does not host this topic ID.")
    : refusal("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.");
}

const refusalOfTransactions = refusal(
  "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
  "Transactions are not supported; unset transactional.id.",
);

/** The first version in which clients know zstd (KIP-110). */
const zstdFrom = 7;

/** The low byte of a batch's attributes, where the batch has one; the batch itself is checked later. */
function attributesOf(records: Uint8Array | null): number {
  return records === null || records.length <= lowAttributesAt ? 0 : records[lowAttributesAt]!;
}

function hasTransactionalBatch({ partitionData }: TopicData): boolean {
  return partitionData.some(({ records }) => (attributesOf(records) & transactionalBit) !== 0);
}

function codecRefusal(records: Uint8Array | null, version: number): Refusal | undefined {
  if (version >= zstdFrom || (attributesOf(records) & codecBits) !== codecs.zstd) return undefined;
  return refusal("UNSUPPORTED_COMPRESSION_TYPE", `Produce version ${version} does not know zstd.`);
}

/** `min.insync.replicas` asks for no more replicas than the topic has, as in Apache Kafka: on one node it refuses nothing. */
function requestRefusal(request: ProduceRequest, topic: TopicEntry): Refusal | undefined {
  if (request.acks !== 0 && request.acks !== 1 && request.acks !== -1)
    return refusal("INVALID_REQUIRED_ACKS", `acks=${request.acks}: only 0, 1 and -1 (all) exist.`);
  if (topic.internal) return refusal("INVALID_TOPIC_EXCEPTION", `Cannot append to internal topic ${topic.name}`);
  return undefined;
}

function refused({ code, message }: Refusal): ProduceOutcome {
  return {
    errorCode: code,
    errorMessage: message,
    recordErrors: [],
    baseOffset: -1,
    logAppendTimeMs: -1,
    logStartOffset: -1,
  };
}

function partitionResponse(index: number, outcome: ProduceOutcome): PartitionResponse {
  return {
    index,
    errorCode: outcome.errorCode,
    baseOffset: BigInt(outcome.baseOffset),
    logAppendTimeMs: BigInt(outcome.logAppendTimeMs),
    logStartOffset: BigInt(outcome.logStartOffset),
    recordErrors: outcome.recordErrors.map((fault) => ({
      batchIndex: fault.index,
      batchIndexErrorMessage: fault.message,
    })),
    errorMessage: outcome.errorMessage,
    currentLeader: { leaderId: -1, leaderEpoch: -1 },
  };
}
