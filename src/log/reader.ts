/**
 * The read side of one partition: whole batches from memory where the newest are, else from the segment files with one
 * read into the buffer that is handed out.
 */
import { Buffer } from "node:buffer";
import { BufferPool } from "../base/buffer_pool.ts";
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import { BatchHeader, batchHeaderBytes } from "../protocol/records/batch.ts";
import type { LogState } from "./log_state.ts";
import type { Segment } from "./segment.ts";

export interface ReadOptions {
  /** Bytes to give at most. */
  maxBytes: number;
  /** Give the first batch even when it alone is larger than `maxBytes` (Kafka's rule for the first partition of a Fetch). */
  minOneBatch: boolean;
  /** "highWatermark": what is durable, for clients. "logEnd": all that is accepted, also below the log start offset. */
  isolation: "highWatermark" | "logEnd";
}

/** Large reads lie in these; whoever has sent one, and is alone with it, gives it back. */
export const readBuffers = new BufferPool(limits.readPoolBytesMax);
const pooledBytesMin = 64 * 1024;

/** Many small batches go out in one piece rather than as many. */
const partsMax = 16;

export class PartitionReader {
  private readonly state: LogState;
  /** Where the last reads from files ended: a consumer that reads on starts there without a search. */
  private readonly resume = new Map<number, { segment: Segment; position: number }>();
  /** From an offset at which there are emptied batches, up to where no record is. */
  private readonly passed = new Map<number, number>();

  constructor(state: LogState) {
    this.state = state;
  }

  /**
   * Whole batches from the one that holds `offset`, or, when that was removed, from the next one; empty at the end.
   * Throws OFFSET_OUT_OF_RANGE below the log start and past the log end.
   */
  read(offset: number, options: ReadOptions): Uint8Array[] {
    const { state } = this;
    const isDurable = options.isolation === "highWatermark";
    const limit = isDurable ? state.highWatermark : state.logEndOffset;
    const first = isDurable ? state.logStartOffset : state.segments[0]!.baseOffset;
    if (!(offset >= first && offset <= state.logEndOffset))
      throw new KafkaError(
        "OFFSET_OUT_OF_RANGE",
        `offset ${offset} of ${state.name} is outside of ${first} to ${state.logEndOffset}`,
      );
    if (offset >= limit) return [];
    const parts = this.readAt(offset, limit, options);
    return isDurable ? this.passEmptied(offset, parts, limit, options) : parts;
  }

  /**
   * Goes on to where records are when all batches of a read are emptied ones: clients that only look at records (KafkaJS) would ask for
   * the same offset for ever. What is left out is a gap, which no client minds. Without records up to the end, the answer is what was read
   * first: its last offset leads on. The same with very many to pass, of which each read passes some.
   */
  private passEmptied(offset: number, parts: Uint8Array[], limit: number, options: ReadOptions): Uint8Array[] {
    const behind = offsetBehindEmptied(parts);
    if (behind === undefined) return parts;
    let next = Math.max(behind, this.passed.get(offset) ?? 0);
    let passedBytes = 0;
    while (next < limit && passedBytes < limits.emptiedBytesPassedMax) {
      const ahead = this.readAt(next, limit, options);
      if (ahead.length === 0) break;
      const end = offsetBehindEmptied(ahead);
      if (end === undefined) return ahead;
      for (const part of ahead) passedBytes += part.length;
      next = end;
    }
    put(this.passed, offset, next);
    return parts;
  }

  private readAt(offset: number, limit: number, options: ReadOptions): Uint8Array[] {
    const { state } = this;
    if (offset >= state.recent.firstOffset) {
      const found = state.recent.read(offset, limit, options.maxBytes, options.minOneBatch);
      return found.length > partsMax ? [concatenate(found)] : found;
    }
    return this.readFiles(offset, limit, options);
  }

  private readFiles(offset: number, limit: number, options: ReadOptions): Uint8Array[] {
    const { segments } = this.state;
    let index = this.state.segmentIndexFor(offset);
    let found = this.startOf(segments[index]!, offset);
    // The end of this segment is before the offset: what follows a gap is the next segment.
    while (!found && index + 1 < segments.length) {
      index++;
      found = this.startOf(segments[index]!, offset);
    }
    if (!found) return [];
    const segment = segments[index]!;
    const nextBase = segments[index + 1]?.baseOffset ?? Number.POSITIVE_INFINITY;
    let bytes = Math.min(options.maxBytes, segment.written - found.position);
    if (bytes < found.bytes) {
      if (!options.minOneBatch && options.maxBytes < found.bytes) return [];
      bytes = found.bytes;
    }
    const buffer = bytes >= pooledBytesMin ? readBuffers.take(bytes) : allocate(bytes);
    const got = segment.files.use(segment.logPath).read(buffer, found.position);
    const { end, nextOffset } = wholeBatches(buffer.subarray(0, got), Math.min(limit, nextBase));
    if (end === 0) throw this.damage(segment, found.position);
    this.remember(nextOffset, segment, found.position + end);
    return [buffer.subarray(0, end)];
  }

  /** Position and size of the first batch of the segment that ends at or past the offset. */
  private startOf(segment: Segment, offset: number): { position: number; bytes: number } | undefined {
    const known = this.resume.get(offset);
    if (known?.segment === segment && known.position + batchHeaderBytes <= segment.written) {
      const bytes = new Uint8Array(batchHeaderBytes);
      segment.files.use(segment.logPath).read(bytes, known.position);
      const header = new BatchHeader(bytes);
      if (header.lastOffset >= offset && header.baseOffset <= offset)
        return { position: known.position, bytes: header.sizeBytes };
    }
    return segment.locate(offset);
  }

  private remember(offset: number, segment: Segment, position: number): void {
    put(this.resume, offset, { segment, position });
  }

  /** Forgets positions, because files were cut or removed. */
  forget(): void {
    this.resume.clear();
  }

  private damage(segment: Segment, position: number): KafkaError {
    return new KafkaError("CORRUPT_MESSAGE", `${segment.logPath} has no record batch at position ${position}`);
  }
}

/** Remembers for the offsets that were read last. */
function put<T>(map: Map<number, T>, offset: number, value: T): void {
  map.delete(offset);
  if (map.size >= 8) map.delete(map.keys().next().value!);
  map.set(offset, value);
}

/** The offset behind whole batches of which none has a record; undefined when one has, or there are none. */
function offsetBehindEmptied(parts: readonly Uint8Array[]): number | undefined {
  let next: number | undefined;
  for (const part of parts)
    for (let at = 0; at + batchHeaderBytes <= part.length; ) {
      const header = new BatchHeader(part, at);
      if (header.recordCount > 0) return undefined;
      next = header.lastOffset + 1;
      at += header.sizeBytes;
    }
  return next;
}

/** The end of the last whole batch that starts before `limit`, and the offset after it. */
function wholeBatches(bytes: Uint8Array, limit: number): { end: number; nextOffset: number } {
  let end = 0;
  let nextOffset = -1;
  while (end + batchHeaderBytes <= bytes.length) {
    const header = new BatchHeader(bytes, end);
    const size = header.sizeBytes;
    if (size < batchHeaderBytes || end + size > bytes.length || header.baseOffset >= limit) break;
    nextOffset = header.lastOffset + 1;
    end += size;
  }
  return { end, nextOffset };
}

/** Memory that is about to be filled: not zeroed first, and never from a shared pool. */
function allocate(bytes: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  const whole = allocate(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
