/**
 * Load on a Kafka port without a client library in between: requests that were encoded once are sent again and again, and answers are
 * looked at only as far as their error codes and offsets. So the broker is the limit, not the client.
 *
 * Invariant: what is reported was acknowledged without an error; the first error ends the load with an Error.
 */
import { connect, type Socket } from "node:net";
import { zeroUuid } from "../../src/base/uuid.ts";
import { decodeResponse, encodeRequest } from "../../src/protocol/frames.ts";
import { newFetchPartition, newFetchRequest, newFetchTopic } from "../../src/protocol/generated/fetch_request.ts";
import { newProduceRequest } from "../../src/protocol/generated/produce_request.ts";
import { BatchHeader, batchHeaderBytes } from "../../src/protocol/records/batch.ts";

const produceKey = 0;
const produceVersion = 9;
const fetchKey = 1;
const fetchVersion = 12;

/** Nearest-rank percentiles of durations, in the unit of the input; 0 when there are none. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** One connection that hands over whole answers, without their length. */
export class RawConnection {
  readonly #socket: Socket;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #neededBytes = 4;
  #waiting: { resolve: (frame: Uint8Array) => void; reject: (error: Error) => void }[] = [];
  readonly #frames: Uint8Array[] = [];
  #failure: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes: string | Buffer) => this.#received(bytes as Buffer));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the broker closed the connection")));
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port, noDelay: true });
      socket.once("connect", () => resolve(new RawConnection(socket)));
      socket.once("error", reject);
    });
  }

  send(frame: Uint8Array): void {
    this.#socket.write(frame);
  }

  answer(): Promise<Uint8Array> {
    const next = this.#frames.shift();
    if (next) return Promise.resolve(next);
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  close(): void {
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }

  #received(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    while (this.#heldBytes >= this.#neededBytes) {
      const joined: Buffer = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
      this.#held = [joined];
      if (joined.length < 4) return;
      this.#neededBytes = 4 + joined.readInt32BE(0);
      if (joined.length < this.#neededBytes) return;
      const frame = joined.subarray(4, this.#neededBytes);
      const rest = joined.subarray(this.#neededBytes);
      this.#held = rest.length === 0 ? [] : [rest];
      this.#heldBytes = rest.length;
      this.#neededBytes = 4;
      const waiter = this.#waiting.shift();
      if (waiter) waiter.resolve(frame);
      else this.#frames.push(frame);
    }
  }
}

/** A Produce of one batch into one partition, acks=all, as a frame with its length. */
export function produceFrame(topic: string, index: number, records: Uint8Array): Buffer {
  const topicData = [{ name: topic, topicId: zeroUuid, partitionData: [{ index, records }] }];
  const request = newProduceRequest({ acks: -1, timeoutMs: 30_000, topicData });
  return Buffer.concat(encodeRequest(produceKey, produceVersion, 1, "rowlog-bench", request));
}

/** Throws the first error that a Produce answer holds; gives the base offset of its only partition. */
export function producedAt(frame: Uint8Array): number {
  const [topic] = decodeResponse(produceKey, produceVersion, frame).body.responses;
  const partition = topic?.partitionResponses[0];
  if (partition?.errorCode !== 0)
    throw new Error(`a produce was refused: error ${partition?.errorCode} ${partition?.errorMessage ?? ""}`);
  return Number(partition.baseOffset);
}

export interface RawProduce {
  port: number;
  topic: string;
  partitions: number;
  batch: Uint8Array;
  /** Requests in all. */
  requests: number;
  connections: number;
  inFlight: number;
}

/** Sends one batch again and again over several connections, each into one partition, with several requests in flight. */
export async function produceRaw(load: RawProduce): Promise<void> {
  const each = Math.ceil(load.requests / load.connections);
  await Promise.all(
    Array.from({ length: load.connections }, async (_, place) => {
      const connection = await RawConnection.open(load.port);
      const frame = produceFrame(load.topic, place % load.partitions, load.batch);
      try {
        for (let sent = 0; sent < each + load.inFlight; sent++) {
          if (sent >= load.inFlight) producedAt(await connection.answer());
          if (sent < each) connection.send(frame);
        }
      } finally {
        connection.close();
      }
    }),
  );
}

export function fetchFrame(topic: string, partition: number, offset: number, maxWaitMs: number): Buffer {
  const partitions = [newFetchPartition({ partition, fetchOffset: BigInt(offset), partitionMaxBytes: 8 << 20 })];
  const topics = [newFetchTopic({ topic, partitions })];
  const request = newFetchRequest({ maxWaitMs, minBytes: 1, maxBytes: 50 << 20, topics });
  return Buffer.concat(encodeRequest(fetchKey, fetchVersion, 1, "rowlog-bench", request));
}

export interface Fetched {
  records: Uint8Array;
  /** Offset behind the last record; the one asked for when nothing came. */
  nextOffset: number;
  highWatermark: number;
}

/** What a Fetch of one partition brought; throws its error. */
export function fetchedFrom(frame: Uint8Array, offset: number): Fetched {
  const { body } = decodeResponse(fetchKey, fetchVersion, frame);
  const partition = body.responses[0]?.partitions[0];
  const errorCode = body.errorCode || (partition?.errorCode ?? -1);
  if (!partition || errorCode !== 0) throw new Error(`a fetch was refused: error ${errorCode}`);
  const records = (partition.records ?? new Uint8Array()) as Uint8Array;
  let nextOffset = offset;
  for (let at = 0; at + batchHeaderBytes <= records.length; ) {
    const header = new BatchHeader(records, at);
    if (at + header.sizeBytes > records.length) break;
    nextOffset = header.lastOffset + 1;
    at += header.sizeBytes;
  }
  return { records, nextOffset, highWatermark: Number(partition.highWatermark) };
}

/** Reads every partition from its start to its end, one connection each, so many times; gives the bytes of records that came. */
export async function fetchRaw(port: number, topic: string, partitions: number, times = 1): Promise<number> {
  const bytes = await Promise.all(
    Array.from({ length: partitions }, async (_, partition) => {
      const connection = await RawConnection.open(port);
      let total = 0;
      try {
        for (let left = times, offset = 0; left > 0; ) {
          connection.send(fetchFrame(topic, partition, offset, 500));
          const fetched = fetchedFrom(await connection.answer(), offset);
          total += fetched.records.length;
          offset = fetched.nextOffset;
          if (offset < fetched.highWatermark) continue;
          left--;
          offset = 0;
        }
        return total;
      } finally {
        connection.close();
      }
    }),
  );
  return bytes.reduce((sum, one) => sum + one, 0);
}

/**
 * Single records at a fixed rate into partition 0. Gives the milliseconds from when each was due to its acknowledgement, so that a
 * stall counts for all records that it delayed.
 */
export async function ackLatencies(
  port: number,
  topic: string,
  frame: Buffer,
  perSecond: number,
  count: number,
): Promise<number[]> {
  const connection = await RawConnection.open(port);
  const latencies: number[] = [];
  const startedMs = performance.now() + 10;
  const dueMs = (at: number) => startedMs + (at * 1000) / perSecond;
  /** When each counts from: a timer may wake too early as well. */
  const fromMs: number[] = [];
  const reading = (async () => {
    for (let at = 0; at < count; at++) {
      producedAt(await connection.answer());
      latencies.push(performance.now() - fromMs[at]!);
    }
  })();
  try {
    for (let at = 0; at < count; at++) {
      const waitMs = dueMs(at) - performance.now();
      if (waitMs > 0) await new Promise((wake) => setTimeout(wake, waitMs));
      fromMs.push(Math.min(performance.now(), dueMs(at)));
      connection.send(frame);
    }
    await reading;
  } catch (error) {
    throw new Error(`latency of ${topic}: ${(error as Error).message}`, { cause: error });
  } finally {
    connection.close();
  }
  return latencies;
}
