/**
 * Reads every byte of a partition's folder and says what is not as it must be: checksums, records, offsets, indexes, producer snapshots,
 * and whether the log goes as far as it once did. Nothing is changed.
 *
 * After a crash the end of the newest segment may be torn, and what no checkpoint vouches for may lack in indexes and snapshots: the next
 * start puts that right, so it is no fault.
 */
import { limits } from "../base/limits.ts";
import type { PartitionCheckpoint } from "../log/checkpoint.ts";
import { coveredBySwap, swapSuffix } from "../log/compaction/swap.ts";
import { FileCache } from "../log/file_cache.ts";
import { listSegments } from "../log/partition_files.ts";
import { decodeSnapshot } from "../log/producer_snapshot.ts";
import { producerIdOf, sequenceAfter } from "../log/producer_state.ts";
import { segmentName } from "../log/segment.ts";
import type { Disk, DiskFile } from "../platform/disk.ts";
import { BatchHeader, batchHeaderBytes } from "../protocol/records/batch.ts";
import { decodeBatch } from "../protocol/records/decode.ts";
import { OffsetEntries, TimeEntries } from "./check_indexes.ts";

export interface CheckSink {
  fault(what: string): void;
  /** Something that an operator may want to know. */
  note(what: string): void;
  seen(bytes: number): Promise<void> | undefined;
}

export interface PartitionToCheck {
  disk: Disk;
  /** `<topic>-<partition>`. */
  name: string;
  directory: string;
  checkpoint: PartitionCheckpoint | undefined;
  /** Records below were deleted, or left by retention. */
  startOffset: number;
  /** Offsets may be missing between records. */
  compacted: boolean;
}

export interface Counts {
  batches: number;
  records: number;
  bytes: number;
}

interface LastBatch {
  epoch: number;
  lastSequence: number;
  lastOffset: number;
  timestamp: number;
}

export class PartitionCheck {
  readonly counts: Counts = { batches: 0, records: 0, bytes: 0 };
  private readonly of: PartitionToCheck;
  private readonly sink: CheckSink;
  private readonly names: string[];
  private readonly producers = new Map<string, LastBatch>();
  /** Offsets of producer snapshots that have not been compared. */
  private readonly snapshots: number[];
  /** The offset that is due next. */
  private next = 0;

  constructor(of: PartitionToCheck, sink: CheckSink) {
    this.of = of;
    this.sink = sink;
    this.names = of.disk.stat(of.directory) ? of.disk.list(of.directory) : [];
    this.snapshots = this.names
      .filter((name) => /^\d{20}\.snapshot$/.test(name))
      .map((name) => Number(name.slice(0, 20)))
      .sort((a, b) => a - b);
  }

  async run(): Promise<void> {
    const { startOffset, checkpoint, name } = this.of;
    const swaps = this.swaps();
    const isCovered = (base: number) => swaps.some(({ base: first, end }) => base >= first && base < end);
    const bases = [...listSegments(this.names).filter((base) => !isCovered(base)), ...swaps.map(({ base }) => base)];
    bases.sort((a, b) => a - b);
    if (bases.length > 0 && bases[0]! > startOffset)
      this.sink.fault(`${name} begins at offset ${bases[0]}, its log start is ${startOffset}: a segment is missing`);
    this.next = bases[0] ?? startOffset;
    for (let i = 0; i < bases.length; i++) {
      const suffix = swaps.some(({ base }) => base === bases[i]) ? swapSuffix : "";
      await this.checkSegment(bases[i]!, bases[i + 1], suffix);
    }
    this.compareSnapshots(Number.POSITIVE_INFINITY);
    const reached = Math.max(checkpoint?.endOffset ?? 0, startOffset);
    if (this.next < reached)
      this.sink.fault(`${name} ends at offset ${this.next}, but had reached ${reached}: records are missing`);
    else if (checkpoint?.isExact && this.next > reached)
      this.sink.fault(`${name} ends at offset ${this.next}, but ended at ${reached} when the node stopped`);
  }

