/**
 * Rounds of `kill -9` under a mixed load: an idempotent producer fills a plain topic, a table and a keyed table while a group member reads and
 * commits, one SQL client writes transactions and another reads. After each restart: acknowledged = log (each record once, at the offset
 * that was answered) = consumed. Every fourth round waits for DuckDB too, and then: table = log, keyed table = fold of its compacted log, and of each SQL
 * transaction all is there or nothing.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pythonProgram } from "../../scripts/install-clients.ts";
import { type Answer, Driver } from "../clients/driver.ts";
import { createTopic, freePort, type NodeOptions, RowlogNode, sql } from "../clients/target.ts";
import { audit, keyed, ledger, SqlLoad } from "./sql_load.ts";

const plain = { topic: "plain", partitions: 3 };
const table = { topic: "rows", partitions: 2 };
const topics = [plain, table];
/** Rounds until the tables are compared: most rounds kill the node before DuckDB has started. */
const tablesEvery = 4;

/** [topic, partition, offset, id] */
type Place = [topic: string, partition: number, offset: number, id: number];

/** A random number generator with a seed that can be printed and given again. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms));
const key = ([topic, partition, offset]: Place) => `${topic}-${partition}@${offset}`;

export class KillRounds {
  readonly #folder = mkdtempSync(join(tmpdir(), "rowlog-kill-"));
  readonly #random: () => number;
  readonly #ends = new Map<string, number>();
  #options: NodeOptions | undefined;
  #node: RowlogNode | undefined;
  #driver: Driver | undefined;
  readonly #sql = new SqlLoad(() => this.#running.node.http);
  /** Of the ids that were acknowledged in the table. */
  #idSum = 0;
  /** Records acknowledged and found so far. */
  records = 0;

  constructor(seed: number) {
    this.#random = random(seed);
  }

  get #running(): { node: RowlogNode; driver: Driver; options: NodeOptions } {
    if (this.#node === undefined || this.#driver === undefined || this.#options === undefined)
      throw new Error("not started");
    return { node: this.#node, driver: this.#driver, options: this.#options };
  }

  async start(): Promise<void> {
    const directory = join(this.#folder, "lake");
    this.#options = { directory, kafkaPort: await freePort(), httpPort: await freePort() };
    this.#node = await RowlogNode.start(this.#options);
    await createTopic(this.#node.bootstrap, plain.topic, plain.partitions);
    const columns = "id BIGINT NOT NULL, round INTEGER, text VARCHAR";
    await sql(this.#node.http, `CREATE TABLE ${table.topic} (${columns}) WITH (partitions = ${table.partitions})`);
    await sql(this.#node.http, `CREATE TABLE ${ledger} (seq BIGINT NOT NULL)`);
    await sql(
      this.#node.http,
      `CREATE TABLE ${keyed} (id INTEGER PRIMARY KEY, n BIGINT) WITH ("segment.bytes" = 1048576, "min.cleanable.dirty.ratio" = 0)`,
    );
    await createTopic(this.#node.bootstrap, audit, 1);
    const drivers = fileURLToPath(new URL("../clients/drivers", import.meta.url));
    const program = fileURLToPath(new URL("load.py", import.meta.url));
    this.#driver = new Driver([pythonProgram(), "-u", program], { PYTHONPATH: drivers, PYTHONDONTWRITEBYTECODE: "1" });
    const counts = topics.map(({ topic, partitions }) => [topic, partitions]);
    await this.#driver.must("begin", { bootstrap: this.#node.bootstrap, topics: counts, keyed, group: "g" });
    for (const { topic, partitions } of topics) {
      for (let partition = 0; partition < partitions; partition++) this.#ends.set(`${topic}-${partition}`, 0);
    }
  }

  async end(): Promise<void> {
    await this.#driver?.kill();
    await this.#node?.end("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** One round; rejects with what differs. */
  async round(number: number): Promise<void> {
    const { driver, node, options } = this.#running;
    const isFull = number % tablesEvery === tablesEvery - 1;
    await driver.must("run", { round: number });
    this.#sql.begin();
    await sleep(30 + this.#random() * 700);
    await node.end("SIGKILL");
    await this.#sql.end();
    // Every third round dies again while it recovers.
    if (number % 3 === 2) await this.#dieAtStart(options);
    this.#node = await RowlogNode.start(options);
    const answer = await driver.must("flush");
    const acknowledged = answer.acknowledged as Place[];
    if ((answer.failed as unknown[]).length > 0) throw new Error(`not acknowledged: ${JSON.stringify(answer.failed)}`);
    await this.#compareLog(driver, acknowledged);
    if (isFull) {
      await this.#compareTable();
      await this.#compareKeyed(driver);
      await this.#compareSql(driver);
    }
    await this.#compareConsumed(driver);
    this.records += acknowledged.length;
  }

  async #dieAtStart(options: NodeOptions): Promise<void> {
    const starting = RowlogNode.start(options);
    starting.catch(() => {});
    await sleep(50 + this.#random() * 600);
    await RowlogNode.killStarting(options);
    await starting.then((node) => node.end("SIGKILL")).catch(() => {});
  }

  /** Every acknowledged record is in the log once, where the answer said; and the log has nothing else. */
  async #compareLog(driver: Driver, acknowledged: Place[]): Promise<void> {
    const { options } = this.#running;
    const from = [...this.#ends].map(([place, offset]) => {
      const at = place.lastIndexOf("-");
      return [place.slice(0, at), Number(place.slice(at + 1)), offset];
    });
    const answer: Answer = await driver.must("read", { bootstrap: `127.0.0.1:${options.kafkaPort}`, from });
    const log = new Map((answer.read as Place[]).map((place) => [key(place), place[3]]));
    const wrong = acknowledged.filter((place) => log.get(key(place)) !== place[3]);
    if (wrong.length > 0) throw new Error(`acknowledged and not in the log: ${JSON.stringify(wrong.slice(0, 5))}`);
    if (log.size !== acknowledged.length) {
      const known = new Set(acknowledged.map(key));
      const extra = [...log].filter(([place]) => !known.has(place));
      throw new Error(
        `in the log and never acknowledged, or twice: ${JSON.stringify(extra.slice(0, 5))}, ${extra.length} in all`,
      );
    }
    for (const [topic, partition, offset] of acknowledged) {
      const place = `${topic}-${partition}`;
      this.#ends.set(place, Math.max(this.#ends.get(place) ?? 0, offset + 1));
    }
    for (const [topic, , , id] of acknowledged) if (topic === table.topic) this.#idSum += id;
  }

  async #compareTable(): Promise<void> {
    const { node } = this.#running;
    const total = await sql(node.http, `SELECT count(*), count(DISTINCT id), sum(id) FROM ${table.topic}`);
    let logged = 0;
    for (const [place, end] of this.#ends) if (place.startsWith(table.topic)) logged += end;
    const [rows, distinct, sum] = total[0]!.map(Number);
    if (rows !== logged || distinct !== logged || sum !== this.#idSum)
      throw new Error(
        `the table has ${rows} rows, ${distinct} different, ids of sum ${sum}; its log ${logged}, sum ${this.#idSum}`,
      );
  }

  /** The keyed table, the fold of its log as a consumer sees it, and what was acknowledged. */
  async #compareKeyed(driver: Driver): Promise<void> {
    const { node } = this.#running;
    const { rows, wrong } = await driver.must("fold", { bootstrap: node.bootstrap, topic: keyed });
    if ((wrong as unknown[]).length > 0)
      throw new Error(`acknowledged and not in ${keyed}'s log: ${JSON.stringify(wrong)}`);
    const found = JSON.stringify(await sql(node.http, `SELECT id, n FROM ${keyed} ORDER BY id`));
    const folded = JSON.stringify((rows as number[][]).sort((a, b) => a[0]! - b[0]!));
    if (found !== folded) throw new Error(`${keyed} has ${found}, its log folds to ${folded}`);
  }

  async #compareSql(driver: Driver): Promise<void> {
    const { node } = this.#running;
    const { committed, unknown, faults } = this.#sql;
    if (faults.length > 0) throw new Error(`a reader saw something go back: ${faults.slice(0, 5).join("; ")}`);
    const rows = (await sql(node.http, `SELECT seq FROM ${ledger} ORDER BY seq`)).map((row) => Number(row[0]));
    const answer = await driver.must("read", { bootstrap: node.bootstrap, from: [[audit, 0, 0]] });
    const records = (answer.read as Place[]).map((place) => place[3]).sort((a, b) => a - b);
    if (JSON.stringify(rows) !== JSON.stringify(records))
      throw new Error(
        `${ledger} has ${rows.length} rows, ${audit} ${records.length} records: a transaction is there in part or twice`,
      );
    const there = new Set(rows);
    const lost = committed.filter((number) => !there.has(number));
    if (lost.length > 0) throw new Error(`committed and gone: transactions ${lost.slice(0, 10)}`);
    const known = new Set([...committed, ...unknown]);
    const extra = rows.filter((number) => !known.has(number));
    if (extra.length > 0) throw new Error(`never sent: transactions ${extra}`);
  }

  /** Transactions that were committed, and reads that saw nothing go back. */
  get sqlWork(): { commits: number; reads: number } {
    return { commits: this.#sql.committed.length, reads: this.#sql.reads };
  }

  async #compareConsumed(driver: Driver): Promise<void> {
    const ends = [...this.#ends].map(([place, end]) => {
      const at = place.lastIndexOf("-");
      return [place.slice(0, at), Number(place.slice(at + 1)), end];
    });
    const { gaps } = await driver.must("consumed", { ends });
    if ((gaps as unknown[]).length > 0) throw new Error(`the group member skipped records: ${JSON.stringify(gaps)}`);
  }
}
