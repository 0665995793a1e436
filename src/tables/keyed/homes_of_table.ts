/** The homes of a table's keys (key_homes.ts) between the log, DuckDB and SQL writes. */

import { limits } from "../../base/limits.ts";
import type { TopicEntry } from "../../catalog/catalog.ts";
import type { TableDefinition } from "../../catalog/entries.ts";
import { partitionOfKey } from "../../protocol/partitioner.ts";
import type { RecordFault } from "../../protocol/records/record_errors.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import type { ArrowInsert } from "../../sql/messages.ts";
import { quoteText } from "../../sql/types.ts";
import { encodeSchema, encodeStream } from "../arrow/stream.ts";
import { BytesVector, FixedVector } from "../arrow/vectors.ts";
import { type ChangeBatch, isHole, type KeyedChunk, type KeyTexts, keyTextWords } from "./change_batch.ts";
import { keyHash } from "./key_hash.ts";
import { KeyHomes } from "./key_homes.ts";
import { StoredRows, textLiteral } from "./stored_rows.ts";

const encoder = new TextEncoder();

const arrowSchema = encodeSchema([
  { name: "topic_id", type: { kind: "utf8" } },
  { name: "key", type: { kind: "utf8" } },
  { name: "partition", type: { kind: "int", bits: 32, signed: true } },
]);

/** A key that SQL gave a home, not yet committed. */
export interface NewHome {
  key: Uint8Array;
  partition: number;
}

export class HomesOfTable {
  private readonly topicId: string;
  /** Of the topic, now. */
  partitions: number;
  private readonly homes = new KeyHomes();
  private loading: Promise<void> | undefined;

  constructor(topic: Pick<TopicEntry, "id" | "partitions">) {
    this.topicId = topic.id;
    this.partitions = topic.partitions;
  }

  /** Keys could be in a wrong place. */
  get matter(): boolean {
    return this.partitions > 1;
  }

  get ready(): boolean {
    return this.homes.ready;
  }

  /** Reads what DuckDB knows. `drained`: resolves when DuckDB has all of the table's logs. */
  load(engine: SqlEngine, definition: TableDefinition, drained: () => Promise<void>): Promise<void> {
    this.loading ??= this.read(engine, definition, drained).catch((error: unknown) => {
      this.loading = undefined;
      throw error;
    });
    return this.loading;
  }

  private async read(engine: SqlEngine, definition: TableDefinition, drained: () => Promise<void>): Promise<void> {
    const where = `WHERE topic_id = ${quoteText(this.topicId)}`;
    const stream = await engine.stream(`SELECT key, partition FROM _rowlog.key_homes ${where}`);
    for await (const rows of stream.rows())
      for (const row of rows) {
        const [key, partition] = JSON.parse(row) as [string, number];
        this.settle(encoder.encode(key), partition, true);
      }
    await drained();
    // Rows of the time when the topic had one partition.
    for (const key of await new StoredRows(definition).allKeys(engine)) this.settle(encoder.encode(key), 0, false);
    this.homes.ready = true;
  }

  private settle(key: Uint8Array, partition: number, stored: boolean): void {
    this.homes.settle(key, 0, key.length, keyHash(key, 0, key.length), partition, stored);
  }

  /** Records of a produced batch whose keys belong to another partition; `count` may be more than are listed. */
  strangers({ records, rowOf, keys }: ChangeBatch, partition: number): { count: number; faults: RecordFault[] } {
    const faults: RecordFault[] = [];
    let count = 0;
    const { text, words } = keys!;
    for (let record = 0; record < records; record++) {
      if (rowOf[record] === isHole) continue;
      const word = record * keyTextWords;
      const home = this.homes.home(text.bytes, words[word]!, words[word + 1]!, words[word + 2]!);
      if (home < 0 || home === partition) continue;
      count++;
      if (faults.length >= limits.recordErrorsMax) continue;
      const key = new TextDecoder().decode(text.bytes.subarray(words[word]!, words[word + 1]!));
      faults.push({
        index: record,
        message: `key ${key} belongs to partition ${home}, where it first arrived, and this is partition ${partition}: all records of a key go to one partition`,
      });
    }
    return { count, faults };
  }

  /** The keys of an accepted batch have their home. */
  settleBatch({ rowOf, keys }: Pick<ChangeBatch, "rowOf" | "keys">, partition: number): void {
    this.homes.settleAll(keys as KeyTexts, notHoles(rowOf), partition);
  }

  /** Where SQL puts a key; one without a home is added to `added`. */
  partitionOf(key: Uint8Array, added: NewHome[]): number {
    if (!this.matter) return 0;
    const home = this.homes.home(key, 0, key.length, keyHash(key, 0, key.length));
    if (home >= 0) return home;
    const partition = partitionOfKey(key, this.partitions);
    added.push({ key, partition });
    return partition;
  }

  /** SQL that stores what a transaction adds. */
  statements(added: readonly NewHome[]): string[] {
    const topic = quoteText(this.topicId);
    const statements: string[] = [];
    for (let from = 0; from < added.length; from += limits.truncateBatchRecords) {
      const rows = added
        .slice(from, from + limits.truncateBatchRecords)
        .map(({ key, partition }) => `(${topic}, ${textLiteral(new TextDecoder().decode(key))}, ${partition})`);
      statements.push(`INSERT INTO _rowlog.key_homes VALUES ${rows.join(", ")}`);
    }
    return statements;
  }

  committed(added: readonly NewHome[]): void {
    for (const { key, partition } of added) this.settle(key, partition, true);
  }

  /** DuckDB may have lost what it stored last: what is applied again is stored again. */
  unstored(): void {
    this.homes.unstored();
  }

  /** What the applier's transaction stores of chunks of the log; `failed` takes the notes back. */
  store(chunks: readonly { keyed: KeyedChunk; partition: number }[]): { insert?: ArrowInsert; failed(): void } {
    const found: { keys: KeyTexts; word: number; partition: number }[] = [];
    for (const { keyed, partition } of chunks) {
      this.homes.settleAll(keyed.keys, notHoles(keyed.rowOf), partition);
      const { text, words } = keyed.keys;
      for (const record of notHoles(keyed.rowOf)) {
        const word = record * keyTextWords;
        if (this.homes.mark(text.bytes, words[word]!, words[word + 1]!, words[word + 2]!, true))
          found.push({ keys: keyed.keys, word, partition });
      }
    }
    const failed = () => {
      for (const { keys, word } of found)
        this.homes.mark(keys.text.bytes, keys.words[word]!, keys.words[word + 1]!, keys.words[word + 2]!, false);
    };
    if (found.length === 0) return { failed };
    const topics = new BytesVector(found.length, found.length * this.topicId.length);
    const keys = new BytesVector(found.length, found.length * 24);
    const partitions = new FixedVector(4, found.length);
    for (const { keys: from, word, partition } of found) {
      topics.pushText(this.topicId);
      keys.pushBytes(from.text.bytes, from.words[word]!, from.words[word + 1]!);
      partitions.pushWord(partition);
    }
    const arrow = encodeStream(arrowSchema, [topics, keys, partitions], found.length);
    return { insert: { schema: "_rowlog", table: "key_homes", arrow }, failed };
  }
}

function* notHoles(rowOf: Int32Array): Generator<number> {
  for (let record = 0; record < rowOf.length; record++) if (rowOf[record] !== isHole) yield record;
}