  /** Compacted segments that a crash kept from taking the place of the old ones; the next start puts them there. */
  private swaps(): { base: number; end: number }[] {
    const { disk, directory, name } = this.of;
    const found = this.names.filter((one) => /^\d{20}\.log\.swap$/.test(one));
    if (found.length > 0) this.sink.note(`${name}: a compaction was cut short; the next start finishes it`);
    const files = new FileCache(disk, 4);
    return found.map((one) => coveredBySwap(files, directory, Number(one.slice(0, 20))));
  }

  private async checkSegment(base: number, nextBase: number | undefined, suffix: string): Promise<void> {
    const { disk, directory, checkpoint, name } = this.of;
    const stem = `${directory}/${segmentName(base)}`;
    const place = `${name}/${segmentName(base)}`;
    if (base > this.next && !this.of.compacted)
      this.sink.fault(`${place}.log begins at offset ${base}, ${this.next} is due: records are missing`);
    if (base < this.next) this.sink.fault(`${place}.log begins at offset ${base}, inside of the segment before it`);
    this.next = Math.max(this.next, base);
    const isVouched =
      suffix === "" &&
      checkpoint !== undefined &&
      (checkpoint.isExact || base < checkpoint.segmentBase) &&
      disk.stat(`${stem}.index`);
    const file = disk.open(`${stem}.log${suffix}`);
    try {
      const size = file.size();
      const indexes = isVouched
        ? [new OffsetEntries(disk, `${stem}.index`, base), new TimeEntries(disk, `${stem}.timeindex`, base)]
        : [];
      const end = await this.walk(place, file, size, indexes, nextBase);
      if (end < size) this.reportTail(place, file, end, size, nextBase === undefined);
      else for (const index of indexes) index.finish((what) => this.sink.fault(`${place}${what}`));
    } finally {
      file.close();
    }
  }

  /** Gives the position behind the last good batch. */
  private async walk(
    place: string,
    file: DiskFile,
    size: number,
    indexes: readonly (OffsetEntries | TimeEntries)[],
    nextBase: number | undefined,
  ): Promise<number> {
    let position = 0;
    for (;;) {
      const bytes = readBatch(file, position, size);
      if (bytes === undefined) return position;
      const header = new BatchHeader(bytes);
      if (header.magic !== 2 || !header.isCrcValid) return position;
      this.checkBatch(`${place}.log`, header, bytes, nextBase);
      for (const index of indexes) index.batch(position, header, (what) => this.sink.fault(`${place}${what}`));
      position += bytes.length;
      this.counts.batches++;
      this.counts.bytes += bytes.length;
      await this.sink.seen(bytes.length);
    }
  }

  private checkBatch(file: string, header: BatchHeader, bytes: Uint8Array, nextBase: number | undefined): void {
    const { baseOffset, lastOffset } = header;
    if (baseOffset < this.next) this.sink.fault(`${file}: offset ${baseOffset} comes where ${this.next} is due`);
    else if (baseOffset > this.next && !this.of.compacted)
      this.sink.fault(`${file}: offsets ${this.next} to ${baseOffset - 1} are missing`);
    if (nextBase !== undefined && lastOffset >= nextBase)
      this.sink.fault(`${file}: offset ${lastOffset} reaches into the next segment, which begins at ${nextBase}`);
    try {
      this.counts.records += decodeBatch(bytes, { checkCrc: false }).count;
    } catch (error) {
      this.sink.fault(`${file}: the batch at offset ${baseOffset} cannot be read: ${(error as Error).message}`);
    }
    this.compareSnapshots(baseOffset);
    if (header.hasProducerId)
      this.producers.set(String(producerIdOf(header)), {
        epoch: header.producerEpoch,
        lastSequence: sequenceAfter(header.baseSequence, header.lastOffsetDelta),
        lastOffset,
        timestamp: header.maxTimestamp,
      });
    this.next = Math.max(this.next, lastOffset + 1);
  }

