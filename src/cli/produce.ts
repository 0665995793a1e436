/**
 * `produce`: lines (or files) to records. Reading goes on while a batch is on its way; what has gathered by then is the next
 * batch, so typing is sent at once and a fast pipe in large batches. Order is kept.
 */
import { Buffer } from "node:buffer";
import { createReadStream, readFileSync, statSync } from "node:fs";
import type { KafkaClient } from "../client/client.ts";
import { ProduceRefused, Producer, type RecordToSend, type SentRecord } from "../client/producer.ts";
import { compileInput } from "./input_format.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import {
  type KafkaFlags,
  numberProperty,
  parseAcks,
  parseCodec,
  parseCount,
  parsePartitions,
  withClient,
} from "./kafka_flags.ts";
import { pieces } from "./line_reader.ts";
import { Progress } from "./progress.ts";
import { compileFormat, delimiterBytes } from "./record_format.ts";

export interface ProduceFlags extends KafkaFlags {
  topic?: string;
  partition?: string;
  key?: string;
  K?: string;
  D?: string;
  header?: string[];
  tombstone?: boolean;
  compression?: string;
  acks?: string;
  count?: string;
  tee?: boolean;
  lines?: boolean;
  format?: string;
  outputFormat?: string;
  allowAutoTopicCreation?: boolean;
  progress?: boolean;
}

/** A batch is sent when this many bytes have gathered; brokers take 1 MiB by default. */
const batchBytes = 900_000;
const batchRecordsMax = 50_000;
/** Reading stops while more than this waits to be sent. */
const waitingBytesMax = 16 * 1024 * 1024;
const messageBytesMax = 512 * 1024 * 1024;

export async function produce(positional: string[], flags: ProduceFlags, io: Io): Promise<number> {
  const [topic, files] = flags.topic !== undefined ? [flags.topic, positional] : [positional[0], positional.slice(1)];
  if (topic === undefined) throw new UsageError("no topic: rowlog produce TOPIC, or -t TOPIC");
  return withClient(flags, io, async (client, given) => {
    const session = new ProduceSession(topic, flags, io, client, given);
    return session.run(files);
  });
}

