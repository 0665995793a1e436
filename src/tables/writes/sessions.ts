/**
 * Sessions that outlive a request, by their ids. One that is forgotten ends by itself: a transaction soon, since it may hold up producers and
 * other writers, an idle session later.
 */
import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../../base/clock.ts";
import { limits } from "../../base/limits.ts";
import { SqlError } from "../../base/sql_error.ts";
import type { SqlEngine } from "../../sql/engine.ts";
import { SqlSession } from "./session.ts";
import type { Writes } from "./writes.ts";

interface Entry {
  session: SqlSession;
  /** The statement that runs, or the last one. */
  last: Promise<unknown>;
  waiting: number;
  timer: Timer | undefined;
}

export interface SessionsOptions {
  writes: Writes;
  engine: () => Promise<SqlEngine>;
  clock: Clock;
  /** Milliseconds after which a transaction is rolled back in which nothing happens. */
  idleMs: number;
}

/** Statements of one session that wait for each other. */
const waitingMax = 16;

export class SqlSessions {
  private readonly options: SessionsOptions;
  private readonly entries = new Map<string, Entry>();

  constructor(options: SessionsOptions) {
    this.options = options;
  }

  get idleMs(): number {
    return this.options.idleMs;
  }

  /** Throws SqlError 53300 when there are too many. */
  open(): string {
    if (this.entries.size >= limits.sqlSessionsMax)
      throw new SqlError(
        "53300",
        `${limits.sqlSessionsMax} sessions are open; close some, or wait until idle ones end`,
      );
    const id = randomUUID();
    const entry: Entry = { session: this.once(), last: Promise.resolve(), waiting: 0, timer: undefined };
    this.entries.set(id, entry);
    this.watch(id, entry);
    return id;
  }

  /** A session for one request. */
  once(): SqlSession {
    return new SqlSession(this.options.writes, this.options.engine);
  }

  /** Runs `work` after what the session does already. Throws SqlError 08003 when there is no such session. */
  async use<T>(id: string, work: (session: SqlSession) => Promise<T>): Promise<T> {
    const entry = this.find(id);
    if (entry.waiting >= waitingMax)
      throw new SqlError("53300", `${waitingMax} statements of this session wait already`);
    entry.timer?.cancel();
    entry.waiting++;
    const result = entry.last.then(() => work(entry.session));
    entry.last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      entry.waiting--;
      if (entry.waiting === 0 && this.entries.get(id) === entry) this.watch(id, entry);
    }
  }

  /** Rolls back what is open, and forgets the session. Throws SqlError 08003. */
  async close(id: string): Promise<void> {
    const entry = this.find(id);
    this.entries.delete(id);
    entry.timer?.cancel();
    await entry.last;
    await entry.session.end();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.entries.keys()].map((id) => this.close(id)));
  }

  private find(id: string): Entry {
    const entry = this.entries.get(id);
    if (entry === undefined)
      throw new SqlError(
        "08003",
        "there is no such session: it was closed, or nobody used it for too long; open another one",
      );
    return entry;
  }

  private watch(id: string, entry: Entry): void {
    entry.timer?.cancel();
    const { idleMs, clock } = this.options;
    if (!entry.session.inTransaction) {
      entry.timer = clock.setTimer(limits.sqlSessionIdleMs, () => this.entries.delete(id));
      return;
    }
    entry.timer = clock.setTimer(idleMs, () => {
      const why = `the transaction was rolled back: nothing happened in it for ${idleMs} ms (--sql-idle-timeout)`;
      entry.last = entry.last.then(() => entry.session.fail(new SqlError("25P03", why)));
      // The session itself stays for a while, so that its user learns why.
      entry.timer = clock.setTimer(limits.sqlSessionIdleMs, () => this.entries.delete(id));
    });
  }
}