  /** What stands behind the last good batch. */
  private reportTail(place: string, file: DiskFile, position: number, size: number, isLast: boolean): void {
    const { checkpoint } = this.of;
    const what = `${place}.log: from byte ${position} of ${size} on, offset ${this.next}, is no good batch`;
    const isDamage =
      !isLast ||
      checkpoint?.isExact ||
      (checkpoint !== undefined && this.next < checkpoint.endOffset) ||
      hasGoodBatchBehind(file, position, size);
    if (isDamage) this.sink.fault(`${what}: the file is damaged`);
    else this.sink.note(`${what}: torn by a crash and never acknowledged; the next start cuts it off`);
  }

  /** Compares the snapshots up to an offset with what the batches before them said. */
  private compareSnapshots(upTo: number): void {
    const { disk, directory, name, checkpoint, startOffset, compacted } = this.of;
    while (this.snapshots.length > 0 && this.snapshots[0]! <= upTo) {
      const offset = this.snapshots.shift()!;
      const file = `${name}/${segmentName(offset)}.snapshot`;
      const found = decodeSnapshot(disk.readFile(`${directory}/${segmentName(offset)}.snapshot`), 0);
      if (!found) {
        const what = `${file} cannot be read`;
        if (checkpoint?.isExact || offset <= startOffset) this.sink.fault(what);
        else this.sink.note(`${what}; the batches are read instead`);
        continue;
      }
      const known = new Set<string>();
      for (const { producerId, epoch, batches } of found) {
        known.add(String(producerId));
        const last = this.producers.get(String(producerId));
        const stored = batches[0];
        if (stored === undefined || stored.lastOffset < startOffset || (compacted && !last)) continue;
        if (last?.lastSequence !== stored.lastSequence || last.lastOffset !== stored.lastOffset || last.epoch !== epoch)
          this.sink.fault(
            `${file}: producer ${producerId} is at sequence ${stored.lastSequence}, offset ${stored.lastOffset}; its batches say ${last ? `${last.lastSequence}, ${last.lastOffset}` : "nothing"}`,
          );
      }
      this.findForgotten(file, known);
    }
  }

  private findForgotten(file: string, known: ReadonlySet<string>): void {
    if (this.producers.size > limits.producersPerPartitionMax) return;
    const oldest = Date.now() - limits.producerExpirationMs;
    for (const [id, { timestamp, lastSequence }] of this.producers)
      if (!known.has(id) && timestamp > oldest)
        this.sink.fault(`${file}: producer ${id}, at sequence ${lastSequence}, is not in it`);
  }
}

/** The whole batch at a position; undefined when there is none. */
function readBatch(file: DiskFile, position: number, size: number): Uint8Array | undefined {
  if (position + batchHeaderBytes > size) return undefined;
  const head = new Uint8Array(Math.min(16 * 1024, size - position));
  file.read(head, position);
  const bytes = new BatchHeader(head).sizeBytes;
  if (bytes < batchHeaderBytes || bytes > limits.requestFrameBytesMax || position + bytes > size) return undefined;
  if (bytes <= head.length) return head.subarray(0, bytes);
  const whole = new Uint8Array(bytes);
  file.read(whole, position);
  return whole;
}

/** Bytes behind a bad batch that are searched for a good one. */
const searchBytesMax = 4 * 1024 * 1024;

function hasGoodBatchBehind(file: DiskFile, position: number, size: number): boolean {
  const tail = new Uint8Array(Math.min(size - position, searchBytesMax));
  file.read(tail, position);
  for (let at = 1; at + batchHeaderBytes <= tail.length; at++) {
    if (tail[at + 16] !== 2) continue;
    const bytes = readBatch(file, position + at, size);
    if (bytes === undefined) continue;
    const header = new BatchHeader(bytes);
    if (header.baseOffset >= 0 && header.isCrcValid) return true;
  }
  return false;
}