class ProduceSession {
  readonly #topic: string;
  readonly #flags: ProduceFlags;
  readonly #io: Io;
  readonly #producer: Producer;
  readonly #progress: Progress;
  readonly #toRecord: (piece: Buffer) => RecordToSend;
  readonly #report: (sent: SentRecord) => Promise<void>;
  #waiting: { record: RecordToSend; piece: Buffer }[] = [];
  #waitingBytes = 0;
  #left: number;
  #sent = 0;
  #bytes = 0;
  #total: number | undefined;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(topic: string, flags: ProduceFlags, io: Io, client: KafkaClient, given: Map<string, string>) {
    this.#topic = topic;
    this.#flags = flags;
    this.#io = io;
    this.#left = flags.count === undefined ? Number.POSITIVE_INFINITY : parseCount(flags.count, "-c");
    this.#toRecord = recordMaker(flags);
    this.#report = reporter(flags, topic, io);
    io.signal.addEventListener("abort", () => this.#wake?.());
    this.#progress = new Progress(io, flags.progress !== false && !flags.quiet && !io.inIsTerminal);
    this.#producer = new Producer(client, {
      acks: parseAcks(flags.acks ?? given.get("acks") ?? "all"),
      codec: parseCodec(flags.compression ?? given.get("compression.type") ?? "none"),
      deliveryTimeoutMs: numberProperty(given, "delivery.timeout.ms", 120_000),
      createTopics: true,
    });
  }

  async run(files: string[]): Promise<number> {
    const sending = this.#sendLoop();
    try {
      await Promise.race([sending, this.#read(files)]);
    } finally {
      this.#ended = true;
      this.#wake?.();
    }
    await sending;
    this.#progress.end();
    if (this.#flags.verbose) this.#io.err(`${this.#sent} records produced\n`);
    return this.#io.signal.aborted ? 130 : 0;
  }

  /** kcat's rule: standard input is cut at the delimiter, and so is one file with -l; otherwise a file is one message. */
  async #read(files: string[]): Promise<void> {
    const delimiter = delimiterBytes(this.#flags.D ?? "\\n");
    if (files.length > 0 && !this.#flags.lines) {
      for (const file of files) await this.#offer([readWhole(file)]);
      return;
    }
    if (files.length > 1) throw new UsageError("-l takes one file");
    const file = files[0] === "-" ? undefined : files[0];
    if (file !== undefined) this.#total = sizeOf(file);
    const input = file === undefined ? this.#io.input() : (createReadStream(file) as AsyncIterable<Uint8Array>);
    if (file === undefined && this.#io.inIsTerminal && !this.#flags.quiet)
      this.#io.err(`Type one record a line for topic ${this.#topic}; Ctrl-D ends.\n`);
    for await (const found of pieces(input, delimiter, messageBytesMax)) {
      await this.#offer(found);
      if (this.#left <= 0 || this.#io.signal.aborted) return;
    }
  }

  async #offer(found: Buffer[]): Promise<void> {
    for (const piece of found) {
      if (this.#left-- <= 0) return;
      this.#waiting.push({ record: this.#toRecord(piece), piece });
      this.#waitingBytes += piece.length + 64;
    }
    this.#wake?.();
    while (this.#waitingBytes > waitingBytesMax && !this.#io.signal.aborted) {
      this.#wake?.();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async #sendLoop(): Promise<void> {
    for (;;) {
      const batch = this.#take();
      if (batch.length > 0) {
        await this.#send(batch);
        continue;
      }
      if (this.#ended || this.#io.signal.aborted) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #take(): { record: RecordToSend; piece: Buffer }[] {
    let bytes = 0;
    let count = 0;
    for (const { record } of this.#waiting) {
      const size = recordBytes(record);
      if (count > 0 && (bytes + size > batchBytes || count >= batchRecordsMax)) break;
      bytes += size;
      count++;
    }
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const { piece } of batch) this.#waitingBytes -= piece.length + 64;
    return batch;
  }

  async #send(batch: { record: RecordToSend; piece: Buffer }[]): Promise<void> {
    const records = batch.map(({ record }) => record);
    let sent: SentRecord[];
    try {
      sent = await this.#producer.send(this.#topic, records);
    } catch (error) {
      this.#progress.end();
      throw error instanceof ProduceRefused ? refusal(error, this.#sent) : error;
    }
    this.#sent += batch.length;
    for (const { piece } of batch) this.#bytes += piece.length + 1;
    if (this.#flags.tee) await this.#io.out(Buffer.concat(batch.flatMap(({ piece }) => [piece, newline])));
    for (const place of sent) await this.#report(place);
    if (this.#total !== undefined)
      this.#progress.update({ label: this.#topic, done: this.#bytes, total: this.#total, unit: "B" });
    else this.#progress.update({ label: this.#topic, done: this.#sent, unit: "records" });
  }
}

const newline = Buffer.from("\n");

/** Records count from 1 over all of the input; the node counts from 0 in each batch, so its own examples are left out. */
function refusal(error: ProduceRefused, before: number): CliError {
  const faults = error.recordErrors;
  let head = error.message;
  for (let shown = Math.min(3, faults.length); shown > 0; shown--) {
    const examples = faults.slice(0, shown).map(({ index, message }) => `record ${index}: ${message}`);
    if (head.endsWith(`: ${examples.join("; ")}`)) head = head.slice(0, -examples.join("; ").length - 2);
  }
  const reasons = faults.map(({ index, message }) => `\n  record ${before + index + 1}: ${message}`);
  return new CliError(`${head}${reasons.join("")}`);
}

function recordBytes({ key, value, headers }: RecordToSend): number {
  const inHeaders = (headers ?? []).reduce(
    (sum, header) => sum + header.key.length + (header.value?.length ?? 0) + 6,
    0,
  );
  return (key?.length ?? 0) + (value?.length ?? 0) + inHeaders + 24;
}

function recordMaker(flags: ProduceFlags): (piece: Buffer) => RecordToSend {
  const headers = (flags.header ?? []).map(parseHeader);
  const partitions =
    flags.partition === undefined || flags.partition === "-1" ? [] : parsePartitions([flags.partition]);
  const fixedKey = flags.key === undefined ? null : Buffer.from(flags.key);
  const nullIfEmpty = (bytes: Uint8Array) => (flags.tombstone && bytes.length === 0 ? null : bytes);
  const base = { partition: partitions[0], headers };
  if (flags.format !== undefined) {
    const parse = compileInput(flags.format);
    return (piece) => {
      const found = parse(piece);
      const partition = found.partition ?? base.partition;
      return { headers, partition, key: found.key ?? fixedKey, value: nullIfEmpty(found.value ?? Buffer.alloc(0)) };
    };
  }
  const separator = flags.K === undefined ? undefined : Buffer.from(delimiterBytes(flags.K));
  return (piece) => {
    const at = separator ? piece.indexOf(separator) : -1;
    if (separator && at >= 0) {
      const key = nullIfEmpty(piece.subarray(0, at));
      return { ...base, key, value: nullIfEmpty(piece.subarray(at + separator.length)) };
    }
    return { ...base, key: fixedKey, value: nullIfEmpty(piece) };
  };
}

/** `name=value` (kcat) or `name:value` (rpk), whichever separator comes first; a name alone has a null value. */
export function parseHeader(text: string): { key: string; value: Uint8Array | null } {
  const at = text.search(/[=:]/);
  if (at === 0) throw new UsageError(`-H: "${text}" has no name`);
  return at < 0 ? { key: text, value: null } : { key: text.slice(0, at), value: Buffer.from(text.slice(at + 1)) };
}

/** One line per record where it went: on standard output for people, on standard error when output goes into a pipe. */
function reporter(flags: ProduceFlags, topic: string, io: Io): (sent: SentRecord) => Promise<void> {
  if (flags.outputFormat !== undefined) {
    const print = compileFormat(flags.outputFormat);
    return async ({ partition, offset, timestampMs }) => {
      const out: Uint8Array[] = [];
      const record = { offset, timestamp: timestampMs, key: null, value: null, headers: [] };
      print({ record, topic, partition, brokerId: -1, timestampType: "CreateTime" }, out);
      await io.out(Buffer.concat(out));
    };
  }
  if (flags.quiet || flags.tee) return async () => {};
  return async ({ partition, offset, timestampMs }) => {
    const line = `Produced to partition ${partition} at offset ${offset} with timestamp ${timestampMs}.\n`;
    if (io.outIsTerminal) await io.out(line);
    else io.err(line);
  };
}

function readWhole(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${(error as Error).message}`);
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${(error as Error).message}`);
  }
}
