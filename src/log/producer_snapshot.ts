/**
 * Kafka's producer snapshot file (ProducerSnapshot.json, version 1): `<offset>.snapshot` holds what a partition knew of
 * its producers when its log ended at that offset, the last batch of each. Big-endian: int16 version, uint32 CRC32C of
 * what follows, int32 count, then 46 bytes per producer.
 */
import { crc32c } from "../hotpath/crc32c.ts";
import type { ProducerEntry } from "./producer_state.ts";

const version = 1;
const headerBytes = 6;
const entryBytes = 46;

export function encodeSnapshot(producers: Iterable<ProducerEntry>, count: number): Uint8Array {
  const bytes = new Uint8Array(headerBytes + 4 + count * entryBytes);
  const view = new DataView(bytes.buffer);
  view.setInt16(0, version);
  let at = headerBytes + 4;
  let written = 0;
  for (const producer of producers) {
    const last = producer.batches[producer.batches.length - 1];
    view.setBigInt64(at, BigInt(producer.producerId));
    view.setInt16(at + 8, producer.epoch);
    view.setInt32(at + 10, last?.lastSequence ?? -1);
    view.setBigInt64(at + 14, BigInt(last?.lastOffset ?? -1));
    view.setInt32(at + 22, last ? last.lastOffset - last.baseOffset : 0);
    view.setBigInt64(at + 26, BigInt(last?.timestamp ?? -1));
    view.setInt32(at + 34, -1); // coordinator epoch: no transactions
    view.setBigInt64(at + 38, -1n); // first offset of an open transaction
    at += entryBytes;
    written++;
  }
  view.setInt32(headerBytes, written);
  view.setUint32(2, crc32c(bytes, headerBytes, at));
  return bytes.subarray(0, at);
}

/** The producers of a snapshot; nothing for one that is damaged or of an unknown version. */
export function decodeSnapshot(bytes: Uint8Array, nowMs: number): ProducerEntry[] | undefined {
  if (bytes.length < headerBytes + 4) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.getInt16(0) !== version || view.getUint32(2) !== crc32c(bytes, headerBytes)) return undefined;
  const count = view.getInt32(headerBytes);
  if (count < 0 || headerBytes + 4 + count * entryBytes !== bytes.length) return undefined;
  const producers: ProducerEntry[] = [];
  for (let at = headerBytes + 4; at < bytes.length; at += entryBytes) {
    const id = view.getBigInt64(at);
    const epoch = view.getInt16(at + 8);
    const lastSequence = view.getInt32(at + 10);
    const lastOffset = Number(view.getBigInt64(at + 14));
    const offsetDelta = view.getInt32(at + 22);
    const timestamp = Number(view.getBigInt64(at + 26));
    const baseSequence = lastSequence - offsetDelta;
    const batch = {
      epoch,
      baseSequence: baseSequence < 0 ? baseSequence + 2_147_483_648 : baseSequence,
      lastSequence,
      baseOffset: lastOffset - offsetDelta,
      lastOffset,
      timestamp,
      done: undefined,
    };
    producers.push({
      producerId: Number.isSafeInteger(Number(id)) ? Number(id) : id,
      epoch,
      batches: lastSequence < 0 ? [] : [batch],
      seenMs: nowMs,
    });
  }
  return producers;
}
