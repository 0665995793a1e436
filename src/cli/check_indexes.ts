/** The two indexes of a segment, compared with the batches of the segment as these are walked. Formats: src/log/sparse_index.ts. */
import type { Disk } from "../platform/disk.ts";
import { type BatchHeader, readInt32, readInt64 } from "../protocol/records/batch.ts";

type Report = (what: string) => void;

abstract class Entries {
  protected readonly bytes: Uint8Array;
  protected readonly base: number;
  protected at = 0;
  private readonly entryBytes: number;
  private readonly ending: string;
  private isWrong = false;

  constructor(disk: Disk, path: string, base: number, entryBytes: number) {
    this.bytes = disk.stat(path) ? disk.readFile(path) : new Uint8Array(0);
    this.base = base;
    this.entryBytes = entryBytes;
    this.ending = path.slice(path.lastIndexOf("."));
  }

  protected get hasEntry(): boolean {
    return !this.isWrong && this.at + this.entryBytes <= this.bytes.length;
  }

  protected step(): void {
    this.at += this.entryBytes;
  }

  /** One fault says enough: what follows in the file cannot be right. */
  protected wrong(report: Report, why: string): void {
    this.isWrong = true;
    report(`${this.ending}: entry ${this.at / this.entryBytes} ${why}`);
  }

  /** After the last batch. */
  finish(report: Report): void {
    if (this.hasEntry) this.wrong(report, "points behind the segment's last batch");
    else if (!this.isWrong && this.at !== this.bytes.length) this.wrong(report, "is cut off");
  }

  abstract batch(position: number, header: BatchHeader, report: Report): void;
}

/** `.index`: the last offset of a batch, relative to the segment's base, and where the batch begins. */
export class OffsetEntries extends Entries {
  constructor(disk: Disk, path: string, base: number) {
    super(disk, path, base, 8);
  }

  batch(position: number, header: BatchHeader, report: Report): void {
    if (!this.hasEntry) return;
    const wanted = readInt32(this.bytes, this.at + 4);
    if (wanted > position) return;
    const offset = this.base + readInt32(this.bytes, this.at);
    if (wanted < position) this.wrong(report, `points to byte ${wanted}, where no batch begins`);
    else if (offset !== header.lastOffset)
      this.wrong(report, `says offset ${offset} of the batch that ends with ${header.lastOffset}`);
    else this.step();
  }
}

/** `.timeindex`: the greatest record time so far, and the last offset of the batch that has it. */
export class TimeEntries extends Entries {
  constructor(disk: Disk, path: string, base: number) {
    super(disk, path, base, 12);
  }

  batch(_position: number, header: BatchHeader, report: Report): void {
    while (this.hasEntry) {
      const offset = this.base + readInt32(this.bytes, this.at + 8);
      if (offset > header.lastOffset) return;
      const time = readInt64(this.bytes, this.at);
      if (offset < header.baseOffset) this.wrong(report, `says offset ${offset}, which no batch has`);
      else if (time !== header.latestRecordTime)
        this.wrong(
          report,
          `says time ${time} of the batch at offset ${header.baseOffset}, which has ${header.latestRecordTime}`,
        );
      else this.step();
    }
  }
}
